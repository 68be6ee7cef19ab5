/* Modules and libraries: an image arrives in pieces of bulk memory, and is loaded when it is whole. */
#include <stdlib.h>
#include "server/msg.h"

#define IMAGE_MAX (2ull << 30)

/* One at a time a client thread; the client counts them. */
struct uploads {
	struct uploads *next;
	uint64_t number;
	size_t used, room;
	uint8_t *bytes;
};

static struct uploads *find(struct session *s, uint64_t number, size_t size)
{
	struct uploads *u = s->uploads;

	while (u && u->number != number)
		u = u->next;
	if (u || size > IMAGE_MAX)
		return u;
	u = calloc(1, sizeof *u);
	if (!u || !(u->bytes = malloc(size + 1))) {
		free(u);
		return NULL;
	}
	u->number = number;
	u->room = size;
	u->next = s->uploads;
	s->uploads = u;
	return u;
}

static void forget(struct session *s, struct uploads *u)
{
	struct uploads **p = &s->uploads;

	while (*p != u)
		p = &(*p)->next;
	*p = u->next;
	free(u->bytes);
	free(u);
}

static bool append(struct msg *m, struct uploads *u)
{
	size_t room;
	const uint8_t *base = bulk_base(m->session->link, BULK_UP, &room);

	for (unsigned i = 0; i < m->frame.npieces; i++) {
		const struct piece *p = &m->frame.pieces[i];
		if (p->size > u->room - u->used)
			return false;
		memcpy(u->bytes + u->used, base + p->offset, p->size);
		u->used += p->size;
	}
	return true;
}

/* Returns the handle's number for a module or library. */
void serve_load(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_load a;

	msg_args(m, &a, sizeof a);
	uint64_t *id = msg_out(m, true, sizeof *id);
	if (a.library)
		m->error = CUDA_SUCCESS; /* libraries need no context */
	struct uploads *u = m->broken ? NULL : find(m->session, a.upload, a.size);
	if (u && !append(m, u))
		m->broken = true;
	if (!u && !m->broken)
		m->error = CUDA_ERROR_OUT_OF_MEMORY;
	if (msg_bad(m) || !a.last)
		return;
	u->bytes[u->used] = 0; /* PTX is text */
	void *loaded = NULL;
	if (a.library)
		msg_result(m, ops->cuLibraryLoadData((CUlibrary *)&loaded, u->bytes, NULL, NULL, 0, NULL, NULL, 0));
	else
		msg_result(m, ops->cuModuleLoadData((CUmodule *)&loaded, u->bytes));
	if (!m->result)
		*id = handles_give(m->session->handles, a.library ? HANDLE_CUlibrary : HANDLE_CUmodule, loaded);
	forget(m->session, u);
}
