/*
 * Memory pools shared between two processes.  A shareable pool is one file; the importing process maps the parts of the
 * file that it gets pointers to.
 *
 * Trust: descriptor and pointer data come from another process and may be forged.  store.c checks the file; offset and
 * size are compared with its length.
 */
#include "backend/soft/memory/mempool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/soft/memory/store.h"

#define MAGIC 0x504f4f4c59415747ull /* start of CUmemPoolPtrExportData */

/* Contents of CUmemPoolPtrExportData. */
struct pool_pointer {
	uint64_t magic, inode, offset, size;
	unsigned char rest[32];
};

_Static_assert(sizeof(struct pool_pointer) == sizeof(CUmemPoolPtrExportData), "CUDA defines the size of the data");

/* A mapped part of an imported pool. */
struct imported_range {
	struct range range;
	struct pool *pool; /* referenced */
	void *base;
	size_t size;
};

static uint64_t file_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_ino;
}

CUresult soft_cuMemPoolExportToShareableHandle(
	void *out, CUmemoryPool handle, CUmemAllocationHandleType type, unsigned long long flags)
{
	struct pool *p;
	CUresult r = out && !flags ? pool_enter(handle, &p) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	int fd = -1;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || p->fd < 0 || p->imported)
		r = CUDA_ERROR_INVALID_VALUE;
	else if ((fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 3)) < 0)
		r = CUDA_ERROR_OPERATING_SYSTEM;
	if (!r)
		*(int *)out = fd;
	object_put(p);
	return r;
}

/* The device with this physical number; if it is not visible, the first device. */
static struct device *device_find_physical(int physical)
{
	for (int i = 0; i < soft.ndevices; i++)
		if (soft.devices[i].physical == physical)
			return &soft.devices[i];
	return device_find(0);
}

CUresult soft_cuMemPoolImportFromShareableHandle(
	CUmemoryPool *out, void *handle, CUmemAllocationHandleType type, unsigned long long flags)
{
	int fd = (int)(intptr_t)handle, physical;
	uint64_t size;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	int err = store_check(fd, "pool", &physical, &size);
	if (err)
		return err == -EBADF ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_INVALID_VALUE;
	struct device *d = device_find_physical(physical);
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, d ? d->ordinal : 0}};
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct pool *p = own < 0 || !d ? NULL : pool_create(d, &props, false);
	if (!p) {
		if (own >= 0)
			close(own);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->imported = true;
	p->fd = own;
	p->cap = size;
	*out = object_handle(CUmemoryPool, p);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr ptr)
{
	struct range r;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !range_find(ptr, 1, &r) || r.kind != RANGE_POOL || range_addr(&r) != ptr || !r.shareable)
		return CUDA_ERROR_INVALID_VALUE;
	struct pool *p = object_find64(r.handle, KIND_POOL);
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	struct pool_pointer x = {.magic = MAGIC, .inode = file_inode(p->fd), .offset = ptr - p->base, .size = r.size};
	object_put(p);
	memcpy(out, &x, sizeof x);
	return CUDA_SUCCESS;
}

static void imported_range_release(struct range *r)
{
	struct imported_range *i = container_of(r, struct imported_range, range);

	munmap(i->base, i->size);
	object_put(i->pool);
	free(i);
}

static CUresult imported_range_map(struct pool *p, const struct pool_pointer *x, struct context *ctx, CUdeviceptr *out)
{
	struct imported_range *i = calloc(1, sizeof *i);

	if (!i)
		return CUDA_ERROR_OUT_OF_MEMORY;
	uint64_t addr = store_map(p->fd, x->offset, x->size, &i->base, &i->size);
	if (!addr) {
		free(i);
		return CUDA_ERROR_MAP_FAILED;
	}
	object_ref(p);
	i->pool = p;
	i->range = (struct range){.size = x->size,
		.kind = RANGE_POOL,
		.device = p->device,
		.ctx = ctx,
		.sync_memops = true,
		.handle = p->object.handle,
		.release = imported_range_release};
	i->range.node.key = addr;
	if (range_insert(&i->range)) {
		imported_range_release(&i->range);
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	}
	*out = addr;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool handle, CUmemPoolPtrExportData *data)
{
	struct context *ctx;
	struct pool_pointer x;
	struct pool *p;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	r = out && data ? pool_enter(handle, &p) : CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	memcpy(&x, data, sizeof x);
	if (!p->imported || x.magic != MAGIC || x.inode != file_inode(p->fd) || !x.size || x.size > p->cap ||
		x.offset > p->cap - x.size)
		r = CUDA_ERROR_INVALID_VALUE;
	else
		r = imported_range_map(p, &x, ctx, out);
	object_put(p);
	return r;
}
