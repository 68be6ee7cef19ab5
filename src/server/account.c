#include "server/account.h"

#include <stdlib.h>
#include "util/map.h"

enum kind { PLAIN, ARRAY, PHYSICAL, MAPPING, KINDS };

struct item {
	struct map_node node; /* key: an address or a handle */
	enum kind kind;
	uint64_t size;
	CUcontext context;
	struct stats_device *device;
	unsigned held, mapped; /* physical memory: handles, mappings */
	struct item *physical; /* what a mapping maps */
};

static struct cuda_ops real;
static struct stats *stats;
static struct map items[KINDS];
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

static struct item *find(enum kind kind, uint64_t key)
{
	struct map_node *n = map_below(&items[kind], key);

	return n && n->key == key ? (struct item *)n : NULL;
}

/* Without memory for the item the allocation is not counted; its client has other worries then. */
static struct item *add(enum kind kind, uint64_t key, uint64_t size)
{
	struct item *i = find(kind, key) ? NULL : calloc(1, sizeof *i);
	uint64_t now;

	if (!i)
		return NULL;
	*i = (struct item){
		.node.key = key, .kind = kind, .size = size, .context = current, .device = device, .held = 1};
	map_insert(&items[kind], &i->node);
	if (kind == MAPPING)
		return i;
	stats_add(&device->memory, size);
	now = stats_read(&device->memory);
	if (now > stats_read(&device->peak))
		atomic_store_explicit(&device->peak, now, memory_order_relaxed);
	return i;
}

static void drop(struct item *i)
{
	if (i->kind != MAPPING)
		stats_add(&i->device->memory, -i->size);
	map_remove(&items[i->kind], &i->node);
	free(i);
}

static CUresult freed(CUresult r, enum kind kind, uint64_t key)
{
	struct item *i = r ? NULL : find(kind, key);

	if (i)
		drop(i);
	return r;
}

static CUresult made(enum kind kind, uint64_t key, uint64_t size)
{
	add(kind, key, size);
	return CUDA_SUCCESS;
}

/* ---- Addresses ---- */

static CUresult alloc(CUdeviceptr *p, size_t size)
{
	CUresult r = real.cuMemAlloc_v2(p, size);

	return r ? r : made(PLAIN, *p, size);
}

static CUresult alloc_pitch(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element)
{
	CUresult r = real.cuMemAllocPitch_v2(p, pitch, width, height, element);

	return r ? r : made(PLAIN, *p, *pitch * height);
}

static CUresult alloc_managed(CUdeviceptr *p, size_t size, unsigned flags)
{
	CUresult r = real.cuMemAllocManaged(p, size, flags);

	return r ? r : made(PLAIN, *p, size);
}

static CUresult alloc_async(CUdeviceptr *p, size_t size, CUstream stream)
{
	CUresult r = real.cuMemAllocAsync(p, size, stream);

	return r ? r : made(PLAIN, *p, size);
}

static CUresult alloc_pool(CUdeviceptr *p, size_t size, CUmemoryPool pool, CUstream stream)
{
	CUresult r = real.cuMemAllocFromPoolAsync(p, size, pool, stream);

	return r ? r : made(PLAIN, *p, size);
}

static CUresult free_(CUdeviceptr p)
{
	return freed(real.cuMemFree_v2(p), PLAIN, p);
}

static CUresult free_async(CUdeviceptr p, CUstream stream)
{
	return freed(real.cuMemFreeAsync(p, stream), PLAIN, p);
}

/* ---- Arrays ---- */

static unsigned format_bytes(CUarray_format f)
{
	switch (f) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	default:
		return 4;
	}
}

static uint64_t at_least_1(uint64_t n)
{
	return n ? n : 1;
}

static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return d->Width * at_least_1(d->Height) * at_least_1(d->Depth) * d->NumChannels * format_bytes(d->Format);
}

