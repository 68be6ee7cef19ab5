/*
 * Copies.  Up from pageable memory: through bulk memory, and done with the application's buffer when the
 * call returns, as CUDA has it.  Down to pageable memory: done when the call returns.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/graph/graph.h"

#define SOME  (256u << 10) /* chunks of copies that one thread makes: the device starts early; so does a network */
#define MUCH  (2u << 20)   /* from here on several threads, with chunks of */
#define CHUNK (1u << 20)
#define AHEAD 8           /* chunks that the device may be ahead of us, on the way down */
#define PERCH (64u << 10) /* a thread's own piece of the down arena */

/* Shared host memory: the device reads or writes it itself, whenever it gets there. */
static CUresult post_shared(unsigned op, CUdeviceptr device, const void *host, size_t size, struct stream *s)
{
	struct lane *lane = call_lane();
	struct wire_copy *a;
	CUresult r;

	a = call_reserve(lane, sizeof *a);
	if (!a)
		return call_lost();
	*a = (struct wire_copy){.device = device, .host = (uintptr_t)host, .size = size, .stream = s->id};
	r = call_send(lane, op, sizeof *a, NULL, 0);
	stream_note_posted(s);
	return r;
}

/* ---- up ---- */

struct up {
	struct copy_job job;
	CUdeviceptr dst;
	const char *src;
	size_t size;
	uint32_t chunk;
	struct stream *s;
};

static uint32_t length(size_t size, uint32_t chunk, unsigned index)
{
	size_t from = (size_t)index * chunk;

	return size - from < chunk ? size - from : chunk;
}

static unsigned chunks(size_t size, uint32_t chunk)
{
	return (size + chunk - 1) / chunk;
}

static CUresult chunk_up(struct copy_job *j, unsigned index)
{
	struct up *u = container_of(j, struct up, job);
	size_t from = (size_t)index * u->chunk;
	uint32_t n = length(u->size, u->chunk, index);
	struct wire_copy a = {.device = u->dst + from, .size = n, .stream = u->s->id};
	struct piece piece;
	CUresult r = staging_take(u->s, n, &piece);

	if (r)
		return r;
	memcpy((char *)bulk_base(call_link(), BULK_UP, NULL) + piece.offset, u->src + from, n);
	return staging_post(u->s, WIRE_COPY_UP, &a, sizeof a, piece);
}

static CUresult large_up(CUdeviceptr dst, const void *src, size_t size, struct stream *s)
{
	struct up u = {
		.dst = dst, .src = src, .size = size, .chunk = size < MUCH || !remote.local ? SOME : CHUNK, .s = s};
	CUresult r = CUDA_SUCCESS;

	u.job.chunk = chunk_up;
	u.job.count = chunks(size, u.chunk);
	if (size >= MUCH)
		return copy_threads_run(&u.job);
	for (unsigned i = 0; i < u.job.count && !r; i++)
		r = chunk_up(&u.job, i);
	return r;
}

/* In a capture; or not yet, because a function that is ahead of it may fill or read the memory, or a wait lets it. */
static CUresult defer(struct stream *s, const CUDA_MEMCPY3D *c)
{
	return s->capturing ? copy_node_capture(s, c) : deferred_copy_post(s, c);
}

/* `now`: the source is the application's again when the call returns. */
static CUresult copy_up(CUdeviceptr dst, const void *src, size_t size, struct stream *s, bool now)
{
	bool shared = hostmem_shared(src, size), later = !shared && deferred_copy_needed(src);
	CUresult r = now && later ? stream_synchronize(s) : CUDA_SUCCESS;

	if (r)
		return r;
	if (!shared && (s->capturing || (!now && later)))
		return defer(s, &(CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
					.srcHost = src,
					.dstMemoryType = CU_MEMORYTYPE_DEVICE,
					.dstDevice = dst,
					.WidthInBytes = size,
					.Height = 1,
					.Depth = 1});
	call_work(false);
	pthread_mutex_lock(&s->copy_lock);
	if (shared)
		r = post_shared(WIRE_COPY_UP, dst, src, size, s);
	else
		r = size <= STAGING_SMALL ? staging_post_small(s, dst, src, size) : large_up(dst, src, size, s);
	pthread_mutex_unlock(&s->copy_lock);
	return r;
}

/* ---- down ---- */

/* Post a copy to a piece of the down arena; *value is what the stream's word has when it is there. */
static CUresult post_down(CUdeviceptr src, struct piece piece, struct stream *s, uint32_t *value)
{
	struct wire_copy a = {.device = src, .size = piece.size, .stream = s->id, .offset = piece.offset};

	return stream_post_with_signal(s, WIRE_COPY_DOWN, &a, sizeof a, value);
}

static void free_perch(void *p)
{
	struct piece *piece = p;

	bulk_free(call_link(), BULK_DOWN, *piece);
	free(piece);
}

