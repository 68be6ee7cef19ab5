/*
 * Pieces of the up arena that hold staged bytes until the device has read them, for each stream:
 *
 *	slab		| segment | segment | segment | segment |	small copies, one after another; a segment is used
 *									again when its last copy has completed
 *	in_flight	piece, value   piece, value   ...		larger copies, oldest first; a piece is free when
 *									the stream's word has reached the value
 *
 * No list is searched: the oldest piece always completes first.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include "backend/remote/copy/state.h"

#define SEGMENTS      4
#define SEGMENT_SIZE  (256u << 10)
#define IN_FLIGHT_MAX 64
#define CACHE_LINE    64u

/* Under the stream's lock. */
struct staging {
	struct piece slab; /* size 0: none */
	uint32_t slab_end; /* next free byte of the slab */
	bool sealed[SEGMENTS];
	uint32_t sealed_value[SEGMENTS]; /* the segment is free when the stream's word has reached it */
	struct {
		struct piece piece;
		uint32_t value;
	} in_flight[IN_FLIGHT_MAX]; /* a ring */
	unsigned oldest;
	_Atomic(unsigned) count; /* in flight; read without the lock to see that there is none */
};

static struct staging *staging_of(struct stream *s)
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

static void *staged_bytes(struct piece piece)
{
	return (char *)bulk_base(client->link, BULK_UP, NULL) + piece.offset;
}

/* ---- pieces in flight ---- */

static void staging_free_oldest_locked(struct staging *t)
{
	bulk_free(client->link, BULK_UP, t->in_flight[t->oldest].piece);
	t->oldest = (t->oldest + 1) % IN_FLIGHT_MAX;
	t->count--;
}

void staging_reclaim(struct stream *s)
{
	struct staging *t = s->staging;

	if (!t || !t->count)
		return;
	pthread_mutex_lock(&s->lock);
	while (t->count && word_reached(client->link, s->signal.word, t->in_flight[t->oldest].value))
		staging_free_oldest_locked(t);
	pthread_mutex_unlock(&s->lock);
}

/* Waits until the device has read the oldest piece.  *waited: there was one. */
static CUresult staging_wait_oldest(struct stream *s, bool *waited)
{
	struct staging *t = s->staging;
	CUresult r = CUDA_SUCCESS;

	*waited = false;
	if (!t)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&s->lock);
	*waited = t->count != 0;
	if (*waited)
		r = stream_word_unlock_wait(s, t->in_flight[t->oldest].value);
	else
		pthread_mutex_unlock(&s->lock);
	staging_reclaim(s);
	return r;
}

/* A stream with a piece in flight, or NULL.  Stream records are never freed, so the lock need not be held after. */
static struct stream *staging_find_busy_stream(struct context *c)
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

/* The arena is full of this stream's pieces, of another stream's, or of pieces that other threads are filling now. */
static CUresult staging_make_room(struct stream *s)
{
	struct stream *other;
	bool waited;
	CUresult r = staging_wait_oldest(s, &waited);

	if (r || waited)
		return r;
	other = staging_find_busy_stream(s->ctx);
	if (other)
		r = staging_wait_oldest(other, &waited);
	if (!waited)
		sched_yield();
	return r ? r : link_error(client->link, NULL) ? client_lost() : CUDA_SUCCESS;
}

