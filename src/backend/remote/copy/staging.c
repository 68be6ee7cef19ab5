/*
 * Bulk memory on its way up: the application's bytes are copied here, and the device fetches them when it
 * gets there.
 *
 *	slab	| segment | segment | segment | segment |	small pieces one after another; a segment
 *								is used again when its last copy is done
 *	held	piece, value   piece, value   ...		larger ones, oldest first: free when the
 *								stream's word has come to the value
 *
 * Nothing here walks a list: what is done is always at the front.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include "backend/remote/copy/staged_copy.h"

#define SEGMENTS 4
#define SEGMENT  (256u << 10)
#define HELD     64
#define LINE     64u

struct staging {
	struct piece slab; /* size 0: there is none */
	uint32_t at;       /* next free byte of the slab */
	bool sealed[SEGMENTS];
	uint32_t value[SEGMENTS]; /* sealed: of the word when the segment is free */
	struct {
		struct piece piece;
		uint32_t value;
	} held[HELD];
	unsigned first;
	_Atomic(unsigned) count; /* changed under the lock; looked at without it to see that there is nothing */
};

static struct staging *stage_of(struct stream *s)
{
	struct staging *t = atomic_load_explicit(&s->staging, memory_order_acquire), *fresh;

	if (t)
		return t;
	fresh = calloc(1, sizeof *fresh);
	if (fresh && atomic_compare_exchange_strong(&s->staging, &t, fresh))
		return fresh;
	free(fresh);
	return t;
}

static bool passed(struct stream *s, uint32_t value)
{
	return word_reached(call_link(), s->signal.word, value);
}

static void reclaim_locked(struct stream *s, struct staging *t)
{
	while (t->count && passed(s, t->held[t->first].value)) {
		bulk_free(call_link(), BULK_UP, t->held[t->first].piece);
		t->first = (t->first + 1) % HELD;
		t->count--;
	}
}

void staging_reclaim(struct stream *s)
{
	struct staging *t = s->staging;

	if (!t || !t->count)
		return;
	pthread_mutex_lock(&s->lock);
	reclaim_locked(s, t);
	pthread_mutex_unlock(&s->lock);
}

/* Lets the device come past the oldest held piece, if there is one. */
static CUresult wait_oldest(struct stream *s, bool *was)
{
	struct staging *t = s->staging;
	CUresult r = CUDA_SUCCESS;

	*was = false;
	if (!t)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&s->lock);
	*was = t->count != 0;
	if (*was)
		r = stream_word_unlock_wait(s, t->held[t->first].value);
	else
		pthread_mutex_unlock(&s->lock);
	staging_reclaim(s);
	return r;
}

/* A stream that holds something, or NULL.  Its record outlives it, so that nobody waits with the context's lock. */
static struct stream *holding(struct context *c)
{
	struct stream *found = NULL;

