#include "server/quota/account.h"

#include <stdlib.h>
#include "server/copy/mirror.h"
#include "server/quota/quota.h"
#include "server/session/session.h"
#include "util/map.h"
#include "host/usage.h"

struct item {
	struct map_node node; /* key: an address or a handle */
	enum account_kind kind;
	uint64_t size;
	CUcontext context;
	struct stats_device *device;
	unsigned held, mapped; /* physical memory: handles, mappings */
	struct item *physical; /* what a mapping maps */
	struct quota_pool *pool;
	bool loose; /* in no map: its handle has become another's */
};

static struct cuda_ops real;
static struct stats *stats;
static bool quotas; /* there are some */
static struct map items[ACCOUNT_KINDS];
static CUcontext current;
static struct stats_device nobody, *device = &nobody; /* until somebody counts */

struct stats_device *account_device(void)
{
	return device;
}

void account_enter(CUcontext context, int number)
{
	current = context;
	if (stats)
		device = &stats->device[number < 0 ? 0 : number < STATS_DEVICES ? number : STATS_DEVICES - 1];
}

/* ---- What is held ---- */

/* So that the worker of the same client's NVML knows of it. */
static struct usage *page(void)
{
	static struct usage *mine;
	static bool asked;

	if (!asked)
		mine = usage_open("served");
	asked = true;
	return mine;
}

void account_hold(struct stats_device *d, int64_t more)
{
	uint64_t now;

	stats_add(&d->memory, (uint64_t)more);
	now = stats_read(&d->memory);
	if (now > stats_read(&d->peak))
		atomic_store_explicit(&d->peak, now, memory_order_relaxed);
	if (quotas)
		usage_memory(page(), (int)(d - stats->device), more);
}

void account_kept(const struct stats_device *d, uint64_t bytes)
{
	static uint64_t told[STATS_DEVICES];
	unsigned device = (unsigned)(d - stats->device);

	if (told[device] != bytes)
		usage_memory(page(), (int)device, (int64_t)(bytes - told[device]));
	told[device] = bytes;
}

/* What no device has the driver refuses itself: it may have more to say of it than that it is too much. */
CUresult account_room(uint64_t size)
{
	return !quotas || size > stats->info[device - stats->device].memory ? CUDA_SUCCESS : quota_room(device, size);
}

static struct item *find(enum account_kind kind, uint64_t key)
{
	return (struct item *)map_find(&items[kind], key);
}

static void drop(struct item *i)
{
	if (i->kind != ACCOUNT_MAPPING)
		account_hold(i->device, -(int64_t)i->size);
	if (i->pool)
		quota_pool_back(i->pool, i->size);
	if (!i->loose)
		map_remove(&items[i->kind], &i->node);
	free(i);
}

/* Somebody else has its key now: it was freed where we did not see it, or lives on because it is mapped. */
static void replaced(struct item *i)
{
	if (!i || i->kind != ACCOUNT_PHYSICAL || !i->mapped) {
		if (i)
			drop(i);
		return;
	}
	map_remove(&items[ACCOUNT_PHYSICAL], &i->node);
	i->held = 0;
	i->loose = true;
}

/* Without memory for the item the allocation is not counted; its client has other worries then. */
static struct item *add(enum account_kind kind, uint64_t key, uint64_t size, struct stats_device *on)
{
	struct item *i = calloc(1, sizeof *i);

	replaced(find(kind, key));
	if (!i)
		return NULL;
	*i = (struct item){.node.key = key, .kind = kind, .size = size, .context = current, .device = on, .held = 1};
	map_insert(&items[kind], &i->node);
	if (kind != ACCOUNT_MAPPING)
		account_hold(on, (int64_t)size);
	return i;
}

CUresult account_freed(CUresult r, enum account_kind kind, uint64_t key)
{
	struct item *i = r ? NULL : find(kind, key);

	if (i)
		drop(i);
	return r;
}

CUresult account_made(enum account_kind kind, uint64_t key, uint64_t size)
{
	add(kind, key, size, device);
	return CUDA_SUCCESS;
}

uint64_t account_times(uint64_t a, uint64_t b)
{
	uint64_t n;

	return __builtin_mul_overflow(a, b, &n) ? UINT64_MAX : n;
}

/* ---- Addresses ---- */

static CUresult alloc(CUdeviceptr *p, size_t size)
{
	CUresult r = account_room(size);

	if (!r)
		r = real.cuMemAlloc_v2(p, size);
	return r ? r : account_made(ACCOUNT_PLAIN, *p, size);
}

