/* Wraps the entry points that allocate, free and copy, and counts what they do. */
#include "server/quota/account.h"

#include <stdlib.h>
#include "host/usage.h"
#include "server/code/code.h"
#include "server/quota/quota.h"
#include "server/session/session.h"

struct account_item {
	struct map_node node; /* key: an address or a handle */
	enum account_kind kind;
	uint64_t size;
	CUcontext context;
	struct stats_device *device;
	unsigned held, mapped;         /* physical memory: its handles and mappings */
	struct account_item *physical; /* mapping: what it maps */
	struct quota_pool *pool;       /* where it comes from */
	bool unlisted;                 /* in no map: another allocation has its handle now */
};

struct account *worker_account(void)
{
	return worker_session->account;
}

void account_enter(struct account *a, CUcontext context, int number)
{
	a->context = context;
	a->device = &a->stats->device[number < 0 ? 0 : number < STATS_DEVICES ? number : STATS_DEVICES - 1];
}

/* ---- Items ---- */

static struct usage *account_usage(struct account *a)
{
	if (!a->usage_opened)
		a->usage_page = usage_open("served");
	a->usage_opened = true;
	return a->usage_page;
}

void account_hold(struct account *a, struct stats_device *d, int64_t more)
{
	uint64_t now;

	if (!d) {
		account_host_hold(a, more);
		return;
	}
	stats_add(&d->memory, (uint64_t)more);
	now = stats_read(&d->memory);
	if (now > stats_read(&d->peak))
		atomic_store_explicit(&d->peak, now, memory_order_relaxed);
	if (a->has_quota)
		usage_memory(account_usage(a), (int)account_device_number(a, d), more);
}

void account_kept(struct account *a, const struct stats_device *d, uint64_t bytes)
{
	unsigned device = account_device_number(a, d);

	if (a->usage_kept[device] != bytes)
		usage_memory(account_usage(a), (int)device, (int64_t)(bytes - a->usage_kept[device]));
	a->usage_kept[device] = bytes;
}

/* The driver itself refuses what exceeds the whole device: it may have a more precise error code. */
CUresult account_room(struct account *a, uint64_t size)
{
	CUresult r = account_item_ready(a);

	if (r || !a->has_quota || size > a->stats->info[account_device_number(a, a->device)].memory)
		return r;
	return quota_room(a, a->device, account_occupied(a, size));
}

