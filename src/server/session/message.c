/* Unpacks requests, looks up handles and packs replies. */
#include "server/session/message.h"

#include <errno.h>
#include <stdlib.h>

bool msg_init(struct msg *m, struct session *s, const struct frame *f)
{
	struct wire_request head;

	m->session = s;
	m->frame = *f;
	m->broken = false;
	m->error = m->result = CUDA_SUCCESS;
	m->value = 0;
	m->heap_in = NULL;
	m->out_used = sizeof(struct wire_reply);
	if (f->size < sizeof head)
		return false;
	m->in = m->few_in;
	if (f->size > sizeof m->few_in)
		m->in = m->heap_in = malloc(f->size);
	if (!m->in)
		return false;
	memcpy(m->in, f->payload, f->size);
	m->in_end = m->in + f->size;
	memcpy(&head, m->in, sizeof head);
	m->in += sizeof head;
	m->context = head.context;
	return true;
}

static void *request_take(struct msg *m, size_t size)
{
	size_t left = m->in_end - m->in;
	uint8_t *p = m->in;

	if (m->broken || size > left || wire_pad(size) > left) {
		m->broken = true;
		return NULL;
	}
	m->in += wire_pad(size);
	return p;
}

void msg_args(struct msg *m, void *args, size_t size)
{
	void *p = request_take(m, size);

	if (p)
		memcpy(args, p, size);
	else
		memset(args, 0, size);
}

/* CUDA's error code for an invalid handle. */
static CUresult invalid_handle_error(enum handle_kind kind)
{
	switch (kind) {
	case HANDLE_CUcontext:
		return CUDA_ERROR_INVALID_CONTEXT;
	case HANDLE_CUgraph:
	case HANDLE_CUgraphNode:
	case HANDLE_CUgraphExec:
	case HANDLE_CUuserObject:
	case HANDLE_CUmemoryPool:
	case HANDLE_CUmemGenericAllocationHandle:
		return CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_HANDLE;
	}
}

void *msg_handle(struct msg *m, enum handle_kind kind, uint64_t id)
{
	void *real = NULL;

	if (kind == HANDLE_CUstream && id <= 2) /* default streams have the same value in every process */
		return (void *)(uintptr_t)id;
	if (m->broken || handles_find(m->session->handles, kind, id, &real))
		return real;
	/* CUDA accepts a kernel in place of a function */
	if (kind != HANDLE_CUfunction || !handles_find(m->session->handles, HANDLE_CUkernel, id, &real))
		m->error = invalid_handle_error(kind);
	return real;
}

void *msg_in(struct msg *m, bool present, size_t size)
{
	return present ? request_take(m, size) : NULL;
}

void *msg_in_text(struct msg *m, bool present, size_t size)
{
	char *p = msg_in(m, present, size);

	if (p && (!size || p[size - 1])) {
		m->broken = true;
		return NULL;
	}
	return p;
}

void *msg_in_handles(struct msg *m, bool present, enum handle_kind kind, size_t count)
{
	uint64_t *p = msg_in(m, present, wire_bytes(count, sizeof *p));

	for (size_t i = 0; p && i < count; i++)
		p[i] = (uintptr_t)msg_handle(m, kind, p[i]);
	return p;
}

void *msg_out(struct msg *m, bool present, size_t size)
{
	uint8_t *p;

	if (!present || m->broken)
		return NULL;
	if (size > sizeof m->out || wire_pad(size) > sizeof m->out - m->out_used) {
		m->error = CUDA_ERROR_OUT_OF_MEMORY;
		return NULL;
	}
	p = m->out + m->out_used;
	memset(p, 0, wire_pad(size));
	m->out_used += wire_pad(size);
	return p;
}

void *msg_inout(struct msg *m, bool present, size_t size)
{
	void *in = msg_in(m, present, size), *out = msg_out(m, present, size);

	if (in && out)
		memcpy(out, in, size);
	return out;
}

bool msg_bad(struct msg *m)
{
	if (m->broken)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (m->error)
		m->result = m->error;
	return m->error != CUDA_SUCCESS;
}

void msg_result(struct msg *m, CUresult r)
{
	m->result = r;
}

void msg_give_handles(struct msg *m, enum handle_kind kind, void *real, size_t count)
{
	uint64_t *p = real;
	uint8_t *end = m->out + m->out_used;

	if (m->result || !real)
		return;
	for (size_t i = 0; i < count && (uint8_t *)(p + i + 1) <= end; i++)
		p[i] = handles_give(m->session->handles, kind, (void *)(uintptr_t)p[i]);
}

void msg_drop(struct msg *m, enum handle_kind kind, uint64_t id)
{
	if (m->result == CUDA_SUCCESS)
		handles_drop(m->session->handles, kind, id);
}

static int reply_send(struct msg *m)
{
	if (handles_take_refusal(m->session->handles) && !m->result)
		m->result = CUDA_ERROR_OUT_OF_MEMORY;
	struct wire_reply head = {.result = m->result, .value = m->value};
	size_t size = m->result ? sizeof head : m->out_used;
	void *room;
	int r;

	if (size > lane_payload_max(m->frame.lane)) {
		head.result = CUDA_ERROR_OUT_OF_MEMORY; /* the ring is too small for this reply */
		size = sizeof head;
	}
	r = lane_reply_reserve(m->frame.lane, size, &room);
	if (r)
		return r;
	memcpy(m->out, &head, sizeof head);
	memcpy(room, m->out, size);
	return lane_reply(m->frame.lane, m->frame.op, m->frame.ticket, size, NULL, 0);
}

void msg_report_async(struct msg *m, CUresult r)
{
	void *context;

	if (!handles_find(m->session->handles, HANDLE_CUcontext, m->context, &context))
		return; /* the context has ended, and the client knows */
	async_error_report(m->session, context, r);
}

int msg_finish(struct msg *m, bool waits)
{
	int r = 0;

	if (m->broken)
		r = -EPROTO;
	else if (waits)
		r = reply_send(m);
	else if (m->result)
		msg_report_async(m, m->result);
	free(m->heap_in);
	return r;
}
