/*
 * Memory that is allocated and freed in the order of a stream.
 *
 * Programs free and at once allocate the same again.  A pool would give them the very memory that they had, so the
 * latest free is held back until the next call: if that is such an allocation, neither of the two goes anywhere.
 * Everything else that is sent sends the free before it, by any thread (call_reserve), so that nobody can tell.
 */
#include "backend/remote/session/remote.h"
#include "backend/remote/wait/wait.h"
#include "util/tsan_order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct taken_range range;
	struct stream *stream;
	uint64_t id; /* the stream's, then */
} held;              /* while call_held */

/* Pools that devices had by default before the present one have another number than it. */
#define BY_DEFAULT (1ull << 63)

static _Atomic(uint64_t) default_changed;

static uint64_t default_pool(void)
{
	return BY_DEFAULT | atomic_load(&default_changed);
}

CUresult remote_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	CUresult r = call_cuDeviceSetMemPool(dev, pool);

	default_changed++;
	return r;
}

CUresult remote_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	CUresult r = call_cuMemSetMemPool(location, type, pool);

	default_changed++;
	return r;
}

/* ---- holding back ---- */

/* As it would have been sent then.  Others who are about to send wait for us here, and then find nothing held. */
static void send_held(struct lane *lane)
{
	struct wire_cuMemFreeAsync *a;

	pthread_mutex_lock(&lock);
	if (call_held && (a = call_reserve_now(lane, sizeof *a))) {
		call_in(a, held.range.context);
		*a = (struct wire_cuMemFreeAsync){.dptr = held.range.address, .hStream = held.id};
		ORDER_BEFORE(posted);
		lane_post(lane, NR_cuMemFreeAsync, sizeof(struct wire_request) + sizeof *a, NULL, 0, NULL);
		if (call_counts)
			call_counted(NR_cuMemFreeAsync, false);
	}
	call_held = false;
	pthread_mutex_unlock(&lock);
}

/* False: one of another thread's is held already. */
static bool hold(const struct taken_range *range, struct stream *s)
{
	bool free;

	pthread_mutex_lock(&lock);
	free = !call_held;
	if (free) {
		held.range = *range;
		held.stream = s;
		held.id = s->id;
		call_release = send_held;
		call_held = true;
	}
	pthread_mutex_unlock(&lock);
	return free;
}

/* The same again: what is held back was never freed. */
static bool take_back(CUdeviceptr *dptr, size_t size, uint64_t pool, struct stream *s)
{
	bool same;

	if (!atomic_load_explicit(&call_held, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&lock);
	same = call_held && held.stream == s && held.id == s->id && held.range.size == size &&
	       held.range.pool == pool && held.range.context == call_context_id();
	if (same) {
		*dptr = held.range.address;
		call_held = false;
	}
	pthread_mutex_unlock(&lock);
	return same;
}

/* ---- entry points ---- */

static bool plain(const struct stream *s)
{
	return s && !s->capturing && !call_careful && !call_sticks() && !call_broken();
}

static CUresult allocated(CUresult r, CUdeviceptr *dptr, size_t size, uint64_t pool, struct stream *s)
{
	if (r)
		return r;
	if (s)
		stream_note_posted(s);
	return memory_note_pool(*dptr, size, s && s->capturing ? RANGE_GRAPH : RANGE_POOL, pool);
}

CUresult remote_cuMemAllocAsync(CUdeviceptr *dptr, size_t size, CUstream handle)
{
	uint64_t pool = default_pool();
	CUresult r = CUDA_SUCCESS;
	struct stream *s = stream_find(handle, &r);

	if (!dptr || !plain(s) || !take_back(dptr, size, pool, s))
		r = call_cuMemAllocAsync(dptr, size, handle);
	return allocated(r, dptr, size, pool, s);
}

CUresult remote_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t size, CUmemoryPool pool, CUstream handle)
{
	CUresult r = CUDA_SUCCESS;
	struct stream *s = stream_find(handle, &r);

	if (!dptr || !plain(s) || !take_back(dptr, size, (uintptr_t)pool, s))
		r = call_cuMemAllocFromPoolAsync(dptr, size, pool, handle);
	return allocated(r, dptr, size, (uintptr_t)pool, s);
}

CUresult remote_cuMemFreeAsync(CUdeviceptr dptr, CUstream handle)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);
	struct taken_range range;

	if (!s)
		return r;
	if (!dptr)
		return CUDA_SUCCESS;
	if (memory_of_graph(dptr)) { /* which may have freed it */
		r = call_cuMemFreeAsync(dptr, handle);
		return r ? r : call_flush();
	}
	if (!memory_take_pool(dptr, &range))
		return memory_remove(dptr) ? call_cuMemFreeAsync(dptr, handle) : CUDA_ERROR_INVALID_VALUE;
	if (range.context != call_context_id() || !plain(s) || !hold(&range, s))
		return call_cuMemFreeAsync(dptr, handle);
	stream_note_posted(s);
	return CUDA_SUCCESS;
}