	pthread_mutex_lock(&c->lock);
	list_each(l, &c->streams)
	{
		struct stream *s = container_of(l, struct stream, link);
		struct staging *t = s->staging;

		if (t && t->count) {
			found = s;
			break;
		}
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

/* The arena is full: of what our stream holds, or another one, or of what other threads are filling now. */
static CUresult make_room(struct stream *s)
{
	struct stream *other;
	bool some;
	CUresult r = wait_oldest(s, &some);

	if (r || some)
		return r;
	other = holding(s->ctx);
	if (other)
		r = wait_oldest(other, &some);
	if (!some)
		sched_yield();
	return r ? r : link_error(call_link(), NULL) ? call_lost() : CUDA_SUCCESS;
}

CUresult staging_take(struct stream *s, uint32_t size, struct piece *piece)
{
	CUresult r = CUDA_SUCCESS;
	int e;

	staging_reclaim(s);
	while ((e = bulk_alloc(call_link(), BULK_UP, size, piece)) == -EAGAIN && !r)
		r = make_room(s);
	return r ? r : e ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* Lock held: the frame, and the word that says when its piece is free. */
static CUresult post_locked(struct stream *s, struct staging *t, unsigned op, const void *args, size_t size,
	struct piece piece, uint32_t value)
{
	struct lane *lane = call_lane();
	void *room = call_reserve(lane, size);
	unsigned last = (t->first + t->count) % HELD;
	CUresult r;

	if (!room)
		return call_lost();
	call_in(room, s->ctx->id);
	memcpy(room, args, size);
	*(struct wire_tell *)room = (struct wire_tell){s->signal.word, value};
	r = call_send(lane, op, size, &piece, 1);
	stream_note_posted(s);
	t->held[last].piece = piece;
	t->held[last].value = value;
	t->count++;
	return r;
}

CUresult staging_post(struct stream *s, unsigned op, const void *args, size_t size, struct piece piece)
{
	struct staging *t = stage_of(s);
	CUresult r = t ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	uint32_t value;
	bool some;

	while (!r) {
		stream_word_next_locked(s, &value);
		if (!s->signal.word)
			r = CUDA_ERROR_OUT_OF_MEMORY;
		else if (t->count < HELD) {
			r = post_locked(s, t, op, args, size, piece, value);
			stream_word_unlock(s);
			return r;
		}
		s->signal.value--; /* not asked for after all */
		stream_word_unlock(s);
		if (!r)
			r = wait_oldest(s, &some);
	}
	bulk_free(call_link(), BULK_UP, piece);
	return r;
}

/* ---- small copies ---- */

/* Lock held.  Nothing more goes into this segment; the next one must be free. */
static CUresult next_segment(struct stream *s, struct staging *t)
{
	unsigned now = t->at / SEGMENT, next = (now + 1) % SEGMENTS;
	CUresult r;

	if (!s->signal.word && !word_pool_take(&s->signal))
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->value[now] = ++s->signal.value;
	t->sealed[now] = true;
	r = stream_post_signal(s, WIRE_SYNC, t->value[now]);
	if (!r && t->sealed[next])
		r = stream_word_wait(s, t->value[next]);
	t->sealed[next] = false;
	t->at = next * SEGMENT;
	return r;
}

/* Lock held. */
static CUresult take_small(struct stream *s, struct staging *t, uint32_t size, struct piece *piece)
{
	uint32_t left = SEGMENT - t->at % SEGMENT, need = (size + LINE - 1) & ~(LINE - 1);
	CUresult r = CUDA_SUCCESS;

	if (need >= left) /* never quite full, so that `at` tells the segment */
		r = next_segment(s, t);
	*piece = (struct piece){t->slab.offset + t->at, size};
	t->at += need;
	return r;
}

static CUresult send_small(struct stream *s, struct staging *t, CUdeviceptr dst, const void *src, uint32_t size)
{
	struct lane *lane = call_lane();
	struct wire_copy *a;
	struct piece piece;
	CUresult r = take_small(s, t, size, &piece);

	if (r)
		return r;
	memcpy((char *)bulk_base(call_link(), BULK_UP, NULL) + piece.offset, src, size);
	a = call_reserve(lane, sizeof *a);
	if (!a)
		return call_lost();
	call_in(a, s->ctx->id);
	*a = (struct wire_copy){.device = dst, .size = size, .stream = s->id};
	r = call_send(lane, WIRE_COPY_UP, sizeof *a, &piece, 1);
	stream_note_posted(s);
	return r;
}

CUresult staging_post_small(struct stream *s, CUdeviceptr dst, const void *src, uint32_t size)
{
	struct staging *t = stage_of(s);
	CUresult r = CUDA_ERROR_NOT_FOUND;
	struct piece piece;

	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&s->lock);
	if (t->slab.size || !bulk_alloc(call_link(), BULK_UP, SEGMENTS * SEGMENT, &t->slab))
		r = send_small(s, t, dst, src, size);
	pthread_mutex_unlock(&s->lock);
	if (r != CUDA_ERROR_NOT_FOUND)
		return r;
	/* too many streams for slabs of their own */
	r = staging_take(s, size, &piece);
	if (r)
		return r;
	memcpy((char *)bulk_base(call_link(), BULK_UP, NULL) + piece.offset, src, size);
	return staging_post(s, WIRE_COPY_UP, &(struct wire_copy){.device = dst, .size = size, .stream = s->id},
		sizeof(struct wire_copy), piece);
}

/* Nothing is on its way any more: the stream's context is gone, or it has come past everything. */
void staging_drop(struct stream *s)
{
	struct staging *t = s->staging;

	if (!t)
		return;
	pthread_mutex_lock(&s->lock);
	while (t->count) {
		bulk_free(call_link(), BULK_UP, t->held[t->first].piece);
		t->first = (t->first + 1) % HELD;
		t->count--;
	}
	if (t->slab.size)
		bulk_free(call_link(), BULK_UP, t->slab);
	t->slab.size = 0;
	t->at = 0;
	memset(t->sealed, 0, sizeof t->sealed);
	pthread_mutex_unlock(&s->lock);
}