/* The thread's own piece, used by one copy at a time because a copy down is done when it returns. */
static const struct piece *perch(void)
{
	static __thread struct piece *mine;

	if (mine)
		return mine;
	mine = malloc(sizeof *mine);
	if (!mine || bulk_alloc(call_link(), BULK_DOWN, PERCH, mine)) {
		free(mine);
		return mine = NULL;
	}
	if (!thread_at_end(free_perch, mine)) {
		free_perch(mine);
		mine = NULL;
	}
	return mine;
}

/* The stream has come to `value`; everything posted before it is done, and may have failed. */
static CUresult arrived(struct stream *s, uint32_t value, const struct stream_mark *point)
{
	CUresult r = stream_word_wait(s, value);

	if (!r)
		stream_mark_reached(s, point);
	mirror_pull();
	return r ? r : stream_async_error(s);
}

static CUresult small_down(void *dst, CUdeviceptr src, struct piece piece, struct stream *s)
{
	struct stream_mark point;
	uint32_t value;
	CUresult r;

	stream_mark_take(s, &point);
	pthread_mutex_lock(&s->copy_lock);
	r = post_down(src, piece, s, &value);
	pthread_mutex_unlock(&s->copy_lock);
	if (!r)
		r = arrived(s, value, &point);
	if (!r)
		memcpy(dst, (char *)bulk_base(call_link(), BULK_DOWN, NULL) + piece.offset, piece.size);
	return r;
}

struct down {
	struct copy_job job;
	char *dst;
	CUdeviceptr src;
	size_t size;
	uint32_t chunk;
	struct stream *s;
	unsigned slots;
	struct {
		struct piece piece;
		_Atomic(unsigned) index; /* the chunk that comes here, and */
		uint32_t value;          /* the word's value when it has */
	} slot[AHEAD];
};

static CUresult order_chunk(struct down *d, unsigned index)
{
	unsigned at = index % d->slots;
	struct piece piece = d->slot[at].piece;
	CUresult r;

	if (index >= d->job.count)
		return CUDA_SUCCESS;
	piece.size = length(d->size, d->chunk, index);
	r = post_down(d->src + (size_t)index * d->chunk, piece, d->s, &d->slot[at].value);
	if (!r)
		atomic_store_explicit(&d->slot[at].index, index, memory_order_release);
	return r;
}

/* The thread that has the chunk before ours in this place may still be copying it. */
static bool ordered(struct down *d, unsigned index)
{
	while (atomic_load_explicit(&d->slot[index % d->slots].index, memory_order_acquire) != index) {
		if (d->job.error)
			return false;
		sched_yield();
	}
	return true;
}

/* Take what has come, and let the device fill the place again. */
static CUresult chunk_down(struct copy_job *j, unsigned index)
{
	struct down *d = container_of(j, struct down, job);
	unsigned at = index % d->slots;
	CUresult r = ordered(d, index) ? stream_word_wait(d->s, d->slot[at].value) : d->job.error;

	if (r)
		return r;
	memcpy(d->dst + (size_t)index * d->chunk,
		(char *)bulk_base(call_link(), BULK_DOWN, NULL) + d->slot[at].piece.offset,
		length(d->size, d->chunk, index));
	return order_chunk(d, index + d->slots);
}

/* As many pieces as there are, one at least. */
static CUresult take_slots(struct down *d)
{
	unsigned want = d->job.count < AHEAD ? d->job.count : AHEAD;
	int e = 0;

	while (d->slots < want && !e) {
		e = bulk_alloc(call_link(), BULK_DOWN, d->chunk, &d->slot[d->slots].piece);
		if (!e)
			d->slots++;
		else if (e == -EAGAIN && !d->slots && !link_error(call_link(), NULL))
			e = sched_yield(); /* other threads' copies: they end */
	}
	return d->slots ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult large_down(void *dst, CUdeviceptr src, size_t size, struct stream *s)
{
	struct down d = {.dst = dst, .src = src, .size = size, .chunk = size < MUCH ? SOME : CHUNK, .s = s};
	uint64_t work = s->posted;
	CUresult r;

	d.job.chunk = chunk_down;
	d.job.count = chunks(size, d.chunk);
	r = take_slots(&d);
	for (unsigned i = 0; i < d.slots && !r; i++)
		r = order_chunk(&d, i);
	if (!r)
		r = copy_threads_run(&d.job);
	if (r && !link_error(call_link(), NULL))
		stream_synchronize(s); /* nothing may still be on its way into our pieces */
	for (unsigned i = 0; i < d.slots; i++)
		bulk_free(call_link(), BULK_DOWN, d.slot[i].piece);
	if (!r)
		stream_note_completed(s, work);
	return r ? r : stream_async_error(s);
}

/* `now`: the bytes are there when the call returns. */
static CUresult copy_down(void *dst, CUdeviceptr src, size_t size, struct stream *s, bool now)
{
	bool shared = hostmem_shared(dst, size);
	const struct piece *mine;
	CUresult r;

	if (!shared && (s->capturing || (!now && deferred_copy_needed(dst))))
		return defer(s, &(CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
					.srcDevice = src,
					.dstMemoryType = CU_MEMORYTYPE_HOST,
					.dstHost = dst,
					.WidthInBytes = size,
					.Height = 1,
					.Depth = 1});
	call_work(false);
	mine = !shared && size <= PERCH ? perch() : NULL;
	if (mine)
		return small_down(dst, src, (struct piece){mine->offset, size}, s);
	pthread_mutex_lock(&s->copy_lock);
	r = shared ? post_shared(WIRE_COPY_DOWN, src, dst, size, s) : large_down(dst, src, size, s);
	pthread_mutex_unlock(&s->copy_lock);
	return r;
}

/* ---- entry points ---- */

static CUresult up(CUdeviceptr dst, const void *src, size_t size, CUstream handle, bool now)
{
	enum known k;
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if (!size)
		return CUDA_SUCCESS;
	k = memory_known(dst, size, true);
	if (!src || k == KNOWN_BAD)
		return CUDA_ERROR_INVALID_VALUE;
	return memory_told(copy_up(dst, src, size, s, now), k);
}

CUresult remote_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream handle)
{
	return up(dst, src, size, handle, false);
}

