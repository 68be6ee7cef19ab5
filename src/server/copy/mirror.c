/*
 * Memory that the client sees at the same address in a copy of its own: over TCP all that is managed or mapped, and the variables
 * of modules in any case, because the driver decides where they lie.  Both sides keep what they last agreed on, and
 * tell each other what has changed since: the client before it posts work, we when it has waited for some.
 *
 * Trust: a range is host memory that this client has had mapped here, or managed memory of the driver's in this process;
 * nothing else is ever read or written for it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include "server/memory/hostmem.h"
#include "server/copy/mirror.h"
#include "server/session/message.h"
#include "util/diff.h"

struct mirror {
	struct map_node node; /* key: the address */
	uint64_t size;
	bool variable;
	CUcontext context; /* in which the client asked for it */
	uint8_t *agreed;
};

/* The dispatcher adds and drops; those who wait for the device compare, and a pump serves what is asked while it waits. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map mirrors;
static bool ever;

bool mirrors_ever(void)
{
	return ever;
}

static struct mirror *holder(uint64_t address, uint64_t size)
{
	struct mirror *r = map_holding(&mirrors, address, struct mirror, node, size);

	return r && size <= r->size - (address - r->node.key) ? r : NULL;
}

static bool overlaps(uint64_t address, uint64_t size)
{
	struct map_node *above = map_above(&mirrors, address);

	return holder(address, 1) || (above && above->key - address < size);
}

static void drop(struct mirror *r)
{
	pthread_mutex_lock(&lock);
	map_remove(&mirrors, &r->node);
	pthread_mutex_unlock(&lock);
	free(r->agreed);
	free(r);
}

/* Is all of it a variable that host and device may use at the same time?  Also without a context. */
static bool is_variable(const struct cuda_ops *ops, uint64_t address, uint64_t size)
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
	if (!m->error && !m->broken && (!a.size || overlaps(a.address, a.size)))
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (!m->error && !m->broken &&
		(a.variable ? !is_variable(ops, a.address, a.size) : !hostmem_holds(m->session, a.address, a.size)))
		m->error = CUDA_ERROR_NOT_SUPPORTED;
	if (msg_bad(m))
		return;
	r = calloc(1, sizeof *r);
	if (!r || !(r->agreed = calloc(1, a.size))) { /* where nothing is written nothing is used */
		free(r);
		msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	r->node.key = a.address;
	r->size = a.size;
	r->variable = a.variable;
	r->context = m->session->context;
	ever = true;
	pthread_mutex_lock(&lock);
	map_insert(&mirrors, &r->node);
	pthread_mutex_unlock(&lock);
}

void serve_mirror_drop(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_mirror a;
	struct mirror *r;

	(void)ops;
	msg_args(m, &a, sizeof a);
	m->error = CUDA_SUCCESS; /* its context may be gone */
	r = holder(a.address, 1);
	if (!m->broken && (!r || r->node.key != a.address))
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (!msg_bad(m))
		drop(r);
}

void mirrors_unmapped(uint64_t address, uint64_t size)
{
	struct mirror *r;

	while ((r = (struct mirror *)map_above(&mirrors, address)) && r->node.key - address < size)
		drop(r);
}

void mirrors_ending(CUcontext context)
{
	struct mirror *r;
	uint64_t at = 0;

	while ((r = (struct mirror *)map_above(&mirrors, at))) {
		at = r->node.key + 1;
		if (r->variable && r->context == context)
			drop(r);
	}
}

void mirrors_unloaded(const struct cuda_ops *ops)
{
	struct mirror *r;
	uint64_t at = 0;

	while ((r = (struct mirror *)map_above(&mirrors, at))) {
		at = r->node.key + 1;
		if (r->variable && !is_variable(ops, r->node.key, r->size))
			drop(r);
	}
}

/* ---- what has changed ---- */

/* Nothing is lost with bytes for memory that is no mirror any more. */
void serve_mirror_up(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_mirror a;
	struct mirror *r;

	(void)ops;
	m->error = CUDA_SUCCESS; /* wherever they were written: in a host function, too */
	msg_args(m, &a, sizeof a);
	const void *bytes = msg_in(m, true, a.size);
	if (msg_bad(m) || !a.size)
		return;
	pthread_mutex_lock(&lock); /* or it would look like the device's doing */
	r = holder(a.address, a.size);
	if (r)
		diff_apply((void *)(uintptr_t)a.address, r->agreed + (a.address - r->node.key), bytes, a.size);
	pthread_mutex_unlock(&lock);
}

/* As many runs as fit; false: there are more. */
static bool put_runs(struct mirror *r, uint64_t *cursor, uint8_t *out, size_t *used, uint32_t *runs)
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
		memcpy(r->agreed + at, now + at, length); /* once: the device may be writing */
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
	pthread_mutex_lock(&lock);
	r = holder(head.cursor, 1);
	if (!r)
		r = (struct mirror *)map_above(&mirrors, head.cursor);
	for (; r && all; r = (struct mirror *)map_above(&mirrors, head.cursor))
		all = put_runs(r, &head.cursor, out + sizeof head, &used, &head.runs);
	pthread_mutex_unlock(&lock);
	head.more = !all;
	memcpy(out, &head, sizeof head);
	m->out_used = out - m->out + sizeof head + used;
}

int mirrors_now(struct session *s, const struct frame *f)
{
	static struct msg m; /* of the pump, which is one */

	if (!msg_init(&m, s, f))
		return -EPROTO;
	if (f->op == WIRE_MIRROR_UP)
		serve_mirror_up(NULL, &m);
	else
		serve_mirror_down(NULL, &m);
	return msg_finish(&m, f->op == WIRE_MIRROR_DOWN);
}

/* Everybody who is told something is told of this first; nobody is told twice of the same. */
void mirrors_tell(struct session *s)
{
	static uint32_t times;
	struct map_node *n;
	bool changed = false;

	if (link_peer(s->link)->local)
		return;
	pthread_mutex_lock(&lock);
	for (uint64_t at = 0; !changed && (n = map_above(&mirrors, at)); at = n->key + 1) {
		struct mirror *r = (struct mirror *)n;
		changed = memcmp((const void *)(uintptr_t)n->key, r->agreed, r->size) != 0;
	}
	if (changed)
		word_set(s->link, WIRE_MIRROR_WORD, ++times, NULL, 0);
	pthread_mutex_unlock(&lock);
}
