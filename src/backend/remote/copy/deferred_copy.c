/*
 * Copies of pinned memory that only we see, in a stream, behind a function of the application's or a wait for a value:
 * whatever fills or reads the memory may be ahead of them, so it is looked at when the device gets there.
 *
 *	up	a function of ours packs a part into bulk memory ─▶ the device copies it from there ─▶ the next part
 *	down	the device copies a part to bulk memory ─▶ a function of ours unpacks it ─▶ the next part
 *
 * A stream does one thing after another, so all of its copies share a piece for each way, and no more is posted than a
 * function and a copy for each 4 MiB: a driver lets so many things wait, about a thousand, and no more.
 */
#include <stdlib.h>
#include "backend/remote/memory/hostmem.h"
#include "backend/remote/copy/pageable.h"
#include "backend/remote/copy/staged_copy.h"

/* What one function has to do. */
struct step {
	struct block block;
	struct part part;
	struct piece piece; /* size 0: both sides are ours */
	bool up;
};

bool deferred_copy_needed(const void *host)
{
	struct host_info info;

	return (listen_pending() || value_waits_pending()) && hostmem_find((uintptr_t)host, &info) && !info.shared;
}

static void move(void *arg)
{
	const struct step *t = arg;

	block_step(&t->block, &t->part, t->piece, t->up);
}

static CUresult post_step(struct stream *s, const struct step *what)
{
	struct step *t = malloc(sizeof *t);

	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*t = *what;
	return listen_step(
		s, move, t, what->up ? what->piece : (struct piece){0}, what->up ? (struct piece){0} : what->piece);
}

static CUresult post_copy(struct stream *s, const struct step *t)
{
	struct wire_block a = block_frame(&t->block, &t->part, s);

	*(t->up ? &a.src : &a.dst) = block_packed_side(WIRE_SIDE_LATER, &t->part, t->piece.offset, 0);
	return block_post(&a, s);
}

/* `whole` held, as in what follows. */
static CUresult piece_of(struct stream *s, bool up, struct piece *piece)
{
	for (size_t size = piece_good(up); !s->deferred_piece[up].size && size >= PIECE_LEAST; size /= 4)
		if (!piece_take(up, size, &s->deferred_piece[up]))
			s->deferred_piece[up].size = 0;
	*piece = s->deferred_piece[up];
	return piece->size ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult post_parts(struct stream *s, struct step *t)
{
	struct piece piece;
	CUresult r = piece_of(s, t->up, &piece);

	if (r)
		return r;
	t->block.piece = piece.size;
	do {
		block_cut_part(&t->block, &t->part);
		t->piece = (struct piece){piece.offset, t->part.width * t->part.height * t->part.depth};
		r = t->up ? post_step(s, t) : post_copy(s, t);
		if (!r)
			r = t->up ? post_copy(s, t) : post_step(s, t);
	} while (!r && block_next_part(&t->block, &t->part));
	return r;
}

CUresult deferred_copy_post(struct stream *s, const CUDA_MEMCPY3D *c)
{
	struct step t = {0};
	CUDA_MEMCPY3D_PEER p;
	CUresult r;

	memcpy(&p, c, sizeof p); /* the same layout: copy3d.c */
	r = block_init(&t.block, &p, false);
	if (r)
		return r;
	t.up = t.block.src.kind == SIDE_PAGEABLE;
	call_work(false);
	pthread_mutex_lock(&s->copy_lock);
	if (t.up && t.block.dst.kind == SIDE_PAGEABLE)
		r = post_step(s, &t);
	else
		r = post_parts(s, &t);
	pthread_mutex_unlock(&s->copy_lock);
	return r || !t.block.unknown ? r : call_flush();
}

void deferred_copy_drop(struct stream *s)
{
	for (int up = 0; up < 2; up++) {
		if (s->deferred_piece[up].size)
			piece_give(up, s->deferred_piece[up]);
		s->deferred_piece[up] = (struct piece){0};
	}
}
