/* Keeps memory that client and worker see in a copy each up to date on both sides. */
#include "server/copy/mirror.h"

#include <errno.h>
#include <stdlib.h>
#include "server/memory/hostmem.h"
#include "server/session/message.h"
#include "util/diff.h"

struct mirror {
	struct map_node node; /* key: the address */
	uint64_t size;
	bool variable;     /* of a module */
	CUcontext context; /* current when the client asked for the mirror */
	uint8_t *agreed;   /* the bytes that both sides had last */
};

/* The mirror that holds all of the range. */
static struct mirror *mirror_holding(const struct mirrors *m, uint64_t address, uint64_t size)
{
	struct mirror *r = map_holding(&m->by_address, address, struct mirror, node, size);

	return r && size <= r->size - (address - r->node.key) ? r : NULL;
}

static struct mirror *mirror_above(const struct mirrors *m, uint64_t address)
{
	return (struct mirror *)map_above(&m->by_address, address);
}

static bool mirror_overlaps(const struct mirrors *m, uint64_t address, uint64_t size)
{
	struct mirror *above = mirror_above(m, address);

	return mirror_holding(m, address, 1) || (above && above->node.key - address < size);
}

static void mirror_drop(struct mirrors *m, struct mirror *r)
{
	pthread_mutex_lock(&m->lock);
	map_remove(&m->by_address, &r->node);
	pthread_mutex_unlock(&m->lock);
	free(r->agreed);
	free(r);
}

/* Is all of the range managed memory that host and device may use at the same time?  Needs no context. */
static bool is_managed_variable(const struct cuda_ops *ops, uint64_t address, uint64_t size)
{
	CUdeviceptr base = 0;
	unsigned managed = 0;
	int both = 0, dev = -1;
	size_t n = 0;

	return !ops->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) && managed &&
	       !ops->cuPointerGetAttribute(&dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) &&
	       !ops->cuDeviceGetAttribute(&both, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, dev < 0 ? 0 : dev) &&
	       both && !ops->cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) &&
	       !ops->cuPointerGetAttribute(&n, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) && address >= base &&
	       address - base < n && size <= n - (address - base);
}

