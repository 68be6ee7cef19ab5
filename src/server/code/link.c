/* Linking: cuLink* with logs that the driver writes until the end, and a result that the client fetches in parts. */
#include <stdlib.h>
#include "image/image.h"
#include "server/code/code.h"

/* A linker state of the driver's and what belongs to it. */
struct linker {
	struct linker *next;
	CUlinkState state;
	struct jit_options jit;
	const uint8_t *cubin;
	size_t size;
};

static struct linker *linker_find(struct session *s, CUlinkState state)
{
	struct linker *l = s->linkers;

	while (l && l->state != state)
		l = l->next;
	return l;
}

static void linker_destroy(struct linker *l)
{
	if (l)
		jit_options_finish(&l->jit);
	free(l);
}

static void linker_forget(struct session *s, CUlinkState state)
{
	struct linker **p = &s->linkers, *old;

	while ((old = *p) && old->state != state)
		p = &old->next;
	if (old)
		*p = old->next;
	linker_destroy(old);
}

static void linker_reply(struct msg *m, uint8_t *out, struct wire_linked *head, const struct jit_options *j)
{
	uint8_t *end = jit_options_reply(j, out + sizeof *head, &head->info, &head->error);

	memcpy(out, head, sizeof *head);
	m->out_used = wire_pad(end - m->out);
}

void serve_link_create(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_linked head = {0};
	struct wire_link_create a;
	struct linker *l = calloc(1, sizeof *l); /* the driver writes to the options until the state is destroyed */

	msg_args(m, &a, sizeof a);
	if (!l)
		m->error = CUDA_ERROR_OUT_OF_MEMORY;
	if (!l || !jit_options_init(m, &l->jit, a.options)) {
		msg_bad(m);
		free(l);
		return;
	}
	uint8_t *out = msg_out(m, true, sizeof head + jit_options_reply_size(&l->jit));
	if (!out || msg_bad(m)) {
		linker_destroy(l);
		return;
	}
	head.result = ops->cuLinkCreate_v2(l->jit.count, l->jit.option, l->jit.value, &l->state);
	if (!head.result)
		head.id = handles_give(m->session->handles, HANDLE_CUlinkState, l->state);
	linker_reply(m, out, &head, &l->jit);
	if (head.result) {
		linker_destroy(l);
		return;
	}
	linker_forget(m->session, l->state); /* the driver has reused the address of an ended state */
	l->next = m->session->linkers;
	m->session->linkers = l;
}

void serve_cuLinkDestroy(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuLinkDestroy a;

	msg_args(m, &a, sizeof a);
	CUlinkState state = msg_handle(m, HANDLE_CUlinkState, a.state);
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuLinkDestroy(state));
	msg_drop(m, HANDLE_CUlinkState, a.state);
	if (!m->result)
		linker_forget(m->session, state);
}

/*
 * As for a load: no pointers that the driver would follow, no sizes beyond the end.  The driver checks archives
 * itself.
 */
static bool input_is_safe(const void *bytes, uint64_t size)
{
	return image_sniff(bytes, size) == IMAGE_ARCHIVE || image_within(bytes, size);
}

void serve_link_add(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_linked head = {0};
	struct wire_link_add a;
	struct jit_options own;

	msg_args(m, &a, sizeof a);
	CUlinkState state = msg_handle(m, HANDLE_CUlinkState, a.state);
	const char *name = msg_in_text(m, a.name, a.name);
	if (!jit_options_init(m, &own, a.options)) {
		msg_bad(m);
		return;
	}
	struct linker *l = linker_find(m->session, state);
	struct session_image *image = m->broken ? NULL : images_use(m->session, &a.image);
	if (!state || !l || !image)
		m->error = CUDA_ERROR_INVALID_HANDLE;
	else if (!input_is_safe(image_bytes(image), a.image.size))
		m->error = CUDA_ERROR_INVALID_IMAGE;
	uint8_t *out = msg_out(m, true, sizeof head + (l ? jit_options_reply_size(&l->jit) : 0));
	if (out && !msg_bad(m)) {
		/* PTX text is passed with its NUL */
		size_t size = a.image.size + (a.type == CU_JIT_INPUT_PTX);
		head.result = ops->cuLinkAddData_v2(
			state, a.type, (void *)image_bytes(image), size, name, own.count, own.option, own.value);
		linker_reply(m, out, &head, &l->jit);
	}
	if (image) /* the driver has copied what it needs */
		images_release(m->session, image);
	jit_options_finish(&own);
}

void serve_link_complete(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_linked head = {0};
	struct wire_link_take a;
	void *cubin = NULL;

	msg_args(m, &a, sizeof a);
	CUlinkState state = msg_handle(m, HANDLE_CUlinkState, a.state);
	struct linker *l = linker_find(m->session, state);
	if (!state || !l)
		m->error = CUDA_ERROR_INVALID_HANDLE;
	uint8_t *out = msg_out(m, true, sizeof head + (l ? jit_options_reply_size(&l->jit) : 0));
	if (!out || msg_bad(m))
		return;
	head.result = ops->cuLinkComplete(state, &cubin, &l->size);
	l->cubin = head.result ? NULL : cubin;
	head.size = l->cubin ? l->size : 0;
	linker_reply(m, out, &head, &l->jit);
}

void serve_link_take(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_linked head = {0};
	struct wire_link_take a;

	(void)ops;
	msg_args(m, &a, sizeof a);
	CUlinkState state = msg_handle(m, HANDLE_CUlinkState, a.state);
	struct linker *l = linker_find(m->session, state);
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
