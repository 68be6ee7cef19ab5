/*
 * Physical memory and pools: exported and imported as descriptors, and counted handles.
 *
 * The driver judges a descriptor that a client sends; the worker passes it on and closes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "server/session/message.h"

#define FD_WAIT_MS 2000
#define POOL_KEEPS (1ull << 40) /* bytes: a release threshold that is never reached */

void serve_share_out(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_share a;
	int fd = -1;

	msg_args(m, &a, sizeof a);
	void *real = msg_handle(m, a.pool ? HANDLE_CUmemoryPool : HANDLE_CUmemGenericAllocationHandle, a.object);
	if (!real)
		m->error = m->error ? m->error : CUDA_ERROR_INVALID_VALUE;
	if (a.type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		m->error = CUDA_ERROR_NOT_SUPPORTED;
	if (msg_bad(m))
		return;
	if (a.pool)
		msg_result(m, ops->cuMemPoolExportToShareableHandle(&fd, real, a.type, a.flags));
	else
		msg_result(m, ops->cuMemExportToShareableHandle(&fd, (uintptr_t)real, a.type, a.flags));
	if (!m->result && (fd < 0 || link_send_fd(m->session->link, a.id, fd)))
		msg_result(m, CUDA_ERROR_NOT_SUPPORTED);
	if (fd >= 0)
		close(fd);
}

void serve_share_in(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_share a;

	msg_args(m, &a, sizeof a);
	uint64_t *out = msg_out(m, true, sizeof *out);
	if (a.type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		m->error = CUDA_ERROR_NOT_SUPPORTED;
	if (msg_bad(m))
		return;
	int fd = link_recv_fd(m->session->link, a.id, FD_WAIT_MS);
	void *os = (void *)(intptr_t)fd;
	if (fd < 0)
		msg_result(m, fd == -EMFILE ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_INVALID_VALUE);
	else if (a.pool)
		msg_result(m, ops->cuMemPoolImportFromShareableHandle((CUmemoryPool *)out, os, a.type, a.flags));
	else
		msg_result(m, ops->cuMemImportFromShareableHandle((CUmemGenericAllocationHandle *)out, os, a.type));
	if (fd >= 0)
		close(fd);
	msg_give_handles(m, a.pool ? HANDLE_CUmemoryPool : HANDLE_CUmemGenericAllocationHandle, out, 1);
}

/* ---- One handle for an allocation, however often it is retained, and for as long as it is mapped ---- */

/* An allocation that is not held exactly once. */
struct retained_allocation {
	struct map_node node; /* key: the handle */
	unsigned extra;       /* references beyond the first */
	bool released;        /* no reference left, but still mapped: retaining it yields the same handle */
};

struct allocation_mapping {
	struct map_node node; /* key: the address */
	uint64_t size, real;
};

static struct retained_allocation *retained_find(struct session *s, uint64_t id)
{
	return (struct retained_allocation *)map_find(&s->retained, id);
}

static struct retained_allocation *retained_get(struct session *s, uint64_t id)
{
	struct retained_allocation *h = retained_find(s, id);

	if (!h && (h = calloc(1, sizeof *h))) {
		h->node.key = id;
		map_insert(&s->retained, &h->node);
	}
	return h;
}

static void retained_drop(struct session *s, struct retained_allocation *h)
{
	map_remove(&s->retained, &h->node);
	free(h);
}

static bool allocation_is_mapped(struct session *s, uint64_t real)
{
	struct allocation_mapping *m;

	for (uint64_t at = 0; (m = (struct allocation_mapping *)map_above(&s->mapped, at)); at = m->node.key + 1)
		if (m->real == real)
			return true;
	return false;
}

void serve_cuMemMap(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuMemMap a;
	struct allocation_mapping *p = calloc(1, sizeof *p);

	msg_args(m, &a, sizeof a);
	uint64_t real = (uintptr_t)msg_handle(m, HANDLE_CUmemGenericAllocationHandle, a.handle);
	if (!p)
		m->error = CUDA_ERROR_OUT_OF_MEMORY;
	if (!msg_bad(m))
		msg_result(m, ops->cuMemMap(a.ptr, a.size, a.offset, real, a.flags));
	if (m->broken || m->result) {
		free(p);
		return;
	}
	*p = (struct allocation_mapping){.node.key = a.ptr, .size = a.size, .real = real};
	map_insert(&m->session->mapped, &p->node);
}

/* Drops the handle of an allocation whose last mapping is gone and that nobody holds. */
static void allocation_drop_unused(struct session *s, uint64_t real)
{
	uint64_t id = handles_known(s->handles, HANDLE_CUmemGenericAllocationHandle, (void *)(uintptr_t)real);
	struct retained_allocation *h = id ? retained_find(s, id) : NULL;

	if (!h || !h->released || allocation_is_mapped(s, real))
		return;
	retained_drop(s, h);
	handles_drop(s->handles, HANDLE_CUmemGenericAllocationHandle, id);
}

void serve_cuMemUnmap(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuMemUnmap a;
	struct allocation_mapping *p;

	msg_args(m, &a, sizeof a);
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuMemUnmap(a.ptr, a.size));
	while (!m->result && (p = (struct allocation_mapping *)map_above(&m->session->mapped, a.ptr)) &&
		p->node.key - a.ptr < a.size) {
		uint64_t real = p->real;
		map_remove(&m->session->mapped, &p->node);
		free(p);
		allocation_drop_unused(m->session, real);
	}
}

void serve_retain(const struct cuda_ops *ops, struct msg *m)
{
	struct handles *all = m->session->handles;
	CUmemGenericAllocationHandle real = 0;
	struct retained_allocation *h = NULL;
	uint64_t address;
	bool known;

	msg_args(m, &address, sizeof address);
	uint64_t *out = msg_out(m, true, sizeof *out);
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuMemRetainAllocationHandle(&real, (void *)(uintptr_t)address));
	if (m->result)
		return;
	known = handles_has(all, HANDLE_CUmemGenericAllocationHandle, (void *)(uintptr_t)real);
	*out = handles_give(all, HANDLE_CUmemGenericAllocationHandle, (void *)(uintptr_t)real);
	if (*out && !known)
		return;
	h = *out ? retained_get(m->session, *out) : NULL;
	if (!h) {
		ops->cuMemRelease(real);
		msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
	} else if (h->released) {
		retained_drop(m->session, h);
	} else {
		h->extra++;
	}
}

