/* IPC handles, and device memory that another process shares with them. */
#include "backend/soft/memory/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/soft/memory/range.h"
#include "backend/soft/memory/store.h"

#define MAGIC 0x49574147u

struct handle_data {
	uint32_t magic, kind;
	int32_t pid, fd;
	uint64_t dev, inode, offset, size;
	uint32_t rest[3], sum;
};

_Static_assert(sizeof(struct handle_data) == CU_IPC_HANDLE_SIZE, "CUDA defines the size of a handle");

/* FNV-1a.  Detects damaged handles, not forged ones. */
static uint32_t handle_checksum(const struct handle_data *h)
{
	const unsigned char *p = (const unsigned char *)h;
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < offsetof(struct handle_data, sum); i++)
		sum = (sum ^ p[i]) * 16777619u;
	return sum;
}

int ipc_handle(void *out, enum ipc_kind kind, uint64_t offset, uint64_t size)
{
	struct stat st;
	int fd = store_fd();

	if (fd < 0 || fstat(fd, &st))
		return -EBADF;
	struct handle_data h = {.magic = MAGIC,
		.kind = kind,
		.pid = getpid(),
		.fd = fd,
		.dev = st.st_dev,
		.inode = st.st_ino,
		.offset = offset,
		.size = size};
	h.sum = handle_checksum(&h);
	memcpy(out, &h, sizeof h);
	return 0;
}

/* Open the file that a handle names, if it exists and passes all checks.  A descriptor or -ESRCH. */
static int handle_open_file(const struct handle_data *h)
{
	char path[64];
	struct stat st;
	uint64_t length;
	int device;

	/* O_PATH first: opening a file of another kind must have no side effect. */
	snprintf(path, sizeof path, "/proc/%d/fd/%d", h->pid, h->fd);
	int probe = open(path, O_PATH | O_CLOEXEC);
	if (probe < 0)
		return -ESRCH;
	bool ok = !fstat(probe, &st) && S_ISREG(st.st_mode) && st.st_dev == h->dev && st.st_ino == h->inode &&
		  st.st_uid == geteuid();
	snprintf(path, sizeof path, "/proc/self/fd/%d", probe);
	int fd = ok ? open(path, O_RDWR | O_CLOEXEC) : -1;
	close(probe);
	if (fd < 0)
		return -ESRCH;
	if (store_check(fd, "memory", &device, &length) || h->size > length || h->offset > length - h->size) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}

int ipc_open(const void *handle, enum ipc_kind kind, struct ipc_place *place)
{
	struct handle_data h;

	memcpy(&h, handle, sizeof h);
	if (h.magic != MAGIC || h.kind != kind || h.sum != handle_checksum(&h) || h.pid <= 0 || h.fd < 0 || !h.size)
		return -EINVAL;
	if (h.pid == getpid())
		return -EDEADLK;
	int fd = handle_open_file(&h);
	if (fd < 0)
		return fd;
	*place = (struct ipc_place){fd, h.pid, h.inode, h.offset, h.size};
	return 0;
}

/* ---- memory ---- */

/* Memory of another process that cuIpcOpenMemHandle mapped. */
struct ipc_mapping {
	struct range range;
	struct list link;
	int pid;
	uint64_t inode, offset;
	unsigned opens;
	struct context *ctx;
	void *base;
	size_t size;
};

CUresult soft_cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr ptr)
{
	struct context *ctx;
	struct range r;
	uint64_t offset;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!out || !range_find(ptr, 1, &r) || r.kind != RANGE_DEVICE || r.freeing)
		return CUDA_ERROR_INVALID_VALUE;
	context_wait(ctx); /* device_memory_share may move the memory */
	if (device_memory_share(range_addr(&r), r.size, &offset) || ipc_handle(out, IPC_MEMORY, offset, r.size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

/* Called after cuIpcCloseMemHandle, or the end of the context, has removed the range. */
static void ipc_mapping_release(struct range *r)
{
	struct ipc_mapping *o = container_of(r, struct ipc_mapping, range);

	pthread_mutex_lock(&soft.memory.ipc.lock);
	list_remove(&o->link);
	pthread_mutex_unlock(&soft.memory.ipc.lock);
	munmap(o->base, o->size);
	free(o);
}

static struct ipc_mapping *ipc_mapping_find(const struct ipc_place *p, const struct context *ctx)
{
	list_each(it, &soft.memory.ipc.mappings)
	{
		struct ipc_mapping *o = container_of(it, struct ipc_mapping, link);

		if (o->pid == p->pid && o->inode == p->inode && o->offset == p->offset && o->ctx == ctx)
			return o;
	}
	return NULL;
}

/* Map memory of another process and enter its range; ipc.lock held.  NULL: failed. */
static struct ipc_mapping *ipc_mapping_create(const struct ipc_place *p, struct context *ctx)
{
	struct ipc_mapping *o = calloc(1, sizeof *o);
	uint64_t addr = o ? store_map(p->fd, p->offset, p->size, &o->base, &o->size) : 0;

	if (!addr) {
		free(o);
		return NULL;
	}
	o->pid = p->pid;
	o->inode = p->inode;
	o->offset = p->offset;
	o->opens = 1;
	o->ctx = ctx;
	o->range = (struct range){.size = p->size,
		.kind = RANGE_IPC,
		.device = ctx->device,
		.ctx = ctx,
		.sync_memops = true,
		.release = ipc_mapping_release};
	o->range.node.key = addr;
	if (range_insert(&o->range)) { /* the context has ended */
		munmap(o->base, o->size);
		free(o);
		return NULL;
	}
	list_append(&soft.memory.ipc.mappings, &o->link);
	return o;
}

CUresult soft_cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
{
	struct context *ctx;
	struct ipc_place p;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	int err = ipc_open(&handle, IPC_MEMORY, &p);
	if (err)
		return err == -EDEADLK ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&soft.memory.ipc.lock);
	struct ipc_mapping *o = ipc_mapping_find(&p, ctx);
	if (o)
		o->opens++;
	else
		o = ipc_mapping_create(&p, ctx);
	if (o)
		*out = range_addr(&o->range);
	pthread_mutex_unlock(&soft.memory.ipc.lock);
	close(p.fd);
	return o ? CUDA_SUCCESS : CUDA_ERROR_MAP_FAILED;
}

CUresult soft_cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
{
	return soft_cuIpcOpenMemHandle_v2(out, handle, flags);
}

CUresult soft_cuIpcCloseMemHandle(CUdeviceptr ptr)
{
	struct context *ctx;
	struct ipc_mapping *found = NULL;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	context_wait(ctx);
	pthread_mutex_lock(&soft.memory.ipc.lock);
	list_each(it, &soft.memory.ipc.mappings)
	{
		struct ipc_mapping *o = container_of(it, struct ipc_mapping, link);

		if (range_addr(&o->range) == ptr)
			found = o;
	}
	bool last = found && --found->opens == 0;
	pthread_mutex_unlock(&soft.memory.ipc.lock);
	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	struct range *removed = last ? range_remove(ptr, 1u << RANGE_IPC) : NULL;
	if (removed)
		removed->release(removed);
	return CUDA_SUCCESS;
}
