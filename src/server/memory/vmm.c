/*
 * Physical memory and pools, as descriptors between processes and as numbers here.
 *
 * A descriptor that a client sends is the driver's to judge; we only pass it on, and close it.
 */
#include <stdlib.h>
#include <unistd.h>
#include "server/session/message.h"

#define FD_WAIT_MS 2000
#define KEEPS      (1ull << 40) /* a threshold that is never reached */

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
		msg_result(m, CUDA_ERROR_INVALID_VALUE);
	else if (a.pool)
		msg_result(m, ops->cuMemPoolImportFromShareableHandle((CUmemoryPool *)out, os, a.type, a.flags));
	else
		msg_result(m, ops->cuMemImportFromShareableHandle((CUmemGenericAllocationHandle *)out, os, a.type));
	if (fd >= 0)
		close(fd);
	msg_give_handles(m, a.pool ? HANDLE_CUmemoryPool : HANDLE_CUmemGenericAllocationHandle, out, 1);
}

/* ---- one number for an allocation, however often it is held, and for as long as it is mapped ---- */

struct held {
	struct map_node node; /* key: the number */
	unsigned more;        /* than once */
	bool left;            /* not held any more, but mapped: whoever retains it gets the same number */
};

struct mapped {
	struct map_node node; /* key: the address */
	uint64_t size, real;
};

static struct held *find_held(struct session *s, uint64_t id)
{
	return (struct held *)map_find(&s->retained, id);
}

static struct held *make_held(struct session *s, uint64_t id)
{
	struct held *h = find_held(s, id);

	if (!h && (h = calloc(1, sizeof *h))) {
		h->node.key = id;
		map_insert(&s->retained, &h->node);
	}
	return h;
}

static void drop_held(struct session *s, struct held *h)
{
	map_remove(&s->retained, &h->node);
	free(h);
}

static bool is_mapped(struct session *s, uint64_t real)
{
	struct mapped *m;

	for (uint64_t at = 0; (m = (struct mapped *)map_above(&s->mapped, at)); at = m->node.key + 1)
		if (m->real == real)
			return true;
	return false;
}

void serve_map(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuMemMap a;
	struct mapped *p = calloc(1, sizeof *p);

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
	*p = (struct mapped){.node.key = a.ptr, .size = a.size, .real = real};
	map_insert(&m->session->mapped, &p->node);
}

/* Nobody has it any more. */
static void gone(struct session *s, uint64_t real)
{
	uint64_t id = handles_known(s->handles, HANDLE_CUmemGenericAllocationHandle, (void *)(uintptr_t)real);
	struct held *h = id ? find_held(s, id) : NULL;

	if (!h || !h->left || is_mapped(s, real))
		return;
	drop_held(s, h);
	handles_drop(s->handles, HANDLE_CUmemGenericAllocationHandle, id);
}

void serve_unmap(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuMemUnmap a;
	struct mapped *p;

	msg_args(m, &a, sizeof a);
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuMemUnmap(a.ptr, a.size));
	while (!m->result && (p = (struct mapped *)map_above(&m->session->mapped, a.ptr)) &&
		p->node.key - a.ptr < a.size) {
		uint64_t real = p->real;
		map_remove(&m->session->mapped, &p->node);
		free(p);
		gone(m->session, real);
	}
}

void serve_retain(const struct cuda_ops *ops, struct msg *m)
{
	struct handles *all = m->session->handles;
	CUmemGenericAllocationHandle real = 0;
	struct held *h = NULL;
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
	h = *out ? make_held(m->session, *out) : NULL;
	if (!h) {
		ops->cuMemRelease(real);
		msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
	} else if (h->left) {
		drop_held(m->session, h);
	} else {
		h->more++;
	}
}

/* One that is still mapped keeps its number. */
static void let_go(struct msg *m, uint64_t id, uint64_t real)
{
	struct session *s = m->session;
	struct held *h = find_held(s, id);

	if (h && --h->more == 0)
		drop_held(s, h);
	else if (!h && is_mapped(s, real) && (h = make_held(s, id)))
		h->left = true;
	else if (!h)
		msg_drop(m, HANDLE_CUmemGenericAllocationHandle, id);
}

void serve_release(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuMemRelease a;
	struct held *h;

	msg_args(m, &a, sizeof a);
	uint64_t real = (uintptr_t)msg_handle(m, HANDLE_CUmemGenericAllocationHandle, a.handle);
	h = find_held(m->session, a.handle);
	if (h && h->left)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuMemRelease(real));
	if (!m->result)
		let_go(m, a.handle, real);
}

/* ---- pools ---- */

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
		m->session->keeps = a.value >= KEEPS;
}
