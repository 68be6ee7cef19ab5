/*
 * Copies of one run of bytes.  From pageable memory: the bytes are staged during the call, and the application's buffer is
 * its own again when the call returns, as CUDA specifies.  To pageable memory: done when the call returns.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/hostmem/hostmem.h"
#include "backend/remote/memory/memory.h"
#include "backend/remote/hostmem/mirror.h"

#define THREADED_MIN   (2u << 20)   /* from this size on several threads make the copy */
#define CHUNK_SINGLE   (256u << 10) /* chunk of a copy by one thread, or over TCP: device and network start early */
#define CHUNK_THREADED (1u << 20)   /* chunk of a copy by several threads */
#define DOWN_SLOTS     8            /* chunks that the device may be ahead of the copying threads, on the way down */
#define THREAD_PIECE   (64u << 10)  /* a thread's own piece of the down arena */

/* Shared host memory: the device reads or writes it itself when the stream gets there. */
static CUresult copy_post_shared(unsigned op, CUdeviceptr device, const void *host, size_t size, struct stream *s)
{
	struct lane *lane = call_lane();
	struct wire_copy *a;
	CUresult r;

	a = call_reserve(lane, sizeof *a);
	if (!a)
		return client_lost();
	*a = (struct wire_copy){.device = device, .host = (uintptr_t)host, .size = size, .stream = s->id};
	r = call_send(lane, op, sizeof *a, NULL, 0);
	stream_note_posted(s);
	return r;
}

static struct part linear_chunk(const struct staged_copy *c, unsigned index)
{
	struct part p = {.x = index * c->block.part_max};

	block_cut_part(&c->block, &p);
	return p;
}

static unsigned linear_chunk_count(const struct staged_copy *c)
{
	return (c->block.width + c->block.part_max - 1) / c->block.part_max;
}

/* ---- up ---- */

struct copy_up_job {
	struct copy_job job;
	struct staged_copy copy;
	struct stream *s;
};

static CUresult copy_up_chunk(struct copy_job *j, unsigned index)
{
	struct copy_up_job *u = container_of(j, struct copy_up_job, job);
	struct part p = linear_chunk(&u->copy, index);

	return staged_part_up(&u->copy, &p, u->s);
}

static CUresult copy_up_large(CUdeviceptr dst, const void *src, size_t size, struct stream *s)
{
	struct copy_up_job u = {.s = s, .job.chunk = copy_up_chunk};

	staged_copy_init_linear(
		&u.copy, true, dst, src, size, size < THREADED_MIN || !client->local ? CHUNK_SINGLE : CHUNK_THREADED);
	if (size < THREADED_MIN)
		return staged_copy_up(&u.copy, s);
	u.job.count = linear_chunk_count(&u.copy);
	return copy_threads_run(&u.job);
}

/* `now`: the source is the application's again when the call returns. */
static CUresult copy_up(CUdeviceptr dst, const void *src, size_t size, struct stream *s, bool now)
{
	bool shared = hostmem_shared(src, size), deferred = !shared && deferred_copy_needed(src);
	CUresult r = now && deferred ? stream_synchronize(s) : CUDA_SUCCESS;

	if (r)
		return r;
	if (!shared && (s->capturing || (!now && deferred)))
		return staged_copy_defer(s, &(CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
						    .srcHost = src,
						    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
						    .dstDevice = dst,
						    .WidthInBytes = size,
						    .Height = 1,
						    .Depth = 1});
	mirror_before_work(false);
	pthread_mutex_lock(&s->copy_lock);
	if (shared)
		r = copy_post_shared(WIRE_COPY_UP, dst, src, size, s);
	else
		r = size <= STAGING_SMALL ? staging_copy_small(s, dst, src, size) : copy_up_large(dst, src, size, s);
	pthread_mutex_unlock(&s->copy_lock);
	return r;
}

/* ---- down ---- */

static __thread struct piece *piece_of_thread;

static void thread_piece_destroy(void *p)
{
	struct piece *piece = p;

	if (!piece)
		return;
	bulk_free(client->link, BULK_DOWN, *piece);
	free(piece);
	piece_of_thread = NULL;
}

void copy_forget_thread(void)
{
	free(piece_of_thread);
	piece_of_thread = NULL;
}

/* The thread's own piece; a copy down has completed when it returns, so that the thread's next copy can use it again. */
static const struct piece *thread_piece(void)
{
	struct piece *mine = piece_of_thread;

	if (mine)
		return mine;
	mine = malloc(sizeof *mine);
	if (!mine || bulk_alloc(client->link, BULK_DOWN, THREAD_PIECE, mine)) {
		free(mine);
		return NULL;
	}
	if (!thread_at_end(thread_piece_destroy, mine)) {
		thread_piece_destroy(mine);
		return NULL;
	}
	return piece_of_thread = mine;
}