static CUresult down(void *dst, CUdeviceptr src, size_t size, CUstream handle, bool now)
{
	enum known k;
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if (!size)
		return CUDA_SUCCESS;
	k = memory_known(src, size, false);
	if (!dst || k == KNOWN_BAD)
		return CUDA_ERROR_INVALID_VALUE;
	return memory_told(copy_down(dst, src, size, s, now), k);
}

CUresult remote_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream handle)
{
	return down(dst, src, size, handle, false);
}

/* The synchronous ones are the same on the default stream; what the device still does they wait for. */
CUresult remote_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size)
{
	CUresult r = up(dst, src, size, NULL, true);

	if (!r && (hostmem_pinned(src) || memory_place(dst) == PLACE_SHARED))
		return remote_cuStreamSynchronize(NULL);
	return r ? r : call_late();
}

CUresult remote_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size)
{
	CUresult r = down(dst, src, size, NULL, true);

	if (!r && hostmem_shared(dst, size))
		return remote_cuStreamSynchronize(NULL);
	return r;
}

CUresult remote_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream handle)
{
	enum known to, from;
	CUresult r;

	if (!stream_find(handle, &r))
		return r;
	if (!size)
		return CUDA_SUCCESS;
	to = memory_known(dst, size, true);
	from = memory_known(src, size, false);
	if (to == KNOWN_BAD || from == KNOWN_BAD)
		return CUDA_ERROR_INVALID_VALUE;
	return memory_told(call_cuMemcpyDtoDAsync_v2(dst, src, size, handle), to == UNKNOWN ? to : from);
}

/* Device to device returns before it is done, in CUDA too; but what the application can see it may look at. */
CUresult remote_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	CUresult r = remote_cuMemcpyDtoDAsync_v2(dst, src, size, NULL);

	return r || memory_place(dst) != PLACE_SHARED ? r : remote_cuStreamSynchronize(NULL);
}

/* Unified addresses: each side is ours or the device's. */
static CUresult either(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream handle, bool now)
{
	bool to = memory_place(dst) == PLACE_DEVICE, from = memory_place(src) == PLACE_DEVICE;

	if (to && from)
		return remote_cuMemcpyDtoDAsync_v2(dst, src, size, handle);
	if (to)
		return up(dst, (void *)(uintptr_t)src, size, handle, now);
	if (from)
		return down((void *)(uintptr_t)dst, src, size, handle, now);
	if (memory_place(dst) == PLACE_SHARED && memory_place(src) == PLACE_SHARED)
		return call_cuMemcpyAsync(dst, src, size, handle);
	CUresult r;
	struct stream *s = stream_find(handle, &r);
	if (!s)
		return r;
	if (s->capturing || (!now && (deferred_copy_needed((void *)(uintptr_t)src) ||
					     deferred_copy_needed((void *)(uintptr_t)dst))))
		return defer(s, &(CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
					.srcHost = (void *)(uintptr_t)src,
					.dstMemoryType = CU_MEMORYTYPE_HOST,
					.dstHost = (void *)(uintptr_t)dst,
					.WidthInBytes = size,
					.Height = 1,
					.Depth = 1});
	r = remote_cuStreamSynchronize(handle);
	if (!r)
		memmove((void *)(uintptr_t)dst, (void *)(uintptr_t)src, size);
	return r;
}

CUresult remote_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream handle)
{
	return either(dst, src, size, handle, false);
}

CUresult remote_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	CUresult r = either(dst, src, size, NULL, true);

	if (!r && (memory_place(dst) == PLACE_SHARED || hostmem_pinned((void *)(uintptr_t)src)))
		return remote_cuStreamSynchronize(NULL);
	return r;
}
