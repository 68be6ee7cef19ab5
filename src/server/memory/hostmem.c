/*
 * Host memory that a client shares with its worker: the client's memfd, mapped here at the same address and
 * registered with the driver, so that copies and kernels use it as they would in one process.
 *
 * The client chooses addresses: inside a window that was free in both processes when it connected or, for memory that
 * it registers, wherever the worker has nothing mapped.  No mapping of the worker is ever replaced.  The memfd must
 * be sealed against shrinking, or touching the memory could kill the worker.
 *
 * Addresses that a client has used stay empty after it takes its memory back: a copy or a graph that still names them
 * must not find memory of the worker there.
 *
 * Over TCP the memory is the worker's own, and the client has a copy (mirror.h).
 */
#include "server/memory/hostmem.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "server/session/message.h"
#include "transport/memory.h"

#define FD_WAIT_MS 2000

struct host_range {
	struct map_node node; /* key: the address */
	uint64_t size;
	bool reserved; /* inside the window, which stays reserved for the client */
};

static struct host_range *host_range_holding(struct session *s, uint64_t address)
{
	return map_holding(&s->host, address, struct host_range, node, size);
}

bool hostmem_holds(struct session *s, uint64_t address, uint64_t size)
{
	struct host_range *r = host_range_holding(s, address);

	return r && size <= r->size - (address - r->node.key);
}

/* Whole pages in user space. */
static bool address_range_valid(const struct wire_host *a)
{
	return a->size && a->address && a->address % 4096 == 0 && a->size % 4096 == 0 && a->address < 1ull << 47 &&
	       a->size <= (1ull << 47) - a->address;
}

void serve_window(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_host a;
	void *p;

	(void)ops;
	m->error = CUDA_SUCCESS;
	msg_args(m, &a, sizeof a);
	if (msg_bad(m))
		return;
	if (m->session->window || !address_range_valid(&a) || a.size > 1ull << 44) {
		msg_result(m, CUDA_ERROR_INVALID_VALUE);
		return;
	}
	p = mmap((void *)(uintptr_t)a.address, a.size, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (p != (void *)(uintptr_t)a.address) {
		if (p != MAP_FAILED)
			munmap(p, a.size);
		msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	m->session->window = a.address;
	m->session->window_size = a.size;
}

static bool range_in_window(const struct session *s, const struct wire_host *a)
{
	return s->window && a->size && a->address % 4096 == 0 && a->size % 4096 == 0 && a->address >= s->window &&
	       a->size <= s->window_size && a->address - s->window <= s->window_size - a->size;
}

static bool host_range_overlaps(struct session *s, const struct wire_host *a)
{
	struct map_node *above = map_above(&s->host, a->address);

	return host_range_holding(s, a->address) || (above && above->key - a->address < a->size);
}

/* ---- Vacated addresses ---- */

static void vacated_add(struct session *s, uint64_t from, uint64_t to)
{
	struct host_range *r = from < to ? calloc(1, sizeof *r) : NULL;

	if (!r)
		return; /* the addresses stay empty all the same, but the client cannot use them again */
	r->node.key = from;
	r->size = to - from;
	map_insert(&s->vacated, &r->node);
}

/* A vacated range that overlaps [from, to). */
static struct host_range *vacated_in(struct session *s, uint64_t from, uint64_t to)
{
	struct host_range *r = map_holding(&s->vacated, from, struct host_range, node, size);

	if (!r)
		r = (struct host_range *)map_above(&s->vacated, from);
	return r && r->node.key < to ? r : NULL;
}

/* The client uses vacated addresses again. */
static void vacated_reclaim(struct session *s, const struct wire_host *a)
{
	uint64_t from = a->address, to = a->address + a->size;
	struct host_range *r;

	while ((r = vacated_in(s, from, to))) {
		uint64_t start = r->node.key, end = start + r->size;
		uint64_t first = start > from ? start : from, last = end < to ? end : to;
		map_remove(&s->vacated, &r->node);
		free(r);
		munmap((void *)(uintptr_t)first, last - first);
		vacated_add(s, start, first);
		vacated_add(s, last, end);
	}
}

static void host_range_vacate(struct session *s, uint64_t address, uint64_t size, bool reserved)
{
	mmap((void *)(uintptr_t)address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		0);
	if (!reserved)
		vacated_add(s, address, address + size);
}

/* ---- Mapping ---- */

static CUresult host_memory_map(struct session *s, const struct wire_host *a, bool reserved, int fd)
{
	unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
	int how = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED) |
		  (reserved ? MAP_FIXED : MAP_FIXED_NOREPLACE);
	const struct cuda_ops *ops = s->ops;
	CUdeviceptr seen = 0;
	CUresult r;
	void *p;

	if (!reserved)
		vacated_reclaim(s, a);
	p = mmap((void *)(uintptr_t)a->address, a->size, PROT_READ | PROT_WRITE, how, fd, 0);
	if (p == MAP_FAILED)
		return reserved ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_SUPPORTED;
	if (p != (void *)(uintptr_t)a->address) { /* a kernel without MAP_FIXED_NOREPLACE takes the address as a hint */
		munmap(p, a->size);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	r = ops->cuMemHostRegister_v2(p, a->size, flags);
	if (!r && (ops->cuMemHostGetDevicePointer_v2(&seen, p, 0) || seen != a->address)) {
		ops->cuMemHostUnregister(p);
		r = CUDA_ERROR_NOT_SUPPORTED; /* the device maps host memory at another address */
	}
	if (r)
		host_range_vacate(s, a->address, a->size, reserved);
	return r;
}

void serve_host_map(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_host a;
	struct host_range *r;

	(void)ops;
	msg_args(m, &a, sizeof a);
	if (msg_bad(m))
		return;
	int fd = a.id ? link_recv_fd(m->session->link, a.id, FD_WAIT_MS) : -1;
	bool reserved = range_in_window(m->session, &a);
	r = calloc(1, sizeof *r);
	if (!r || !address_range_valid(&a) || host_range_overlaps(m->session, &a) ||
		(a.id ? fd < 0 || memory_holds(fd, a.size) : !reserved))
		msg_result(m, CUDA_ERROR_INVALID_VALUE);
	else
		msg_result(m, host_memory_map(m->session, &a, reserved, fd));
	if (fd >= 0)
		close(fd);
	if (m->result) {
		free(r);
		return;
	}
	r->node.key = a.address;
	r->size = a.size;
	r->reserved = reserved;
	map_insert(&m->session->host, &r->node);
}

void serve_host_unmap(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_host a;

	msg_args(m, &a, sizeof a);
	if (m->error == CUDA_ERROR_CONTEXT_IS_DESTROYED)
		m->error = CUDA_SUCCESS; /* the registration ended with the context, the mapping did not */
	if (msg_bad(m))
		return;
	struct host_range *r = host_range_holding(m->session, a.address);
	if (!r || r->node.key != a.address) {
		msg_result(m, CUDA_ERROR_INVALID_VALUE);
		return;
	}
	map_remove(&m->session->host, &r->node);
	mirrors_unmapped(m->session, a.address, r->size);
	msg_result(m, ops->cuMemHostUnregister((void *)(uintptr_t)a.address));
	host_range_vacate(m->session, a.address, r->size, r->reserved);
	free(r);
}
