/*
 * Pools in two processes.  A pool made for sharing is one file; the other process maps the pieces of it that
 * it is told of.
 *
 * Trust: descriptor and pointer data come from elsewhere, and may be forged.  The file is checked by store.c;
 * offset and size are held against its length.
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

#define MAGIC 0x504f4f4c59415747ull /* what CUmemPoolPtrExportData starts with */
#define PAGE  4096u

struct exported {
	uint64_t magic, inode, offset, size;
	unsigned char rest[32];
};

_Static_assert(sizeof(struct exported) == sizeof(CUmemPoolPtrExportData), "CUDA says how large it is");

struct imported {
	struct range range;
	struct pool *pool; /* referenced */
	void *base;
	size_t size;
};

static uint64_t inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_ino;
}

static CUresult find(CUmemoryPool handle, struct pool **p)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*p = object_find(handle, KIND_POOL);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuMemPoolExportToShareableHandle(
	void *out, CUmemoryPool handle, CUmemAllocationHandleType type, unsigned long long flags)
{
	struct pool *p;
	CUresult r = out && !flags ? find(handle, &p) : CUDA_ERROR_INVALID_VALUE;

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

static struct device *device_of(int physical)
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
	struct device *d = device_of(physical);
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
	struct exported x = {.magic = MAGIC, .inode = inode(p->fd), .offset = ptr - p->base, .size = r.size};
	object_put(p);
	memcpy(out, &x, sizeof x);
	return CUDA_SUCCESS;
}

static void release_import(struct range *r)
{
	struct imported *i = container_of(r, struct imported, range);

	munmap(i->base, i->size);
	object_put(i->pool);
	free(i);
}

static CUresult map_import(struct pool *p, const struct exported *x, struct context *ctx, CUdeviceptr *out)
{
	uint64_t from = x->offset & -(uint64_t)PAGE, to = (x->offset + x->size + PAGE - 1) & -(uint64_t)PAGE;
	struct imported *i = calloc(1, sizeof *i);

	if (!i)
		return CUDA_ERROR_OUT_OF_MEMORY;
	i->size = to - from;
	i->base = mmap(NULL, i->size, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, (off_t)from);
	if (i->base == MAP_FAILED) {
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
		.release = release_import};
	i->range.node.key = (uintptr_t)i->base + (x->offset - from);
	*out = i->range.node.key;
	range_insert(&i->range);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool handle, CUmemPoolPtrExportData *data)
{
	struct context *ctx;
	struct exported x;
	struct pool *p;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	r = out && data ? find(handle, &p) : CUDA_ERROR_INVALID_VALUE;
	if (r)
		return r;
	memcpy(&x, data, sizeof x);
	if (!p->imported || x.magic != MAGIC || x.inode != inode(p->fd) || !x.size || x.size > p->cap ||
		x.offset > p->cap - x.size)
		r = CUDA_ERROR_INVALID_VALUE;
	else
		r = map_import(p, &x, ctx, out);
	object_put(p);
	return r;
}
