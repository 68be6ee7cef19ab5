/*
 * Physical memory (cuMemCreate): allocating it, and sharing it with other processes as a file descriptor.
 */
#include "backend/soft/memory/vmm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/soft/memory/mempool.h"
#include "backend/soft/memory/store.h"
#include "host/machine.h"

static void physical_release(void *object)
{
	struct physical *p = object;

	if (p->fd >= 0)
		close(p->fd);
	else
		store_free(p->offset, p->size);
	if (p->device)
		memory_uncharge(p->device, p->size);
	free(p);
}

struct physical *physical_create(
	const CUmemAllocationProp *prop, uint64_t size, int fd, uint64_t offset, struct device *charged)
{
	struct physical *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->prop = *prop;
	p->size = size;
	p->fd = fd;
	p->offset = offset;
	p->names = 1;
	if (object_init(&p->object, KIND_PHYSICAL, NULL, physical_release)) {
		free(p);
		return NULL;
	}
	p->device = charged;
	return p;
}

CUresult physical_find(CUmemGenericAllocationHandle handle, struct physical **p)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*p = object_find64(handle, KIND_PHYSICAL);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* *charged is the device that the memory counts against; NULL: host memory. */
static CUresult physical_check_prop(const CUmemAllocationProp *prop, struct device **charged)
{
	*charged = NULL;
	if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->win32HandleMetaData)
		return CUDA_ERROR_INVALID_VALUE;
	switch (prop->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*charged = device_find(prop->location.id);
		if (!*charged)
			return CUDA_ERROR_INVALID_DEVICE;
		break;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || prop->allocFlags.usage)
		return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_SUCCESS;
}

/* Allocate the memory: in the store, or in a file of its own if it may be exported. */
static int physical_back(const CUmemAllocationProp *prop, uint64_t size, int *fd, uint64_t *offset)
{
	*fd = -1;
	*offset = 0;
	if (!prop->requestedHandleTypes)
		return store_alloc(size, offset);
	*fd = store_create("physical",
		prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? soft.devices[prop->location.id].physical : -1,
		size);
	return *fd < 0 ? *fd : 0;
}

static CUresult physical_alloc(struct physical **p, size_t size, const CUmemAllocationProp *prop, struct device *d)
{
	CUmemAllocationProp granted = *prop;
	uint64_t offset;
	int fd;

	granted.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
	granted.allocFlags.gpuDirectRDMACapable = 0;
	if (d ? !memory_charge(d, size) && !(pools_reclaim(d) && memory_charge(d, size)) : size > machine_memory())
		return CUDA_ERROR_OUT_OF_MEMORY;
	bool backed = !physical_back(prop, size, &fd, &offset);
	*p = backed ? physical_create(&granted, size, fd, offset, d) : NULL;
	if (*p)
		return CUDA_SUCCESS;
	if (backed && fd >= 0)
		close(fd);
	else if (backed)
		store_free(offset, size);
	if (d)
		memory_uncharge(d, size);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult soft_cuMemCreate(
	CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct physical *p;
	struct device *d;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !prop || flags || !size || size % VMM_GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = physical_check_prop(prop, &d);
	if (!r)
		r = physical_alloc(&p, size, prop, d);
	if (!r)
		*out = p->object.handle;
	return r;
}

CUresult soft_cuMemGetAllocationGranularity(
	size_t *granularity, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!granularity || !prop ||
		(option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = VMM_GRANULARITY;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	struct physical *p;
	CUresult r = prop ? physical_find(handle, &p) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*prop = p->prop;
	object_put(p);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemExportToShareableHandle(
	void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags)
{
	struct physical *p;
	CUresult r = out && !flags ? physical_find(handle, &p) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	int fd = -1;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || p->fd < 0)
		r = CUDA_ERROR_INVALID_VALUE;
	else if ((fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 3)) < 0)
		r = CUDA_ERROR_OPERATING_SYSTEM;
	if (!r)
		*(int *)out = fd;
	object_put(p);
	return r;
}

CUresult soft_cuMemImportFromShareableHandle(
	CUmemGenericAllocationHandle *out, void *os_handle, CUmemAllocationHandleType type)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
	int fd = (int)(intptr_t)os_handle, device;
	uint64_t size;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	int err = store_check(fd, "physical", &device, &size);
	if (err || !size || size % VMM_GRANULARITY)
		return err == -EBADF ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_INVALID_VALUE;
	prop.requestedHandleTypes = type;
	prop.location.type = device < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
	for (int i = 0; i < soft.ndevices; i++)
		if (soft.devices[i].physical == device)
			prop.location.id = i;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	struct physical *p = physical_create(&prop, size, own, 0, NULL);
	if (!p) {
		close(own);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = p->object.handle;
	return CUDA_SUCCESS;
}
