/* IPC handles, and device memory that another process shares with them. */
#include "backend/soft/memory/ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/soft/backend.h"
#include "backend/soft/memory/range.h"
#include "backend/soft/memory/store.h"

#define MAGIC       0x32574147u
#define SECRET_SIZE 16

struct handle_data {
	uint32_t magic, kind;
	int32_t pid, fd; /* of the export table */
	uint64_t dev, inode, record, zero;
	unsigned char secret[SECRET_SIZE];
};

_Static_assert(sizeof(struct handle_data) == CU_IPC_HANDLE_SIZE, "CUDA defines the size of a handle");

/* An entry of the export table; all zeros: unused. */
struct export_record {
	unsigned char secret[SECRET_SIZE];
	uint64_t offset, size; /* in the store */
	uint64_t store_inode;
	int32_t store_fd, pid;
	uint32_t kind, zero;
};

/* ---- exporting ---- */

/* Create the export table if this process has none yet; ipc.lock held.  0 or -errno. */
static int export_table_create(void)
{
	struct stat st;

	if (soft.memory.ipc.table_fd >= 0)
		return 0;
	int fd = store_create("exports", 0, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		close(fd);
		return -EBADF;
	}
	soft.memory.ipc.table_fd = fd;
	soft.memory.ipc.table_dev = st.st_dev;
	soft.memory.ipc.table_inode = st.st_ino;
	return 0;
}

static int export_record_write(uint64_t record, const struct export_record *r)
{
	ssize_t n = pwrite(soft.memory.ipc.table_fd, r, sizeof *r, (off_t)(record * sizeof *r));

	return n == sizeof *r ? 0 : -EIO;
}

/* Enter the record of an export and make its handle; ipc.lock held.  0 or -errno. */
static int export_enter(struct ipc_export *e, struct export_record *r)
{
	struct stat st;

	r->store_fd = store_fd();
	if (r->store_fd < 0 || fstat(r->store_fd, &st) || getrandom(r->secret, sizeof r->secret, 0) != sizeof r->secret)
		return -EIO;
	r->store_inode = st.st_ino;
	r->pid = getpid();
	struct handle_data h = {.magic = MAGIC,
		.kind = r->kind,
		.pid = r->pid,
		.fd = soft.memory.ipc.table_fd,
		.dev = soft.memory.ipc.table_dev,
		.inode = soft.memory.ipc.table_inode,
		.record = e->record};
	memcpy(h.secret, r->secret, sizeof h.secret);
	memcpy(e->handle, &h, sizeof h);
	return export_record_write(e->record, r);
}

/* An export with an unused record; ipc.lock held.  NULL: no memory. */
static struct ipc_export *export_take_unused(void)
{
	struct list *unused = &soft.memory.ipc.unused_exports;
	struct ipc_export *e;

	if (!list_empty(unused)) {
		e = container_of(unused->next, struct ipc_export, link);
		list_remove(&e->link);
	} else if ((e = calloc(1, sizeof *e))) {
		e->record = soft.memory.ipc.records++;
	}
	return e;
}

/* ---- through a broker ---- */

void soft_use_broker(const struct ipc_broker *broker)
{
	soft.memory.ipc.broker = broker;
}

static struct ipc_export *broker_export(enum ipc_kind kind, uint64_t offset, uint64_t size)
{
	struct ipc_export *e = calloc(1, sizeof *e);
	struct handle_data h = {.magic = MAGIC, .kind = kind, .fd = -1};

	if (e && getrandom(h.secret, sizeof h.secret, 0) == sizeof h.secret &&
		!soft.memory.ipc.broker->publish(h.secret, kind, store_fd(), offset, size)) {
		memcpy(e->handle, &h, sizeof h);
		return e;
	}
	free(e);
	return NULL;
}

static void broker_revoke(struct ipc_export *e)
{
	struct handle_data h;

	memcpy(&h, e->handle, sizeof h);
	soft.memory.ipc.broker->revoke(h.secret);
	explicit_bzero(e->handle, sizeof e->handle);
	free(e);
}

/* Store and place come from another process. */
static int broker_open(const struct handle_data *h, struct ipc_place *place)
{
	uint64_t offset, size, length;
	struct stat st;
	int device, fd = soft.memory.ipc.broker->open(h->secret, h->kind, &offset, &size);

	if (fd < 0)
		return fd == -EDEADLK ? fd : -ESRCH;
	if (store_check(fd, "memory", &device, &length) || fstat(fd, &st) || !size || size > length ||
		offset > length - size) {
		close(fd);
		return -ESRCH;
	}
	*place = (struct ipc_place){fd, 0, st.st_ino, offset, size};
	return 0;
}

bool ipc_process_alive(int pid)
{
	if (pid == getpid())
		return true;
	if (soft.memory.ipc.broker)
		return soft.memory.ipc.broker->alive(pid);
	return pid > 0 && !(kill(pid, 0) && errno == ESRCH);
}

/* ---- through the export table ---- */

struct ipc_export *ipc_export_create(enum ipc_kind kind, uint64_t offset, uint64_t size)
{
	struct export_record r = {.kind = kind, .offset = offset, .size = size};

	if (soft.memory.ipc.broker)
		return broker_export(kind, offset, size);
	pthread_mutex_lock(&soft.memory.ipc.lock);
	struct ipc_export *e = export_table_create() ? NULL : export_take_unused();
	if (e && export_enter(e, &r)) {
		list_append(&soft.memory.ipc.unused_exports, &e->link);
		e = NULL;
	}
	pthread_mutex_unlock(&soft.memory.ipc.lock);
	explicit_bzero(&r, sizeof r);
	return e;
}

