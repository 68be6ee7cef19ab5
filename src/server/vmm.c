/*
 * Physical memory and pools, as descriptors between processes and as numbers here.
 *
 * A descriptor that a client sends is the driver's to judge; we only pass it on, and close it.
 */
#include <stdlib.h>
#include <unistd.h>
#include "server/msg.h"

#define FD_WAIT_MS 2000

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

/* ---- one number for an allocation, however often it is held ---- */

struct held {
	struct map_node node; /* key: the number */
	unsigned more;	      /* than once */
};

static struct held *find_held(struct session *s, uint64_t id)
{
	struct held *h = (struct held *)map_below(&s->retained, id);

	return h && h->node.key == id ? h : NULL;
}

static bool hold(struct session *s, uint64_t id)
{
	struct held *h = find_held(s, id);

	if (!h) {
		h = calloc(1, sizeof *h);
		if (!h)
			return false;
		h->node.key = id;
		map_insert(&s->retained, &h->node);
	}
	h->more++;
	return true;
}

/* True: it was the last one. */
static bool let_go(struct session *s, uint64_t id)
{
	struct held *h = find_held(s, id);

	if (!h)
		return true;
	if (!--h->more) {
		map_remove(&s->retained, &h->node);
		free(h);
	}
	return false;
}

void serve_retain(const struct cuda_ops *ops, struct msg *m)
{
	struct handles *all = m->session->handles;
	CUmemGenericAllocationHandle real = 0;
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
	if (*out && (!known || hold(m->session, *out)))
		return;
	ops->cuMemRelease(real);
	msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
}

void serve_release(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuMemRelease a;

	msg_args(m, &a, sizeof a);
	uint64_t real = (uintptr_t)msg_handle(m, HANDLE_CUmemGenericAllocationHandle, a.handle);
	if (msg_bad(m)) {
		if (m->result == CUDA_ERROR_INVALID_HANDLE)
			m->result = CUDA_ERROR_INVALID_VALUE; /* what CUDA says of these */
		return;
	}
	msg_result(m, ops->cuMemRelease(real));
	if (!m->result && let_go(m->session, a.handle))
		msg_drop(m, HANDLE_CUmemGenericAllocationHandle, a.handle);
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
	msg_result(m, a.set ? ops->cuMemPoolSetAttribute(pool, a.attribute, &out->value) :
			      ops->cuMemPoolGetAttribute(pool, a.attribute, &out->value));
}