void serve_mirror(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_mirror a;
	struct mirror *r;

	msg_args(m, &a, sizeof a);
	if (!m->error && !m->broken && (!a.size || mirror_overlaps(&m->session->mirrors, a.address, a.size)))
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (!m->error && !m->broken &&
		(a.variable ? !is_managed_variable(ops, a.address, a.size)
			    : !hostmem_holds(m->session, a.address, a.size)))
		m->error = CUDA_ERROR_NOT_SUPPORTED;
	if (msg_bad(m))
		return;
	r = calloc(1, sizeof *r);
	if (!r || !(r->agreed = calloc(1, a.size))) { /* zeroed pages cost nothing until written */
		free(r);
		msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	r->node.key = a.address;
	r->size = a.size;
	r->variable = a.variable;
	r->context = m->session->context;
	m->session->mirrors.used = true;
	pthread_mutex_lock(&m->session->mirrors.lock);
	map_insert(&m->session->mirrors.by_address, &r->node);
	pthread_mutex_unlock(&m->session->mirrors.lock);
}

void serve_mirror_drop(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_mirror a;
	struct mirror *r;

	(void)ops;
	msg_args(m, &a, sizeof a);
	m->error = CUDA_SUCCESS; /* its context may have ended */
	r = (struct mirror *)map_find(&m->session->mirrors.by_address, a.address);
	if (!m->broken && !r)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (!msg_bad(m))
		mirror_drop(&m->session->mirrors, r);
}

void mirrors_unmapped(struct session *s, uint64_t address, uint64_t size)
{
	struct mirror *r;

	while ((r = mirror_above(&s->mirrors, address)) && r->node.key - address < size)
		mirror_drop(&s->mirrors, r);
}

void mirrors_context_ending(struct session *s, CUcontext context)
{
	struct mirror *r;
	uint64_t at = 0;

	while ((r = mirror_above(&s->mirrors, at))) {
		at = r->node.key + 1;
		if (r->variable && r->context == context)
			mirror_drop(&s->mirrors, r);
	}
}

void mirrors_unloaded(struct session *s)
{
	struct mirror *r;
	uint64_t at = 0;

	while ((r = mirror_above(&s->mirrors, at))) {
		at = r->node.key + 1;
		if (r->variable && !is_managed_variable(s->ops, r->node.key, r->size))
			mirror_drop(&s->mirrors, r);
	}
}

/* ---- Exchanging changes ---- */

/* Bytes for memory that is no longer a mirror are dropped: nobody can read them. */
void serve_mirror_up(const struct cuda_ops *ops, struct msg *m)
{
	struct mirrors *all = &m->session->mirrors;
	struct wire_mirror a;
	struct mirror *r;

	(void)ops;
	m->error = CUDA_SUCCESS; /* valid in any context: a host function may have written the bytes */
	msg_args(m, &a, sizeof a);
	const void *bytes = msg_in(m, true, a.size);
	if (msg_bad(m) || !a.size)
		return;
	pthread_mutex_lock(&all->lock); /* a comparison in between would take these bytes for the device's */
	r = mirror_holding(all, a.address, a.size);
	if (r)
		diff_apply((void *)(uintptr_t)a.address, r->agreed + (a.address - r->node.key), bytes, a.size);
	pthread_mutex_unlock(&all->lock);
}

/* Appends as many changed runs as fit, from the cursor on.  False: there are more. */
static bool changed_runs_put(struct mirror *r, uint64_t *cursor, uint8_t *out, size_t *used, uint32_t *runs)
{
	const uint8_t *now = (const uint8_t *)(uintptr_t)r->node.key;
	size_t at = *cursor > r->node.key ? *cursor - r->node.key : 0, length;

	while (diff_next(now, r->agreed, r->size, &at, &length, WIRE_MIRROR_BYTES / 4)) {
		struct wire_run run = {r->node.key + at, length};
		if (*used + sizeof run + wire_pad(length) > WIRE_MIRROR_BYTES) {
			*cursor = r->node.key + at;
			return false;
		}
		memcpy(out + *used, &run, sizeof run);
		*used += sizeof run;
		memcpy(r->agreed + at, now + at, length); /* read once: the device may be writing */
		memcpy(out + *used, r->agreed + at, length);
		*used += wire_pad(length);
		++*runs;
		at += length;
	}
	*cursor = r->node.key + r->size;
	return true;
}

void serve_mirror_down(const struct cuda_ops *ops, struct msg *m)
{
	struct mirrors *mirrors = &m->session->mirrors;
	struct wire_mirrored head = {0};
	struct mirror *r;
	size_t used = 0;
	bool all = true;

	(void)ops;
	m->error = CUDA_SUCCESS;
	msg_args(m, &head.cursor, sizeof head.cursor);
	uint8_t *out = msg_out(m, true, sizeof head + WIRE_MIRROR_BYTES);
	if (msg_bad(m))
		return;
	pthread_mutex_lock(&mirrors->lock);
	r = mirror_holding(mirrors, head.cursor, 1);
	if (!r)
		r = mirror_above(mirrors, head.cursor);
	for (; r && all; r = mirror_above(mirrors, head.cursor))
		all = changed_runs_put(r, &head.cursor, out + sizeof head, &used, &head.runs);
	pthread_mutex_unlock(&mirrors->lock);
	head.more = !all;
	memcpy(out, &head, sizeof head);
	m->out_used = out - m->out + sizeof head + used;
}

int mirrors_serve_in_pump(struct session *s, const struct frame *f)
{
	struct msg *m = s->mirrors.pump_msg;

	if (!m)
		m = s->mirrors.pump_msg = calloc(1, sizeof *m);
	if (!m)
		return -ENOMEM;
	if (!msg_init(m, s, f))
		return -EPROTO;
	if (f->op == WIRE_MIRROR_UP)
		serve_mirror_up(NULL, m);
	else
		serve_mirror_down(NULL, m);
	return msg_finish(m, f->op == WIRE_MIRROR_DOWN);
}

/* Changes are announced before any other signal, and again until the client has fetched them. */
void mirrors_announce(struct session *s)
{
	struct mirrors *m = &s->mirrors;
	struct mirror *r;
	bool changed = false;

	if (link_peer(s->link)->local)
		return;
	pthread_mutex_lock(&m->lock);
	for (uint64_t at = 0; !changed && (r = mirror_above(m, at)); at = r->node.key + 1)
		changed = memcmp((const void *)(uintptr_t)r->node.key, r->agreed, r->size) != 0;
	if (changed)
		word_set(s->link, WIRE_MIRROR_WORD, ++m->changes, NULL, 0);
	pthread_mutex_unlock(&m->lock);
}
