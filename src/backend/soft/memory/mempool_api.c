/*
 * Entry points for memory pools: creating them, choosing a device's pool, attributes, access.
 */
#include "backend/soft/memory/mempool.h"

#include <string.h>

#include "backend/soft/core/device.h"

static struct pool *device_default_pool(const struct device *d)
{
	return pool_default((CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, d->ordinal}, CU_MEM_ALLOCATION_TYPE_PINNED);
}

struct pool *pool_current(struct device *d)
{
	pthread_mutex_lock(&soft.memory.pools.current_lock);
	struct pool *p = soft.memory.pools.current[d->ordinal];
	if (p)
		object_ref(p);
	pthread_mutex_unlock(&soft.memory.pools.current_lock);
	if (p)
		return p;
	p = device_default_pool(d);
	if (p)
		object_ref(p);
	return p;
}

/* Takes the reference to p. */
static void device_set_pool(struct device *d, struct pool *p)
{
	pthread_mutex_lock(&soft.memory.pools.current_lock);
	struct pool *old = soft.memory.pools.current[d->ordinal];
	soft.memory.pools.current[d->ordinal] = p;
	pthread_mutex_unlock(&soft.memory.pools.current_lock);
	object_put(old);
}

/* Return to the default pool if the device allocates from p. */
static void device_forget_pool(struct pool *p)
{
	bool was_current = false;

	pthread_mutex_lock(&soft.memory.pools.current_lock);
	if (soft.memory.pools.current[p->device->ordinal] == p) {
		soft.memory.pools.current[p->device->ordinal] = NULL;
		was_current = true;
	}
	pthread_mutex_unlock(&soft.memory.pools.current_lock);
	if (was_current)
		object_put(p);
}

/* ---- create, destroy ---- */

CUresult pool_enter(CUmemoryPool handle, struct pool **p)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*p = object_find(handle, KIND_POOL);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static struct device *location_device(const CUmemLocation *l)
{
	switch (l->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return device_find(l->id);
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return device_find(0);
	default:
		return NULL;
	}
}

static bool allocation_type_ok(CUmemAllocationType type)
{
	return type == CU_MEM_ALLOCATION_TYPE_PINNED || type == CU_MEM_ALLOCATION_TYPE_MANAGED;
}

CUresult soft_cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !props || !allocation_type_ok(props->allocType) || props->win32SecurityAttributes)
		return CUDA_ERROR_INVALID_VALUE;
	struct device *d = location_device(&props->location);
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || props->usage)
		return CUDA_ERROR_NOT_SUPPORTED;
	struct pool *p = pool_create(d, props, false);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = object_handle(CUmemoryPool, p);
	return CUDA_SUCCESS;
}

/* The blocks of a destroyed pool remain valid until they are freed. */
CUresult soft_cuMemPoolDestroy(CUmemoryPool handle)
{
	struct pool *p;
	CUresult r = pool_enter(handle, &p);

	if (r)
		return r;
	if (p->builtin || !object_close(p)) {
		r = CUDA_ERROR_INVALID_VALUE;
	} else {
		device_forget_pool(p);
		pthread_mutex_lock(&p->lock);
		p->threshold = 0;
		pool_trim(p, 0);
		pthread_mutex_unlock(&p->lock);
	}
	object_put(p);
	return r;
}

/* ---- which pool ---- */

CUresult soft_cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev)
{
	struct device *d;
	CUresult r = device_enter(dev, out, &d);
	struct pool *p = r ? NULL : device_default_pool(d);

	if (!p)
		return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
	*out = object_handle(CUmemoryPool, p);
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev)
{
	struct device *d;
	CUresult r = device_enter(dev, out, &d);
	struct pool *p = r ? NULL : pool_current(d);

	if (!p)
		return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
	*out = object_handle(CUmemoryPool, p);
	object_put(p);
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle)
{
	struct pool *p;
	CUresult r = pool_enter(handle, &p);

	if (r)
		return r;
	struct device *d = device_find(dev);
	if (!d)
		r = CUDA_ERROR_INVALID_DEVICE;
	else if (p->device != d || !pool_on_device(p) || p->imported)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r)
		object_put(p);
	else
		device_set_pool(d, p);
	return r;
}