CUresult account_item_ready(struct account *a)
{
	if (!a->spare)
		a->spare = calloc(1, sizeof *a->spare);
	return a->spare ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

uint64_t account_occupied(const struct account *a, uint64_t size)
{
	uint64_t to = size <= 512u << 10 ? a->granule : 64u << 10;

	return size > UINT64_MAX - to ? UINT64_MAX : (size + to - 1) & -to;
}

/* Most kinds have a handle, which counts. */
static bool kind_is_object(enum account_kind kind)
{
	return kind == ACCOUNT_PLAIN || kind == ACCOUNT_OPENED || kind == ACCOUNT_MAPPING;
}

static struct account_item *item_find(struct account *a, enum account_kind kind, uint64_t key)
{
	return (struct account_item *)map_find(&a->items[kind], key);
}

static void item_drop(struct account *a, struct account_item *i)
{
	if (i->kind != ACCOUNT_MAPPING)
		account_hold(a, i->device, -(int64_t)i->size);
	if (i->pool)
		quota_pool_back(a, i->pool, i->size);
	if (!i->unlisted)
		map_remove(&a->items[i->kind], &i->node);
	if (kind_is_object(i->kind))
		account_objects(a, -1);
	free(i);
}

/* Another allocation has this item's key: the item was freed unseen, or it lives on because it is mapped. */
static void item_replaced(struct account *a, struct account_item *i)
{
	if (!i || i->kind != ACCOUNT_PHYSICAL || !i->mapped) {
		if (i)
			item_drop(a, i);
		return;
	}
	map_remove(&a->items[ACCOUNT_PHYSICAL], &i->node);
	i->held = 0;
	i->unlisted = true;
}

/* The caller has called account_item_ready(). */
static struct account_item *item_add(
	struct account *a, enum account_kind kind, uint64_t key, uint64_t size, struct stats_device *on)
{
	struct account_item *i = a->spare;

	a->spare = NULL;
	item_replaced(a, item_find(a, kind, key));
	*i = (struct account_item){
		.node.key = key, .kind = kind, .size = size, .context = a->context, .device = on, .held = 1};
	map_insert(&a->items[kind], &i->node);
	if (kind != ACCOUNT_MAPPING)
		account_hold(a, on, (int64_t)size);
	if (kind_is_object(kind))
		account_objects(a, 1);
	return i;
}

CUresult account_freed(struct account *a, CUresult r, enum account_kind kind, uint64_t key)
{
	struct account_item *i = r ? NULL : item_find(a, kind, key);

	if (i)
		item_drop(a, i);
	return r;
}

CUresult account_made(struct account *a, enum account_kind kind, uint64_t key, uint64_t size)
{
	bool rounded = kind == ACCOUNT_PLAIN || kind == ACCOUNT_ARRAY;

	item_add(a, kind, key, rounded ? account_occupied(a, size) : size, a->device);
	return CUDA_SUCCESS;
}

uint64_t account_times(uint64_t x, uint64_t y)
{
	uint64_t n;

	return __builtin_mul_overflow(x, y, &n) ? UINT64_MAX : n;
}

/* ---- Allocations by address ---- */

static CUresult mem_alloc(CUdeviceptr *p, size_t size)
{
	struct account *a = worker_account();
	CUresult r = account_room(a, size);

	if (!r)
		r = a->real.cuMemAlloc_v2(p, size);
	return r ? r : account_made(a, ACCOUNT_PLAIN, *p, size);
}

/* Only the driver knows the pitch, after it has allocated. */
static CUresult mem_alloc_pitch(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element)
{
	struct account *a = worker_account();
	CUresult r = account_room(a, account_times(width, height));

	if (!r)
		r = a->real.cuMemAllocPitch_v2(p, pitch, width, height, element);
	if (!r && (r = account_room(a, account_times(*pitch, height))))
		a->real.cuMemFree_v2(*p);
	return r ? r : account_made(a, ACCOUNT_PLAIN, *p, account_times(*pitch, height));
}

/* Managed memory may exceed the device: quota_room() directly. */
static CUresult mem_alloc_managed(CUdeviceptr *p, size_t size, unsigned flags)
{
	struct account *a = worker_account();
	CUresult r = account_item_ready(a);

	if (!r && a->has_quota)
		r = quota_room(a, a->device, account_occupied(a, size));
	if (!r)
		r = a->real.cuMemAllocManaged(p, size, flags);
	return r ? r : account_made(a, ACCOUNT_PLAIN, *p, size);
}

/* During capture an allocation becomes a node: its graph takes the memory when it is launched. */
static bool stream_captures(struct account *a, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return !a->real.cuStreamIsCapturing(stream, &status) && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult driver_alloc_async(struct account *a, CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
{
	return pool ? a->real.cuMemAllocFromPoolAsync(p, size, pool, stream) : a->real.cuMemAllocAsync(p, size, stream);
}

/* The pool that the memory came from: the stream may belong to another device. */
static struct quota_pool *pool_of_address(struct account *a, CUdeviceptr p)
{
	CUmemoryPool pool = NULL;

	if (a->real.cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p) || !pool)
		return NULL;
	return quota_pool(a, pool);
}

static CUresult alloc_async_with_quota(
	struct account *a, CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
{
	struct quota_pool *from = quota_pool(a, pool);
	CUresult r = from ? quota_pool_room(a, from, size) : account_room(a, size);
	struct account_item *i;

	if (!r)
		r = account_item_ready(a);
	if (!r)
		r = driver_alloc_async(a, p, size, pool, stream);
	if (r || !(from = pool_of_address(a, *p)))
		return r ? r : account_made(a, ACCOUNT_PLAIN, *p, size);
	if (!quota_pool_gave(a, from, size)) {
		a->real.cuMemFreeAsync(*p, stream);
		quota_pool_back(a, from, size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	i = item_add(a, ACCOUNT_PLAIN, *p, size, quota_pool_device(from));
	i->pool = from;
	return r;
}

static CUresult alloc_async_counted(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
{
	struct account *a = worker_account();
	bool captured = stream_captures(a, stream);
	CUresult r;

	if ((a->has_quota || quota_pool_on_host(a, pool)) && !captured)
		return alloc_async_with_quota(a, p, size, pool, stream);
	r = account_item_ready(a);
	if (!r)
		r = driver_alloc_async(a, p, size, pool, stream);
	return r || captured ? r : account_made(a, ACCOUNT_PLAIN, *p, size);
}

static CUresult mem_alloc_async(CUdeviceptr *p, size_t size, CUstream stream)
{
	return alloc_async_counted(p, size, NULL, stream);
}

static CUresult mem_alloc_from_pool(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
{
	if (!pool)
		return worker_account()->real.cuMemAllocFromPoolAsync(p, size, pool, stream);
	return alloc_async_counted(p, size, pool, stream);
}

static CUresult mem_free(CUdeviceptr p)
{
	struct account *a = worker_account();

	mirrors_freeing(worker_session, p);
	return account_freed(a, a->real.cuMemFree_v2(p), ACCOUNT_PLAIN, p);
}

static CUresult mem_free_async(CUdeviceptr p, CUstream stream)
{
	struct account *a = worker_account();

	mirrors_freeing(worker_session, p);
	return account_freed(a, a->real.cuMemFreeAsync(p, stream), ACCOUNT_PLAIN, p);
}

/* ---- Physical memory ---- */

static void physical_drop_unused(struct account *a, struct account_item *i)
{
	if (i && !i->held && !i->mapped)
		item_drop(a, i);
}

static CUresult physical_create(
	CUmemGenericAllocationHandle *h, size_t size, const CUmemAllocationProp *p, unsigned long long flags)
{
	struct account *a = worker_account();
	int on = p && p->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? p->location.id : -1;
	struct stats_device *d = on >= 0 && on < STATS_DEVICES ? &a->stats->device[on] : NULL; /* NULL: on the host */
	CUresult r = account_item_ready(a);

	if (!r && (!d || a->has_quota))
		r = quota_room(a, d, size);
	if (!r)
		r = a->real.cuMemCreate(h, size, p, flags);
	if (!r)
		item_add(a, ACCOUNT_PHYSICAL, *h, size, d);
	return r;
}

static CUresult physical_retain(CUmemGenericAllocationHandle *h, void *address)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuMemRetainAllocationHandle(h, address);
	struct account_item *i = r ? NULL : item_find(a, ACCOUNT_PHYSICAL, *h);

	if (i)
		i->held++;
	return r;
}

static CUresult physical_release(CUmemGenericAllocationHandle h)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuMemRelease(h);
	struct account_item *i = r ? NULL : item_find(a, ACCOUNT_PHYSICAL, h);

	if (i && i->held)
		i->held--;
	physical_drop_unused(a, i);
	return r;
}

static CUresult physical_map(
	CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle h, unsigned long long flags)
{
	struct account *a = worker_account();
	CUresult r = account_item_ready(a);
	struct account_item *physical, *i;

	if (!r)
		r = a->real.cuMemMap(p, size, offset, h, flags);
	if (r)
		return r;
	physical = item_find(a, ACCOUNT_PHYSICAL, h);
	i = item_add(a, ACCOUNT_MAPPING, p, size, a->device);
	i->physical = physical; /* NULL: imported memory */
	if (physical)
		physical->mapped++;
	return r;
}

/* One call may unmap several neighbouring mappings. */
static CUresult physical_unmap(CUdeviceptr p, size_t size)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuMemUnmap(p, size);
	struct map_node *n;

	while (!r && (n = map_above(&a->items[ACCOUNT_MAPPING], p)) && n->key < p + size) {
		struct account_item *i = (struct account_item *)n, *physical = i->physical;

		item_drop(a, i);
		if (physical)
			physical->mapped--;
		physical_drop_unused(a, physical);
	}
	return r;
}

/* ---- Contexts ---- */

static void context_ended(struct account *a, CUcontext context)
{
	struct map_node *n;

	for (int k = ACCOUNT_PLAIN; k <= ACCOUNT_LIMIT; k++)
		for (uint64_t from = 0; (n = map_above(&a->items[k], from));) {
			struct account_item *i = (struct account_item *)n;

			from = n->key + 1;
			if (i->context == context && !(i->pool && quota_pool_gone(i->pool)))
				item_drop(a, i);
		}
	if (a->has_quota)
		quota_graphs_settle(a);
	session_context_ended(worker_session, context);
}

static CUresult context_destroy(CUcontext context)
{
	struct account *a = worker_account();
	CUresult r;

	mirrors_context_ending(worker_session, context);
	r = a->real.cuCtxDestroy_v2(context);
	if (!r)
		context_ended(a, context);
	return r;
}

static CUresult primary_retain(CUcontext *context, CUdevice d)
{
	struct account *a = worker_account();
	CUresult r = a->real.cuDevicePrimaryCtxRetain(context, d);

	if (!r && d >= 0 && d < STATS_DEVICES) {
		a->primary[d] = *context;
		a->primary_retained[d]++;
	}
	return r;
}

static CUresult primary_release(CUdevice d)
{
	struct account *a = worker_account();
	bool known = d >= 0 && d < STATS_DEVICES;
	unsigned flags;
	int active = 1;
	CUresult r;

	if (known && a->primary_retained[d] == 1) /* the last one ends the context */
		mirrors_context_ending(worker_session, a->primary[d]);
	r = a->real.cuDevicePrimaryCtxRelease_v2(d);
	if (!r && known && a->primary_retained[d])
		a->primary_retained[d]--;
	if (!r && d >= 0 && d < STATS_DEVICES && !a->real.cuDevicePrimaryCtxGetState(d, &flags, &active) && !active)
		context_ended(a, a->primary[d]);
	return r;
}

static CUresult primary_reset(CUdevice d)
{
	struct account *a = worker_account();
	bool known = d >= 0 && d < STATS_DEVICES;
	CUresult r;

	if (known)
		mirrors_context_ending(worker_session, a->primary[d]);
	r = a->real.cuDevicePrimaryCtxReset_v2(d);
	if (!r && known)
		context_ended(a, a->primary[d]);
	return r;
}

/* ---- Copies ---- */

static CUresult copy_up(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
	struct account *a = worker_account();

	stats_add(&a->device->up, size);
	return a->real.cuMemcpyHtoDAsync_v2(to, from, size, stream);
}

static CUresult copy_down(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	struct account *a = worker_account();

	stats_add(&a->device->down, size);
	return a->real.cuMemcpyDtoHAsync_v2(to, from, size, stream);
}

static CUresult copy_block(const CUDA_MEMCPY3D *c, CUstream stream)
{
	struct account *a = worker_account();
	bool from_host = c && c->srcMemoryType == CU_MEMORYTYPE_HOST,
	     to_host = c && c->dstMemoryType == CU_MEMORYTYPE_HOST;

	if (from_host != to_host)
		stats_add(from_host ? &a->device->up : &a->device->down, c->WidthInBytes * c->Height * c->Depth);
	return a->real.cuMemcpy3DAsync_v2(c, stream);
}

struct account *account_create(struct cuda_ops *t, struct stats *s)
{
	struct account *a = calloc(1, sizeof *a);

	if (!a)
		return NULL;
	a->real = *t;
	a->stats = s;
	a->granule = ACCOUNT_GRANULE;
	a->device = &s->device[0];
	t->cuMemAlloc_v2 = mem_alloc;
	t->cuMemAllocPitch_v2 = mem_alloc_pitch;
	t->cuMemAllocManaged = mem_alloc_managed;
	t->cuMemAllocAsync = mem_alloc_async;
	t->cuMemAllocFromPoolAsync = mem_alloc_from_pool;
	t->cuMemFree_v2 = mem_free;
	t->cuMemFreeAsync = mem_free_async;
	t->cuMemCreate = physical_create;
	t->cuMemRetainAllocationHandle = physical_retain;
	t->cuMemRelease = physical_release;
	t->cuMemMap = physical_map;
	t->cuMemUnmap = physical_unmap;
	t->cuCtxDestroy_v2 = context_destroy;
	t->cuDevicePrimaryCtxRetain = primary_retain;
	t->cuDevicePrimaryCtxRelease_v2 = primary_release;
	t->cuDevicePrimaryCtxReset_v2 = primary_reset;
	t->cuMemcpyHtoDAsync_v2 = copy_up;
	t->cuMemcpyDtoHAsync_v2 = copy_down;
	t->cuMemcpy3DAsync_v2 = copy_block;
	account_arrays_wrap(t);
	account_host_wrap(t);
	quota_pools_wrap(t);
	variables_wrap(t);
	for (unsigned i = 0; i < STATS_DEVICES; i++)
		a->has_quota |= s->info[i].quota != 0;
	if (a->has_quota)
		quota_wrap(t);
	return a;
}