/* An allocation that is still mapped keeps its handle. */
static void allocation_release(struct msg *m, uint64_t id, uint64_t real)
{
	struct session *s = m->session;
	struct retained_allocation *h = retained_find(s, id);

	if (h && --h->extra == 0)
		retained_drop(s, h);
	else if (!h && allocation_is_mapped(s, real) && (h = retained_get(s, id)))
		h->released = true;
	else if (!h)
		msg_drop(m, HANDLE_CUmemGenericAllocationHandle, id);
}

void serve_cuMemRelease(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuMemRelease a;
	struct retained_allocation *h;

	msg_args(m, &a, sizeof a);
	uint64_t real = (uintptr_t)msg_handle(m, HANDLE_CUmemGenericAllocationHandle, a.handle);
	h = retained_find(m->session, a.handle);
	if (h && h->released)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuMemRelease(real));
	if (!m->result)
		allocation_release(m, a.handle, real);
}

/* ---- Pools ---- */

void serve_pool(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_pool a;

	msg_args(m, &a, sizeof a);
	CUmemoryPool pool = msg_handle(m, HANDLE_CUmemoryPool, a.pool);
	struct wire_pool *out = msg_out(m, true, sizeof *out);
	if (!pool)
		m->error = m->error ? m->error : CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	*out = a;
	msg_result(m, a.set ? ops->cuMemPoolSetAttribute(pool, a.attribute, &out->value)
			    : ops->cuMemPoolGetAttribute(pool, a.attribute, &out->value));
	if (!m->result && a.set && a.attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		m->session->pool_keeps = a.value >= POOL_KEEPS;
}