/* How much it is only the driver knows, once it has it. */
static CUresult alloc_pitch(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element)
{
	CUresult r = account_room(account_times(width, height));

	if (!r)
		r = real.cuMemAllocPitch_v2(p, pitch, width, height, element);
	if (!r && (r = account_room(account_times(*pitch, height))))
		real.cuMemFree_v2(*p);
	return r ? r : account_made(ACCOUNT_PLAIN, *p, account_times(*pitch, height));
}

static CUresult alloc_managed(CUdeviceptr *p, size_t size, unsigned flags)
{
	CUresult r =
		quotas ? quota_room(device, size) : CUDA_SUCCESS; /* of this there may be more than the device has */

	if (!r)
		r = real.cuMemAllocManaged(p, size, flags);
	return r ? r : account_made(ACCOUNT_PLAIN, *p, size);
}

/* In a capture it is a node's: its graph takes the memory when it is launched. */
static bool captures(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return !real.cuStreamIsCapturing(stream, &status) && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult call_alloc(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
{
	return pool ? real.cuMemAllocFromPoolAsync(p, size, pool, stream) : real.cuMemAllocAsync(p, size, stream);
}

/* The pool that it has come from in the end: a stream may be another device's. */
static struct quota_pool *pool_of(CUdeviceptr p)
{
	CUmemoryPool pool = NULL;

	return real.cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p) || !pool ? NULL
												  : quota_pool(pool);
}

static CUresult alloc_counted(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
{
	struct quota_pool *from = quota_pool(pool);
	CUresult r = from ? quota_pool_room(from, size) : account_room(size);
	struct item *i;

	if (!r)
		r = call_alloc(p, size, pool, stream);
	if (r || !(from = pool_of(*p)))
		return r ? r : account_made(ACCOUNT_PLAIN, *p, size);
	if (!quota_pool_gave(from, size)) {
		real.cuMemFreeAsync(*p, stream);
		quota_pool_back(from, size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	i = add(ACCOUNT_PLAIN, *p, size, quota_pool_device(from));
	if (i)
		i->pool = from;
	return r;
}

static CUresult alloc_ordered(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
{
	bool node = captures(stream);
	CUresult r;

	if (quotas && !node)
		return alloc_counted(p, size, pool, stream);
	r = call_alloc(p, size, pool, stream);
	return r || node ? r : account_made(ACCOUNT_PLAIN, *p, size);
}

static CUresult alloc_async(CUdeviceptr *p, size_t size, CUstream stream)
{
	return alloc_ordered(p, size, NULL, stream);
}

static CUresult alloc_pool(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
{
	return pool ? alloc_ordered(p, size, pool, stream) : real.cuMemAllocFromPoolAsync(p, size, pool, stream);
}

static CUresult free_(CUdeviceptr p)
{
	return account_freed(real.cuMemFree_v2(p), ACCOUNT_PLAIN, p);
}

static CUresult free_async(CUdeviceptr p, CUstream stream)
{
	return account_freed(real.cuMemFreeAsync(p, stream), ACCOUNT_PLAIN, p);
}

/* ---- Physical memory ---- */

static void let_go(struct item *i)
{
	if (i && !i->held && !i->mapped)
		drop(i);
}

static CUresult create(
	CUmemGenericAllocationHandle *h, size_t size, const CUmemAllocationProp *p, unsigned long long flags)
{
	int on = p && p->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? p->location.id : -1;
	bool counts = on >= 0 && on < STATS_DEVICES; /* else it is the host's */
	CUresult r = counts && quotas ? quota_room(&stats->device[on], size) : CUDA_SUCCESS;

	if (!r)
		r = real.cuMemCreate(h, size, p, flags);
	if (!r && counts)
		add(ACCOUNT_PHYSICAL, *h, size, &stats->device[on]);
	return r;
}

static CUresult retain(CUmemGenericAllocationHandle *h, void *address)
{
	CUresult r = real.cuMemRetainAllocationHandle(h, address);
	struct item *i = r ? NULL : find(ACCOUNT_PHYSICAL, *h);

	if (i)
		i->held++;
	return r;
}

static CUresult release(CUmemGenericAllocationHandle h)
{
	CUresult r = real.cuMemRelease(h);
	struct item *i = r ? NULL : find(ACCOUNT_PHYSICAL, h);

	if (i && i->held)
		i->held--;
	let_go(i);
	return r;
}

static CUresult map(CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle h, unsigned long long flags)
{
	CUresult r = real.cuMemMap(p, size, offset, h, flags);
	struct item *physical = r ? NULL : find(ACCOUNT_PHYSICAL, h);
	struct item *i = physical ? add(ACCOUNT_MAPPING, p, size, device) : NULL;

	if (i) {
		i->physical = physical;
		physical->mapped++;
	}
	return r;
}

/* One call may unmap several neighbours. */
static CUresult unmap(CUdeviceptr p, size_t size)
{
	CUresult r = real.cuMemUnmap(p, size);
	struct map_node *n;

	while (!r && (n = map_above(&items[ACCOUNT_MAPPING], p)) && n->key < p + size) {
		struct item *i = (struct item *)n, *physical = i->physical;

		drop(i);
		physical->mapped--;
		let_go(physical);
	}
	return r;
}

/* ---- Contexts ---- */

static void context_gone(CUcontext context)
{
	struct map_node *n;

	for (int k = ACCOUNT_PLAIN; k <= ACCOUNT_LIMIT; k++)
		for (uint64_t from = 0; (n = map_above(&items[k], from));) {
			struct item *i = (struct item *)n;

			from = n->key + 1;
			if (i->context == context && !(i->pool && quota_pool_gone(i->pool)))
				drop(i);
		}
	if (quotas)
		quota_graphs_settle();
	session_context_gone(context);
}

static CUresult context_destroy(CUcontext context)
{
	CUresult r;

	mirrors_ending(context);
	r = real.cuCtxDestroy_v2(context);
	if (!r)
		context_gone(context);
	return r;
}

/* The context that a device's primary one is or was, while somebody held it. */
static CUcontext primaries[STATS_DEVICES];

static CUresult primary_retain(CUcontext *context, CUdevice d)
{
	CUresult r = real.cuDevicePrimaryCtxRetain(context, d);

	if (!r && d >= 0 && d < STATS_DEVICES)
		primaries[d] = *context;
	return r;
}

static CUresult primary_gone(CUresult r, CUdevice d)
{
	unsigned flags;
	int active = 1;

	if (!r && d >= 0 && d < STATS_DEVICES && !real.cuDevicePrimaryCtxGetState(d, &flags, &active) && !active)
		context_gone(primaries[d]);
	return r;
}

static CUresult primary_release(CUdevice d)
{
	return primary_gone(real.cuDevicePrimaryCtxRelease_v2(d), d);
}

static CUresult primary_reset(CUdevice d)
{
	bool known = d >= 0 && d < STATS_DEVICES;
	CUresult r;

	if (known)
		mirrors_ending(primaries[d]);
	r = real.cuDevicePrimaryCtxReset_v2(d);
	if (!r && known)
		context_gone(primaries[d]);
	return r;
}

/* ---- Copies ---- */

static CUresult copy_up(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
	stats_add(&device->up, size);
	return real.cuMemcpyHtoDAsync_v2(to, from, size, stream);
}

static CUresult copy_down(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	stats_add(&device->down, size);
	return real.cuMemcpyDtoHAsync_v2(to, from, size, stream);
}

static CUresult copy_block(const CUDA_MEMCPY3D *c, CUstream stream)
{
	bool from_host = c && c->srcMemoryType == CU_MEMORYTYPE_HOST,
	     to_host = c && c->dstMemoryType == CU_MEMORYTYPE_HOST;

	if (from_host != to_host)
		stats_add(from_host ? &device->up : &device->down, c->WidthInBytes * c->Height * c->Depth);
	return real.cuMemcpy3DAsync_v2(c, stream);
}

void account_wrap(struct cuda_ops *t, struct stats *s)
{
	real = *t;
	stats = s;
	device = &s->device[0];
	t->cuMemAlloc_v2 = alloc;
	t->cuMemAllocPitch_v2 = alloc_pitch;
	t->cuMemAllocManaged = alloc_managed;
	t->cuMemAllocAsync = alloc_async;
	t->cuMemAllocFromPoolAsync = alloc_pool;
	t->cuMemFree_v2 = free_;
	t->cuMemFreeAsync = free_async;
	t->cuMemCreate = create;
	t->cuMemRetainAllocationHandle = retain;
	t->cuMemRelease = release;
	t->cuMemMap = map;
	t->cuMemUnmap = unmap;
	t->cuCtxDestroy_v2 = context_destroy;
	t->cuDevicePrimaryCtxRetain = primary_retain;
	t->cuDevicePrimaryCtxRelease_v2 = primary_release;
	t->cuDevicePrimaryCtxReset_v2 = primary_reset;
	t->cuMemcpyHtoDAsync_v2 = copy_up;
	t->cuMemcpyDtoHAsync_v2 = copy_down;
	t->cuMemcpy3DAsync_v2 = copy_block;
	account_arrays_wrap(t, &real);
	for (unsigned i = 0; i < STATS_DEVICES; i++)
		quotas |= s->info[i].quota != 0;
	if (quotas)
		quota_wrap(t, &real, s);
}