static CUresult default_pool_find(CUmemLocation *location, CUmemAllocationType type, struct pool **p)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!location || !allocation_type_ok(type) || !location_device(location))
		return CUDA_ERROR_INVALID_VALUE;
	*p = pool_default(*location, type);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult soft_cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
	struct pool *p;
	CUresult r = out ? default_pool_find(location, type, &p) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*out = object_handle(CUmemoryPool, p);
	return r;
}

CUresult soft_cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
	CUresult r = soft_cuMemGetDefaultMemPool(out, location, type);

	if (!r && location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED)
		r = soft_cuDeviceGetMemPool(out, location->id);
	return r;
}

/* Only the pool that cuMemAllocAsync uses can be changed, that of a device. */
CUresult soft_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	struct pool *p;
	CUresult r = default_pool_find(location, type, &p);

	if (r)
		return r;
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_NOT_SUPPORTED;
	return soft_cuDeviceSetMemPool(location->id, pool);
}

/* ---- attributes ---- */

static CUresult pool_get_attribute(struct pool *p, CUmemPool_attribute attr, void *value)
{
	uint64_t number;

	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		memcpy(value, &p->reuse[attr - 1], sizeof(int));
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		number = p->threshold;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		number = p->reserved;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		number = p->reserved_high;
		break;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		number = p->used;
		break;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		number = p->used_high;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	memcpy(value, &number, sizeof number);
	return CUDA_SUCCESS;
}

/* A high-water mark can only be reset, by writing 0. */
static CUresult pool_set_attribute(struct pool *p, CUmemPool_attribute attr, const void *value)
{
	uint64_t number = 0;
	int on;

	if (attr >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
		attr <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES) {
		memcpy(&on, value, sizeof on);
		p->reuse[attr - 1] = on != 0;
		return CUDA_SUCCESS;
	}
	memcpy(&number, value, sizeof number);
	if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		p->threshold = number;
	else if (attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH && !number)
		p->reserved_high = p->reserved;
	else if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH && !number)
		p->used_high = p->used;
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attr, void *value)
{
	struct pool *p;
	CUresult r = value ? pool_enter(handle, &p) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	pthread_mutex_lock(&p->lock);
	r = pool_get_attribute(p, attr, value);
	pthread_mutex_unlock(&p->lock);
	object_put(p);
	return r;
}

CUresult soft_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attr, void *value)
{
	struct pool *p;
	CUresult r = value ? pool_enter(handle, &p) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	pthread_mutex_lock(&p->lock);
	r = pool_set_attribute(p, attr, value);
	pthread_mutex_unlock(&p->lock);
	object_put(p);
	return r;
}

CUresult soft_cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
	struct pool *p;
	CUresult r = pool_enter(handle, &p);

	if (r)
		return r;
	pthread_mutex_lock(&p->lock);
	pool_trim(p, keep);
	pthread_mutex_unlock(&p->lock);
	object_put(p);
	return CUDA_SUCCESS;
}

/* ---- access by other devices: all devices share host memory, so this is only bookkeeping ---- */

static CUresult pool_access_check(const struct pool *p, const CUmemAccessDesc *a)
{
	if (a->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!device_find(a->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	if (a->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
		return a->location.id == p->device->ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
	return a->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult soft_cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
	struct pool *p;
	CUresult r = map && count ? pool_enter(handle, &p) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	for (size_t i = 0; i < count && !r; i++)
		r = pool_access_check(p, &map[i]);
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < count && !r; i++) {
		uint64_t bit = 1ull << map[i].location.id;

		p->access = map[i].flags ? p->access | bit : p->access & ~bit;
	}
	pthread_mutex_unlock(&p->lock);
	object_put(p);
	return r;
}

CUresult soft_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *l)
{
	struct pool *p;
	CUresult r = flags && l ? pool_enter(handle, &p) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	bool device = l->type == CU_MEM_LOCATION_TYPE_DEVICE;
	if (!location_device(l)) {
		r = CUDA_ERROR_INVALID_VALUE;
	} else {
		pthread_mutex_lock(&p->lock);
		bool has = device ? p->access >> l->id & 1 || l->id == p->device->ordinal : !pool_on_device(p);
		pthread_mutex_unlock(&p->lock);
		*flags = has ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	}
	object_put(p);
	return r;
}