/* Waits for the value; everything posted before has then completed, and may have failed. */
static CUresult copy_down_wait(struct stream *s, uint32_t value, const struct stream_mark *mark)
{
	CUresult r = stream_word_wait(s, value);

	if (!r)
		stream_mark_reached(s, mark);
	mirror_pull();
	return r ? r : stream_async_error(s);
}

static CUresult copy_down_small(void *dst, CUdeviceptr src, struct piece piece, struct stream *s)
{
	struct stream_mark mark;
	struct staged_copy c;
	struct part all;
	uint32_t value;
	CUresult r;

	staged_copy_init_linear(&c, false, src, dst, piece.size, piece.size);
	all = linear_chunk(&c, 0);
	stream_mark_take(s, &mark);
	pthread_mutex_lock(&s->copy_lock);
	r = staged_part_post_down(&c, &all, piece, s, &value);
	pthread_mutex_unlock(&s->copy_lock);
	if (!r)
		r = copy_down_wait(s, value, &mark);
	if (!r)
		staged_copy_move(&c, &all, piece);
	return r;
}

/* The device fills the slots in turn, ahead of the threads that unpack them. */
struct copy_down_job {
	struct copy_job job;
	struct staged_copy copy;
	struct stream *s;
	unsigned slots;
	struct {
		struct piece piece;
		_Atomic(unsigned) index; /* the chunk that was posted to this slot, and */
		uint32_t value;          /* the word's value when it is there */
	} slot[DOWN_SLOTS];
};

static CUresult copy_down_post_chunk(struct copy_down_job *d, unsigned index)
{
	unsigned at = index % d->slots;
	struct part p;
	CUresult r;

	if (index >= d->job.count)
		return CUDA_SUCCESS;
	p = linear_chunk(&d->copy, index);
	r = staged_part_post_down(&d->copy, &p, d->slot[at].piece, d->s, &d->slot[at].value);
	if (!r)
		atomic_store_explicit(&d->slot[at].index, index, memory_order_release);
	return r;
}

/* The thread that unpacks the slot's previous chunk posts this one when it is done.  False: another chunk has failed. */
static bool copy_down_wait_posted(struct copy_down_job *d, unsigned index)
{
	while (atomic_load_explicit(&d->slot[index % d->slots].index, memory_order_acquire) != index) {
		if (d->job.error)
			return false;
		sched_yield();
	}
	return true;
}

/* Unpacks a chunk, then lets the device fill its slot again. */
static CUresult copy_down_chunk(struct copy_job *j, unsigned index)
{
	struct copy_down_job *d = container_of(j, struct copy_down_job, job);
	unsigned at = index % d->slots;
	struct part p = linear_chunk(&d->copy, index);
	CUresult r = copy_down_wait_posted(d, index) ? stream_word_wait(d->s, d->slot[at].value) : d->job.error;

	if (r)
		return r;
	staged_copy_move(&d->copy, &p, d->slot[at].piece);
	return copy_down_post_chunk(d, index + d->slots);
}

/* Takes as many pieces as there are, but at least one. */
static CUresult copy_down_take_slots(struct copy_down_job *d)
{
	unsigned want = d->job.count < DOWN_SLOTS ? d->job.count : DOWN_SLOTS;
	uint32_t chunk = d->copy.block.part_max;
	CUresult r = staged_piece_take_down(chunk, &d->slot[0].piece);

	if (r)
		return r;
	d->slots = 1;
	while (d->slots < want && !bulk_alloc(client->link, BULK_DOWN, chunk, &d->slot[d->slots].piece))
		d->slots++;
	return CUDA_SUCCESS;
}

static CUresult copy_down_large(void *dst, CUdeviceptr src, size_t size, struct stream *s)
{
	struct copy_down_job d = {.s = s, .job.chunk = copy_down_chunk};
	uint64_t posted = s->posted;
	CUresult r;

	staged_copy_init_linear(&d.copy, false, src, dst, size, size < THREADED_MIN ? CHUNK_SINGLE : CHUNK_THREADED);
	d.job.count = linear_chunk_count(&d.copy);
	r = copy_down_take_slots(&d);
	for (unsigned i = 0; i < d.slots && !r; i++)
		r = copy_down_post_chunk(&d, i);
	if (!r)
		r = copy_threads_run(&d.job);
	if (r && !link_error(client->link, NULL))
		stream_synchronize(s); /* the device may still write to the pieces */
	for (unsigned i = 0; i < d.slots; i++)
		bulk_free(client->link, BULK_DOWN, d.slot[i].piece);
	if (!r)
		stream_note_completed(s, posted);
	return r ? r : stream_async_error(s);
}

