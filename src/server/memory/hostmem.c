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
 * Over TCP the memory is the worker's own, and the client has a copy (mirror.h); registered memory lies outside the window
 * there, too.
 *
 * All of this memory counts as host memory of the client: the kernel charges a memfd to the process that touches it
 * first, which may be the worker.
 */
#include "server/memory/hostmem.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "server/quota/account.h"
#include "server/session/live_ranges.h"
#include "server/session/message.h"
#include "transport/memory.h"

#define FD_WAIT_MS    2000
#define HOST_REFUSALS 16 /* a refusal shows that the worker has memory there: after so many, all requests are refused */

struct host_range {
	struct map_node node; /* key: the address */
	uint64_t size;
	bool reserved;     /* inside the window, which stays reserved for the client */
	CUcontext context; /* whose end ends the registration with the driver */
	bool pageable;     /* it has ended */
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

bool hostmem_pageable(struct session *s, uint64_t address)
{
	struct host_range *r = s->host_pageable ? host_range_holding(s, address) : NULL;

	return r && r->pageable;
}

void hostmem_context_ended(struct session *s, CUcontext context)
{
	struct host_range *r;

	for (uint64_t at = 0; (r = (struct host_range *)map_above(&s->host, at)); at = r->node.key + 1)
		if (r->context == context && !r->pageable) {
			r->pageable = true;
			s->host_pageable++;
		}
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

/* Takes [from, to) out of the vacated ranges; the addresses stay mapped. */
static void vacated_remove(struct session *s, uint64_t from, uint64_t to)
{
	struct host_range *r;

	while ((r = vacated_in(s, from, to))) {
		uint64_t start = r->node.key, end = start + r->size;

		map_remove(&s->vacated, &r->node);
		free(r);
		vacated_add(s, start, from);
		vacated_add(s, to, end);
	}
}

static bool gap_reserve(uint64_t from, uint64_t to)
{
	void *p = from < to ? mmap((void *)(uintptr_t)from, to - from, PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0)
			    : (void *)(uintptr_t)from;

	if (p != MAP_FAILED && p != (void *)(uintptr_t)from) { /* an old kernel takes the address as a hint */
		munmap(p, to - from);
		p = MAP_FAILED;
	}
	return p != MAP_FAILED;
}

/* Unmaps the gaps between vacated ranges in [from, to): gap_reserve has mapped them. */
static void gaps_release(struct session *s, uint64_t from, uint64_t to)
{
	for (struct host_range *r; from < to; from = r ? r->node.key + r->size : to) {
		r = vacated_in(s, from, to);
		uint64_t end = !r ? to : r->node.key > from ? r->node.key : from;
		if (from < end)
			munmap((void *)(uintptr_t)from, end - from);
	}
}

/*
 * Makes all of the range empty memory of this session: vacated addresses are already, the gaps between them are
 * reserved.  False: a gap holds memory of the worker; then nothing has changed.  No address is unmapped in between,
 * so that no other thread's memory can land there.
 */
static bool range_reserve(struct session *s, const struct wire_host *a)
{
	uint64_t from = a->address, to = a->address + a->size;

	for (struct host_range *r; from < to; from = r ? r->node.key + r->size : to) {
		r = vacated_in(s, from, to);
		uint64_t end = !r ? to : r->node.key > from ? r->node.key : from;
		if (!gap_reserve(from, end)) {
			gaps_release(s, a->address, from);
			return false;
		}
	}
	vacated_remove(s, a->address, to);
	return true;
}

/*
 * An address that the client may still name must not become the worker's own memory: better no worker than that.  Without
 * memory for a new mapping, the old one stays, inaccessible.
 */
static void host_range_vacate(struct session *s, uint64_t address, uint64_t size, bool reserved)
{
	void *p = (void *)(uintptr_t)address;

	if (mmap(p, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED &&
		mprotect(p, size, PROT_NONE))
		abort();
	if (!reserved)
		vacated_add(s, address, address + size);
}

/* ---- Mapping ---- */

static CUresult host_memory_map(struct session *s, const struct wire_host *a, bool reserved, int fd)
{
	unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
	int how = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED) | MAP_FIXED;
	const struct cuda_ops *ops = s->ops;
	CUdeviceptr seen = 0;
	CUresult r;
	void *p;

	if (!reserved && (s->host_refusals >= HOST_REFUSALS || !range_reserve(s, a))) {
		s->host_refusals++;
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	p = mmap((void *)(uintptr_t)a->address, a->size, PROT_READ | PROT_WRITE, how, fd, 0);
	if (p == MAP_FAILED) {
		host_range_vacate(s, a->address, a->size, reserved);
		return CUDA_ERROR_OUT_OF_MEMORY;
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

static CUresult host_memory_take(struct session *s, const struct wire_host *a, bool reserved, int fd)
{
	CUresult r = account_host_take(s->account, a->size);

	if (r)
		return r;
	r = host_memory_map(s, a, reserved, fd);
	if (r)
		account_host_give(s->account, a->size);
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
	if (!r || fd == -EMFILE)
		msg_result(m, r ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_OUT_OF_MEMORY);
	else if (!address_range_valid(&a) || host_range_overlaps(m->session, &a) ||
		 (a.id ? fd < 0 || memory_holds(fd, a.size) : !reserved && link_peer(m->session->link)->local))
		msg_result(m, CUDA_ERROR_INVALID_VALUE);
	else
		msg_result(m, host_memory_take(m->session, &a, reserved, fd));
	if (fd >= 0)
		close(fd);
	if (m->result) {
		free(r);
		return;
	}
	account_objects(m->session->account, 1);
	r->node.key = a.address;
	r->size = a.size;
	r->reserved = reserved;
	r->context = m->session->context;
	map_insert(&m->session->host, &r->node);
	live_host_add(a.address, a.size);
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
	m->session->host_pageable -= r->pageable;
	mirrors_unmapped(m->session, a.address, r->size);
	msg_result(m, ops->cuMemHostUnregister((void *)(uintptr_t)a.address));
	live_host_remove(a.address);
	host_range_vacate(m->session, a.address, r->size, r->reserved);
	account_host_give(m->session->account, r->size);
	account_objects(m->session->account, -1);
	free(r);
}
