/*
 * Host memory that a client shares with us: the client's own memfd, mapped here at the same address and
 * made known to the device, so that copies and kernels use it as they would in one process.
 *
 * The client decides addresses: inside a window that was free in both processes when it connected, or, for
 * memory that it registers, wherever nothing of ours is.  Nothing here is ever replaced, and the memory must be
 * sealed against shrinking, or touching it could kill us.
 *
 * Addresses that a client has used once stay empty when it takes its memory back: a copy or a graph that still
 * names them must not find memory of our own there.
 *
 * Over TCP the memory is our own, and the client has a copy (mirror.c).
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "server/memory/hostmem.h"
#include "server/copy/mirror.h"
#include "server/session/message.h"
#include "transport/memory.h"

#define FD_WAIT_MS 2000

struct host_range {
	struct map_node node; /* key: the address */
	uint64_t size;
	bool reserved; /* inside the window, where all addresses are kept */
};

static struct host_range *holder(struct session *s, uint64_t address)
{
	return map_holding(&s->host, address, struct host_range, node, size);
}

bool hostmem_holds(struct session *s, uint64_t address, uint64_t size)
{
	struct host_range *r = holder(s, address);

	return r && size <= r->size - (address - r->node.key);
}

/* Whole pages, of user space. */
static bool plausible(const struct wire_host *a)
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
	if (m->session->window || !plausible(&a) || a.size > 1ull << 44) {
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

static bool in_window(const struct session *s, const struct wire_host *a)
{
	return s->window && a->size && a->address % 4096 == 0 && a->size % 4096 == 0 && a->address >= s->window &&
	       a->size <= s->window_size && a->address - s->window <= s->window_size - a->size;
}

static bool overlaps(struct session *s, const struct wire_host *a)
{
	struct map_node *above = map_above(&s->host, a->address);

	return holder(s, a->address) || (above && above->key - a->address < a->size);
}

/* ---- addresses that stay empty ---- */

static void leave_empty(struct session *s, uint64_t from, uint64_t to)
{
	struct host_range *r = from < to ? calloc(1, sizeof *r) : NULL;

	if (!r)
		return; /* they stay empty even so, and are not used again */
	r->node.key = from;
	r->size = to - from;
	map_insert(&s->empty, &r->node);
}

/* An empty range that has an address of [from, to). */
static struct host_range *empty_in(struct session *s, uint64_t from, uint64_t to)
{
	struct host_range *r = map_holding(&s->empty, from, struct host_range, node, size);

	if (!r)
		r = (struct host_range *)map_above(&s->empty, from);
	return r && r->node.key < to ? r : NULL;
}

/* The client wants some of them again. */
static void make_way(struct session *s, const struct wire_host *a)
{
	uint64_t from = a->address, to = a->address + a->size;
	struct host_range *r;

	while ((r = empty_in(s, from, to))) {
		uint64_t start = r->node.key, end = start + r->size;
		uint64_t first = start > from ? start : from, last = end < to ? end : to;
		map_remove(&s->empty, &r->node);
		free(r);
		munmap((void *)(uintptr_t)first, last - first);
		leave_empty(s, start, first);
		leave_empty(s, last, end);
	}
}

static void let_go(struct session *s, uint64_t address, uint64_t size, bool reserved)
{
	mmap((void *)(uintptr_t)address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		0);
	if (!reserved)
		leave_empty(s, address, address + size);
}

/* ---- mapping ---- */

static CUresult map_it(struct session *s, const struct wire_host *a, bool reserved, int fd)
{
	unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
	int how = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED) |
		  (reserved ? MAP_FIXED : MAP_FIXED_NOREPLACE);
	const struct cuda_ops *ops = s->ops;
	CUdeviceptr seen = 0;
	CUresult r;
	void *p;

	if (!reserved)
		make_way(s, a);
	p = mmap((void *)(uintptr_t)a->address, a->size, PROT_READ | PROT_WRITE, how, fd, 0);
	if (p == MAP_FAILED)
		return reserved ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_SUPPORTED;
	if (p != (void *)(uintptr_t)a->address) { /* a kernel that does not know NOREPLACE */
		munmap(p, a->size);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	r = ops->cuMemHostRegister_v2(p, a->size, flags);
	if (!r && (ops->cuMemHostGetDevicePointer_v2(&seen, p, 0) || seen != a->address)) {
		ops->cuMemHostUnregister(p);
		r = CUDA_ERROR_NOT_SUPPORTED; /* a device that sees host memory elsewhere than we do */
	}
	if (r)
		let_go(s, a->address, a->size, reserved);
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
	bool reserved = in_window(m->session, &a);
	r = calloc(1, sizeof *r);
	if (!r || !plausible(&a) || overlaps(m->session, &a) || (a.id ? fd < 0 || memory_holds(fd, a.size) : !reserved))
		msg_result(m, CUDA_ERROR_INVALID_VALUE);
	else
		msg_result(m, map_it(m->session, &a, reserved, fd));
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
		m->error = CUDA_SUCCESS; /* what was registered there is not any more, but it is still mapped */
	if (msg_bad(m))
		return;
	struct host_range *r = holder(m->session, a.address);
	if (!r || r->node.key != a.address) {
		msg_result(m, CUDA_ERROR_INVALID_VALUE);
		return;
	}
	map_remove(&m->session->host, &r->node);
	mirrors_unmapped(a.address, r->size);
	msg_result(m, ops->cuMemHostUnregister((void *)(uintptr_t)a.address));
	let_go(m->session, a.address, r->size, r->reserved);
	free(r);
}