/* `now`: the bytes are there when the call returns. */
static CUresult copy_down(void *dst, CUdeviceptr src, size_t size, struct stream *s, bool now)
{
	bool shared = hostmem_shared(dst, size);
	const struct piece *mine;
	CUresult r;

	if (!shared && (s->capturing || (!now && deferred_copy_needed(dst))))
		return staged_copy_defer(s, &(CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
						    .srcDevice = src,
						    .dstMemoryType = CU_MEMORYTYPE_HOST,
						    .dstHost = dst,
						    .WidthInBytes = size,
						    .Height = 1,
						    .Depth = 1});
	mirror_before_work(false);
	mine = !shared && size <= THREAD_PIECE ? thread_piece() : NULL;
	if (mine)
		return copy_down_small(dst, src, (struct piece){mine->offset, size}, s);
	pthread_mutex_lock(&s->copy_lock);
	r = shared ? copy_post_shared(WIRE_COPY_DOWN, src, dst, size, s) : copy_down_large(dst, src, size, s);
	pthread_mutex_unlock(&s->copy_lock);
	return r;
}

/* ---- entry points ---- */

static CUresult copy_host_device(bool up, CUdeviceptr device, const void *host, size_t size, CUstream handle, bool now)
{
	enum range_check k;
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if (!size)
		return CUDA_SUCCESS;
	k = memory_check_range(device, size, up);
	if (!host || k == RANGE_INVALID)
		return CUDA_ERROR_INVALID_VALUE;
	r = up ? copy_up(device, host, size, s, now) : copy_down((void *)host, device, size, s, now);
	return memory_confirm(r, k);
}

CUresult remote_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream handle)
{
	return copy_host_device(true, dst, src, size, handle, false);
}

CUresult remote_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream handle)
{
	return copy_host_device(false, src, dst, size, handle, false);
}

/* The synchronous copies use the default stream, and wait for it where the device copies shared or pinned memory. */
CUresult remote_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size)
{
	CUresult r = copy_host_device(true, dst, src, size, NULL, true);

	if (!r && (hostmem_pinned(src) || memory_place(dst) == PLACE_SHARED))
		return remote_cuStreamSynchronize(NULL);
	return r ? r : async_error_take();
}

CUresult remote_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size)
{
	CUresult r = copy_host_device(false, src, dst, size, NULL, true);

	if (!r && hostmem_shared(dst, size))
		return remote_cuStreamSynchronize(NULL);
	return r;
}

CUresult remote_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream handle)
{
	enum range_check to, from;
	CUresult r;

	if (!stream_find(handle, &r))
		return r;
	if (!size)
		return CUDA_SUCCESS;
	to = memory_check_range(dst, size, true);
	from = memory_check_range(src, size, false);
	if (to == RANGE_INVALID || from == RANGE_INVALID)
		return CUDA_ERROR_INVALID_VALUE;
	return memory_confirm(call_cuMemcpyDtoDAsync_v2(dst, src, size, handle), to == RANGE_UNKNOWN ? to : from);
}

/* Device to device returns before it has completed, in CUDA too; but the application can look at shared memory. */
CUresult remote_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	CUresult r = remote_cuMemcpyDtoDAsync_v2(dst, src, size, NULL);

	return r || memory_place(dst) != PLACE_SHARED ? r : remote_cuStreamSynchronize(NULL);
}

/* Both sides are host memory, and the server cannot reach both. */
static CUresult copy_host_to_host(void *dst, void *src, size_t size, CUstream handle, bool now)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if (s->capturing || (!now && (deferred_copy_needed(src) || deferred_copy_needed(dst))))
		return staged_copy_defer(s, &(CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
						    .srcHost = src,
						    .dstMemoryType = CU_MEMORYTYPE_HOST,
						    .dstHost = dst,
						    .WidthInBytes = size,
						    .Height = 1,
						    .Depth = 1});
	r = remote_cuStreamSynchronize(handle);
	if (!r)
		memmove(dst, src, size);
	return r;
}

/* Unified addresses: each side is the host's or the device's. */
static CUresult copy_unified(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream handle, bool now)
{
	void *to = (void *)(uintptr_t)dst, *from = (void *)(uintptr_t)src;
	enum place dst_place = memory_place(dst), src_place = memory_place(src);
	CUresult r;

	if (!size)
		return stream_find(handle, &r) ? CUDA_SUCCESS : r;
	if (dst_place == PLACE_DEVICE && src_place == PLACE_DEVICE)
		return remote_cuMemcpyDtoDAsync_v2(dst, src, size, handle);
	if (dst_place == PLACE_DEVICE)
		return copy_host_device(true, dst, from, size, handle, now);
	if (src_place == PLACE_DEVICE)
		return copy_host_device(false, src, to, size, handle, now);
	if (dst_place == PLACE_SHARED && src_place == PLACE_SHARED)
		return call_cuMemcpyAsync(dst, src, size, handle);
	return copy_host_to_host(to, from, size, handle, now);
}

CUresult remote_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream handle)
{
	return copy_unified(dst, src, size, handle, false);
}

CUresult remote_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	CUresult r = copy_unified(dst, src, size, NULL, true);

	if (!r && (memory_place(dst) == PLACE_SHARED || hostmem_pinned((void *)(uintptr_t)src)))
		return remote_cuStreamSynchronize(NULL);
	return r;
}