/* A record that cannot be erased is not used again. */
void ipc_export_destroy(struct ipc_export *e)
{
	const struct export_record unused = {.kind = 0};

	if (!e)
		return;
	if (soft.memory.ipc.broker) {
		broker_revoke(e);
		return;
	}
	explicit_bzero(e->handle, sizeof e->handle);
	pthread_mutex_lock(&soft.memory.ipc.lock);
	if (export_record_write(e->record, &unused))
		free(e);
	else
		list_append(&soft.memory.ipc.unused_exports, &e->link);
	pthread_mutex_unlock(&soft.memory.ipc.lock);
}

/* ---- opening ---- */

/*
 * Open a descriptor of another process if it is a file of the given kind, with this inode, of this user.  A descriptor
 * or -ESRCH; *length is the length of the file.
 */
static int process_open_file(
	int pid, int fd, uint64_t dev, uint64_t inode, const char *kind, int flags, uint64_t *length)
{
	char path[64];
	struct stat st;
	int device;

	/* O_PATH first: opening a file of another kind must have no side effect. */
	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
	int probe = open(path, O_PATH | O_CLOEXEC);
	if (probe < 0)
		return -ESRCH;
	bool ok = !fstat(probe, &st) && S_ISREG(st.st_mode) && st.st_dev == dev && st.st_ino == inode &&
		  st.st_uid == geteuid();
	snprintf(path, sizeof path, "/proc/self/fd/%d", probe);
	int opened = ok ? open(path, flags | O_CLOEXEC) : -1;
	close(probe);
	if (opened < 0)
		return -ESRCH;
	if (store_check(opened, kind, &device, length)) {
		close(opened);
		return -ESRCH;
	}
	return opened;
}

/* The time does not depend on how many bytes are right. */
static bool secrets_equal(const unsigned char *a, const unsigned char *b)
{
	volatile unsigned char differences = 0;

	for (size_t i = 0; i < SECRET_SIZE; i++)
		differences |= a[i] ^ b[i];
	return !differences;
}

/*
 * Read the record that a handle names from an open table; false: unused, or the handle has another secret.  Two equal
 * reads: the exporting process did not change the record in between.  The path also accepts threads of the process; the
 * handle must name the process itself.
 */
static bool export_record_read(int fd, const struct handle_data *h, struct export_record *r)
{
	struct export_record again;
	uint64_t at;

	return !__builtin_mul_overflow(h->record, sizeof *r, &at) && at <= INT64_MAX &&
	       pread(fd, r, sizeof *r, (off_t)at) == sizeof *r &&
	       pread(fd, &again, sizeof again, (off_t)at) == sizeof again && !memcmp(r, &again, sizeof again) &&
	       r->kind == h->kind && r->pid == h->pid && secrets_equal(r->secret, h->secret);
}

/* Find the record of a handle.  0 or -ESRCH. */
static int handle_find_record(const struct handle_data *h, struct export_record *r)
{
	uint64_t length;
	int fd = process_open_file(h->pid, h->fd, h->dev, h->inode, "exports", O_RDONLY, &length);

	if (fd < 0)
		return fd;
	bool found = export_record_read(fd, h, r);
	close(fd);
	return found ? 0 : -ESRCH;
}

int ipc_open(const void *handle, enum ipc_kind kind, struct ipc_place *place)
{
	struct handle_data h;
	struct export_record r;
	uint64_t length;

	memcpy(&h, handle, sizeof h);
	if (h.magic != MAGIC || h.kind != kind || h.zero)
		return -EINVAL;
	if (soft.memory.ipc.broker)
		return h.pid || h.fd != -1 || h.dev || h.inode || h.record ? -EINVAL : broker_open(&h, place);
	if (h.pid <= 0 || h.fd < 0)
		return -EINVAL;
	int err = handle_find_record(&h, &r);
	if (err)
		return err;
	if (h.pid == getpid())
		return -EDEADLK;
	int fd = process_open_file(h.pid, r.store_fd, h.dev, r.store_inode, "memory", O_RDWR, &length);
	if (fd < 0)
		return fd;
	if (!r.size || r.size > length || r.offset > length - r.size) {
		close(fd);
		return -ESRCH;
	}
	*place = (struct ipc_place){fd, h.pid, r.store_inode, r.offset, r.size};
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

/* Argument and result of range_set_export. */
struct export_claim {
	unsigned long long id;
	struct ipc_export *export; /* NULL: the range has taken it */
	CUipcMemHandle *out;
	bool found;
};

/* Give the export to its range, unless the range has one already, and copy the handle. */
static void range_set_export(struct range *r, void *arg)
{
	struct export_claim *c = arg;

	if (r->id != c->id)
		return;
	if (!r->exported) {
		r->exported = c->export;
		c->export = NULL;
	}
	memcpy(c->out, r->exported->handle, sizeof *c->out);
	c->found = true;
}

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
	struct export_claim c = {.id = r.id, .out = out};
	if (device_memory_share(range_addr(&r), r.size, &offset) ||
		!(c.export = ipc_export_create(IPC_MEMORY, offset, r.size)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	range_change(range_addr(&r), range_set_export, &c);
	ipc_export_destroy(c.export);
	return c.found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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

		if (o->pid == p->pid && o->inode == p->inode && o->offset == p->offset && o->range.size == p->size &&
			o->ctx == ctx)
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
	if (removed) {
		context_wait(ctx); /* a graph launched meanwhile may have found the range */
		removed->release(removed);
	}
	return CUDA_SUCCESS;
}