CUresult staging_take(struct stream *s, uint32_t size, struct piece *piece)
{
	CUresult r = CUDA_SUCCESS;
	int e;

	staging_reclaim(s);
	while ((e = bulk_alloc(client->link, BULK_UP, size, piece)) == -EAGAIN && !r)
		r = staging_make_room(s);
	return r ? r : e ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* The stream's lock is held; there is room for one more piece. */
static CUresult staging_post_locked(struct stream *s, struct staging *t, unsigned op, const void *args, size_t size,
	struct piece piece, uint32_t value)
{
	struct lane *lane = call_lane();
	void *room = call_reserve(lane, size);
	unsigned newest = (t->oldest + t->count) % IN_FLIGHT_MAX;
	CUresult r;

	if (!room)
		return client_lost();
	call_set_context(room, s->ctx->id);
	memcpy(room, args, size);
	*(struct wire_signal *)room = (struct wire_signal){s->signal.word, value};
	r = call_send(lane, op, size, &piece, 1);
	stream_note_posted(s);
	t->in_flight[newest].piece = piece;
	t->in_flight[newest].value = value;
	t->count++;
	return r;
}

CUresult staging_post(struct stream *s, unsigned op, const void *args, size_t size, struct piece piece)
{
	struct staging *t = staging_of(s);
	CUresult r = t ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	uint32_t value;
	bool waited;

	while (!r) {
		stream_word_lock_next(s, &value);
		if (!s->signal.word)
			r = CUDA_ERROR_OUT_OF_MEMORY;
		else if (t->count < IN_FLIGHT_MAX) {
			r = staging_post_locked(s, t, op, args, size, piece, value);
			stream_word_unlock(s);
			return r;
		}
		s->signal.value--; /* not posted after all */
		stream_word_unlock(s);
		if (!r)
			r = staging_wait_oldest(s, &waited);
	}
	bulk_free(client->link, BULK_UP, piece);
	return r;
}

/* ---- small copies ---- */

/* Seals the current segment, and waits until the next one is free.  The stream's lock is held. */
static CUresult slab_next_segment(struct stream *s, struct staging *t)
{
	unsigned now = t->slab_end / SEGMENT_SIZE, next = (now + 1) % SEGMENTS;
	CUresult r;

	if (!s->signal.word && !word_pool_take(&s->signal))
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->sealed_value[now] = ++s->signal.value;
	t->sealed[now] = true;
	r = stream_post_signal(s, WIRE_SYNC, t->sealed_value[now]);
	if (!r && t->sealed[next])
		r = stream_word_wait(s, t->sealed_value[next]);
	t->sealed[next] = false;
	t->slab_end = next * SEGMENT_SIZE;
	return r;
}

/* The stream's lock is held. */
static CUresult slab_take(struct stream *s, struct staging *t, uint32_t size, struct piece *piece)
{
	uint32_t left = SEGMENT_SIZE - t->slab_end % SEGMENT_SIZE;
	uint32_t need = (size + CACHE_LINE - 1) & ~(CACHE_LINE - 1);
	CUresult r = CUDA_SUCCESS;

	if (need >= left) /* a segment is never quite full, so that slab_end tells which one is in use */
		r = slab_next_segment(s, t);
	*piece = (struct piece){t->slab.offset + t->slab_end, size};
	t->slab_end += need;
	return r;
}

/* The stream's lock is held. */
static CUresult slab_copy(struct stream *s, struct staging *t, CUdeviceptr dst, const void *src, uint32_t size)
{
	struct lane *lane = call_lane();
	struct wire_copy *a;
	struct piece piece;
	CUresult r = slab_take(s, t, size, &piece);

	if (r)
		return r;
	memcpy(staged_bytes(piece), src, size);
	a = call_reserve(lane, sizeof *a);
	if (!a)
		return client_lost();
	call_set_context(a, s->ctx->id);
	*a = (struct wire_copy){.device = dst, .size = size, .stream = s->id};
	r = call_send(lane, WIRE_COPY_UP, sizeof *a, &piece, 1);
	stream_note_posted(s);
	return r;
}

CUresult staging_copy_small(struct stream *s, CUdeviceptr dst, const void *src, uint32_t size)
{
	struct staging *t = staging_of(s);
	struct part all = {.width = size, .height = 1, .depth = 1};
	struct staged_copy c;
	CUresult r = CUDA_SUCCESS;
	bool slab;

	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&s->lock);
	slab = t->slab.size || !bulk_alloc(client->link, BULK_UP, SEGMENTS * SEGMENT_SIZE, &t->slab);
	if (slab)
		r = slab_copy(s, t, dst, src, size);
	pthread_mutex_unlock(&s->lock);
	if (slab)
		return r;
	/* there are more streams than the arena has room for slabs */
	staged_copy_init_linear(&c, true, dst, src, size, size);
	return staged_part_up(&c, &all, s);
}

void staging_drop(struct stream *s)
{
	struct staging *t = s->staging;

	if (!t)
		return;
	pthread_mutex_lock(&s->lock);
	while (t->count)
		staging_free_oldest_locked(t);
	if (t->slab.size)
		bulk_free(client->link, BULK_UP, t->slab);
	t->slab.size = 0;
	t->slab_end = 0;
	memset(t->sealed, 0, sizeof t->sealed);
	pthread_mutex_unlock(&s->lock);
}

/* ---- pieces that are kept ---- */

size_t kept_piece_size(bool up)
{
	unsigned n = client->copy->kept_pieces[up];

	return n < 8 ? BLOCK_PART_MAX : n < 16 ? BLOCK_PART_MAX / 4 : n < 32 ? BLOCK_PART_MAX / 16 : KEPT_PIECE_MIN;
}

bool kept_piece_take(bool up, size_t size, struct piece *piece)
{
	if (bulk_alloc(client->link, up ? BULK_UP : BULK_DOWN, (uint32_t)size, piece))
		return false;
	client->copy->kept_pieces[up]++;
	return true;
}

void kept_piece_give(bool up, struct piece piece)
{
	bulk_free(client->link, up ? BULK_UP : BULK_DOWN, piece);
	client->copy->kept_pieces[up]--;
}
