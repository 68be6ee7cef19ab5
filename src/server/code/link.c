/* Linking: cuLink* with its logs, which are written until the end, and its result, taken in pieces. */
#include <stdlib.h>
#include "image/image.h"
#include "server/code/code.h"

struct linking {
	struct linking *next;
	CUlinkState state;
	struct jit jit;
	const uint8_t *cubin;
	size_t size;
};

static struct linking *all; /* the dispatcher's */

static struct linking *find(CUlinkState state)
{
	struct linking *l = all;

	while (l && l->state != state)
		l = l->next;
	return l;
}

static void discard(struct linking *l)
{
	if (l)
		jit_finish(&l->jit);
	free(l);
}

static void forget(CUlinkState state)
{
	struct linking **p = &all, *old;

	while ((old = *p) && old->state != state)
		p = &old->next;
	if (old)
		*p = old->next;
	discard(old);
}

static void answer(struct msg *m, uint8_t *out, struct wire_linked *head, const struct jit *j)
{
	uint8_t *end = jit_out(j, out + sizeof *head, &head->info, &head->error);

	memcpy(out, head, sizeof *head);
	m->out_used = wire_pad(end - m->out);
}

void serve_link_create(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_linked head = {0};
	struct wire_link_create a;
	struct linking *l = calloc(1, sizeof *l); /* the driver writes to its options until the end */

	msg_args(m, &a, sizeof a);
	if (!l)
		m->error = CUDA_ERROR_OUT_OF_MEMORY;
	if (!l || !jit_in(m, &l->jit, a.options)) {
		msg_bad(m);
		free(l);
		return;
	}
	uint8_t *out = msg_out(m, true, sizeof head + jit_room(&l->jit));
	if (!out || msg_bad(m)) {
		discard(l);
		return;
	}
	head.result = ops->cuLinkCreate_v2(l->jit.count, l->jit.option, l->jit.value, &l->state);
	if (!head.result)
		head.id = handles_give(m->session->handles, HANDLE_CUlinkState, l->state);
	answer(m, out, &head, &l->jit);
	if (head.result) {
		discard(l);
		return;
	}
	forget(l->state); /* an address that a driver uses again is a new link */
	l->next = all;
	all = l;
}

void serve_link_destroy(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuLinkDestroy a;

	msg_args(m, &a, sizeof a);
	CUlinkState state = msg_handle(m, HANDLE_CUlinkState, a.state);
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuLinkDestroy(state));
	msg_drop(m, HANDLE_CUlinkState, a.state);
	if (!m->result)
		forget(state);
}

/* As for a load: no pointers to follow, no more than there is.  An archive has sizes of its own, and its end is told. */
static bool may_link(const void *bytes, uint64_t size)
{
	return image_sniff(bytes, size) == IMAGE_ARCHIVE || image_within(bytes, size);
}

void serve_link_add(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_linked head = {0};
	struct wire_link_add a;
	struct jit own;

	msg_args(m, &a, sizeof a);
	CUlinkState state = msg_handle(m, HANDLE_CUlinkState, a.state);
	const char *name = msg_in_text(m, a.name, a.name);
	if (!jit_in(m, &own, a.options)) {
		msg_bad(m);
		return;
	}
	struct linking *l = find(state);
	const void *bytes = m->broken ? NULL : images_find(m->session, &a.image);
	if (!state || !l || !bytes)
		m->error = CUDA_ERROR_INVALID_HANDLE;
	else if (!may_link(bytes, a.image.size))
		m->error = CUDA_ERROR_INVALID_IMAGE;
	uint8_t *out = msg_out(m, true, sizeof head + (l ? jit_room(&l->jit) : 0));
	if (out && !msg_bad(m)) {
		/* text is given with its NUL */
		size_t size = a.image.size + (a.type == CU_JIT_INPUT_PTX);
		head.result = ops->cuLinkAddData_v2(
			state, a.type, (void *)bytes, size, name, own.count, own.option, own.value);
		answer(m, out, &head, &l->jit);
	}
	jit_finish(&own);
}

void serve_link_complete(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_linked head = {0};
	struct wire_link_take a;
	void *cubin = NULL;

	msg_args(m, &a, sizeof a);
	CUlinkState state = msg_handle(m, HANDLE_CUlinkState, a.state);
	struct linking *l = find(state);
	if (!state || !l)
		m->error = CUDA_ERROR_INVALID_HANDLE;
	uint8_t *out = msg_out(m, true, sizeof head + (l ? jit_room(&l->jit) : 0));
	if (!out || msg_bad(m))
		return;
	head.result = ops->cuLinkComplete(state, &cubin, &l->size);
	l->cubin = head.result ? NULL : cubin;
	head.size = l->cubin ? l->size : 0;
	answer(m, out, &head, &l->jit);
}

void serve_link_take(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_linked head = {0};
	struct wire_link_take a;

	(void)ops;
	msg_args(m, &a, sizeof a);
	CUlinkState state = msg_handle(m, HANDLE_CUlinkState, a.state);
	struct linking *l = find(state);
	uint8_t *out = msg_out(m, true, sizeof head + WIRE_LINK_BYTES);
	if (!state || !l || !l->cubin || a.offset > l->size)
		m->error = CUDA_ERROR_INVALID_HANDLE;
	if (!out || msg_bad(m))
		return;
	head.size = l->size;
	head.bytes = l->size - a.offset < WIRE_LINK_BYTES ? l->size - a.offset : WIRE_LINK_BYTES;
	memcpy(out, &head, sizeof head);
	memcpy(out + sizeof head, l->cubin + a.offset, head.bytes);
	m->out_used = (out - m->out) + wire_pad(sizeof head + head.bytes);
}
