/*
 * Deferred copies: of pinned memory that the worker cannot reach, in a stream, behind a host function or a value wait.
 * The work in front of the copy may fill or read the memory, so the bytes move when the stream gets there:
 *
 *	up	a callback packs a part into the arena ─▶ the device copies it from there ─▶ the next part
 *	down	the device copies a part to the arena ─▶ a callback unpacks it ─▶ the next part
 *
 * A stream runs one command after another, so all of its deferred copies share a piece for each direction.  No more is
 * posted than a callback and a copy for each 4 MiB, because a driver lets only about a thousand commands wait.
 */
#include <stdlib.h>
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/hostmem/hostmem.h"
#include "backend/remote/wait/callbacks.h"
#include "backend/remote/hostmem/mirror.h"

/* The work of one callback; freed after it has run. */
struct deferred_part {
	struct staged_copy copy;
	struct part part;
};

bool deferred_copy_needed(const void *host)
{
	struct host_info info;

	return (callbacks_pending() || value_waits_pending()) && hostmem_find((uintptr_t)host, &info) && !info.shared;
}

static void deferred_part_run(void *arg)
{
	const struct deferred_part *d = arg;

	staged_copy_move(&d->copy, &d->part, d->copy.piece);
}

static CUresult deferred_part_post_callback(struct stream *s, const struct staged_copy *c, const struct part *p)
{
	struct deferred_part *d = malloc(sizeof *d);
	struct piece none = {0};

	if (!d)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*d = (struct deferred_part){*c, *p};
	return callback_post(s, deferred_part_run, d, c->up ? c->piece : none, c->up ? none : c->piece);
}

static CUresult deferred_part_post_copy(struct stream *s, const struct staged_copy *c, const struct part *p)
{
	struct wire_block frame = block_frame(&c->block, p, s);

	*(c->up ? &frame.src : &frame.dst) = block_packed_side(WIRE_SIDE_LATER, p, c->piece.offset, 0);
	return block_post(&frame, s);
}

/* The stream's piece for this direction.  copy_lock held. */
static CUresult deferred_piece_take(struct stream *s, bool up, struct piece *piece)
{
	struct piece *kept = &s->deferred_piece[up];

	for (size_t size = kept_piece_size(up); !kept->size && size >= KEPT_PIECE_MIN; size /= 4)
		if (!kept_piece_take(up, size, kept))
			kept->size = 0;
	*piece = *kept;
	return piece->size ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* copy_lock held. */
static CUresult deferred_copy_post_parts(struct stream *s, struct staged_copy *c)
{
	struct part p = {0};
	struct piece piece;
	CUresult r = deferred_piece_take(s, c->up, &piece);

	if (r)
		return r;
	c->block.part_max = piece.size;
	do {
		block_cut_part(&c->block, &p);
		c->piece = (struct piece){piece.offset, part_bytes(&p)};
		r = c->up ? deferred_part_post_callback(s, c, &p) : deferred_part_post_copy(s, c, &p);
		if (!r)
			r = c->up ? deferred_part_post_copy(s, c, &p) : deferred_part_post_callback(s, c, &p);
	} while (!r && block_next_part(&c->block, &p));
	return r;
}

CUresult deferred_copy_post(struct stream *s, const CUDA_MEMCPY3D *p)
{
	struct part all = {0};
	struct staged_copy c;
	struct block b;
	CUresult r = block_init_3d(&b, p);

	if (r || block_empty(&b))
		return r;
	staged_copy_init(&c, &b);
	mirror_before_work(false);
	pthread_mutex_lock(&s->copy_lock);
	r = staged_copy_is_local(&c) ? deferred_part_post_callback(s, &c, &all) : deferred_copy_post_parts(s, &c);
	pthread_mutex_unlock(&s->copy_lock);
	return r || !b.unknown ? r : call_flush();
}

void deferred_copy_drop(struct stream *s)
{
	for (int up = 0; up < 2; up++) {
		if (s->deferred_piece[up].size)
			kept_piece_give(up, s->deferred_piece[up]);
		s->deferred_piece[up] = (struct piece){0};
	}
}