static CUresult array_create(CUarray *a, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUresult r = real.cuArrayCreate_v2(a, d);
	CUDA_ARRAY3D_DESCRIPTOR as3d = {
		.Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};

	return r ? r : made(ARRAY, (uintptr_t)*a, array_bytes(&as3d));
}

static CUresult array3d_create(CUarray *a, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	CUresult r = real.cuArray3DCreate_v2(a, d);

	return r ? r : made(ARRAY, (uintptr_t)*a, array_bytes(d));
}

/* Each level has half the extent of the one before, at least 1. */
static uint64_t mipmap_bytes(CUDA_ARRAY3D_DESCRIPTOR d, unsigned levels)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < levels && i < 64; i++) {
		bytes += array_bytes(&d);
		d.Width = at_least_1(d.Width / 2);
		d.Height /= 2;
		if (!(d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
			d.Depth /= 2;
	}
	return bytes;
}

static CUresult mipmap_create(CUmipmappedArray *a, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
	CUresult r = real.cuMipmappedArrayCreate(a, d, levels);

	return r ? r : made(ARRAY, (uintptr_t)*a, mipmap_bytes(*d, levels));
}

static CUresult array_destroy(CUarray a)
{
	return freed(real.cuArrayDestroy(a), ARRAY, (uintptr_t)a);
}

static CUresult mipmap_destroy(CUmipmappedArray a)
{
	return freed(real.cuMipmappedArrayDestroy(a), ARRAY, (uintptr_t)a);
}

/* ---- Physical memory ---- */

static void let_go(struct item *i)
{
	if (i && !i->held && !i->mapped)
		drop(i);
}

static CUresult create(CUmemGenericAllocationHandle *h, size_t size, const CUmemAllocationProp *p,
		       unsigned long long flags)
{
	CUresult r = real.cuMemCreate(h, size, p, flags);

	return r ? r : made(PHYSICAL, *h, size);
}

static CUresult retain(CUmemGenericAllocationHandle *h, void *address)
{
	CUresult r = real.cuMemRetainAllocationHandle(h, address);
	struct item *i = r ? NULL : find(PHYSICAL, *h);

	if (i)
		i->held++;
	return r;
}

static CUresult release(CUmemGenericAllocationHandle h)
{
	CUresult r = real.cuMemRelease(h);
	struct item *i = r ? NULL : find(PHYSICAL, h);

	if (i && i->held)
		i->held--;
	let_go(i);
	return r;
}

static CUresult map(CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle h,
		    unsigned long long flags)
{
	CUresult r = real.cuMemMap(p, size, offset, h, flags);
	struct item *physical = r ? NULL : find(PHYSICAL, h), *i = physical ? add(MAPPING, p, size) : NULL;

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

	while (!r && (n = map_above(&items[MAPPING], p)) && n->key < p + size) {
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

	for (int k = PLAIN; k <= ARRAY; k++) /* physical memory belongs to no context */
		for (uint64_t from = 0; (n = map_above(&items[k], from));) {
			struct item *i = (struct item *)n;

			from = n->key + 1;
			if (i->context == context)
				drop(i);
		}
}

static CUresult context_destroy(CUcontext context)
{
	CUresult r = real.cuCtxDestroy_v2(context);

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
	CUresult r = real.cuDevicePrimaryCtxReset_v2(d);

	if (!r && d >= 0 && d < STATS_DEVICES)
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
	uint64_t size = c->WidthInBytes * c->Height * c->Depth;
	bool from_host = c->srcMemoryType == CU_MEMORYTYPE_HOST, to_host = c->dstMemoryType == CU_MEMORYTYPE_HOST;

	if (from_host != to_host)
		stats_add(from_host ? &device->up : &device->down, size);
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
	t->cuArrayCreate_v2 = array_create;
	t->cuArray3DCreate_v2 = array3d_create;
	t->cuArrayDestroy = array_destroy;
	t->cuMipmappedArrayCreate = mipmap_create;
	t->cuMipmappedArrayDestroy = mipmap_destroy;
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
}
