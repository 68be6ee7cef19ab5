/* Keeps memory that client and worker see in a copy each up to date on both sides. */
#include "server/copy/mirror.h"

#include <errno.h>
#include <stdlib.h>
#include "server/memory/hostmem.h"
#include "server/quota/account.h"
#include "server/session/live_ranges.h"
#include "server/session/message.h"
#include "server/session/pump.h"
#include "util/diff.h"

struct mirror {
	struct map_node node; /* key: the address */
	uint64_t size;
	bool variable;     /* of a module */
	CUcontext context; /* current when the client asked for the mirror */
	uint8_t *agreed;   /* the bytes that both sides had last */
};

/* A variable that a lookup gave out. */
struct variable {
	struct map_node node; /* key: the address */
	uint64_t size, owner;
	CUcontext context; /* current during the lookup; NULL: a library's, which outlives contexts */
};

struct library_module {
	struct map_node node; /* key: the module's handle */
	uint64_t library;
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

static void mirror_drop(struct session *s, struct mirror *r)
{
	struct mirrors *m = &s->mirrors;

	pthread_mutex_lock(&m->lock);
	map_remove(&m->by_address, &r->node);
	pthread_mutex_unlock(&m->lock);
	account_host_give(s->account, r->size);
	account_objects(s->account, -1);
	free(r->agreed);
	free(r);
}

static bool is_known_variable(const struct mirrors *m, uint64_t address, uint64_t size)
{
	struct variable *v = map_holding(&m->variables, address, struct variable, node, size);

	return v && size <= v->size - (address - v->node.key);
}

/* Is all of the range managed memory that host and device may use at the same time?  Needs no context. */
static bool is_managed(const struct cuda_ops *ops, uint64_t address, uint64_t size)
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
		(a.variable ? !is_known_variable(&m->session->mirrors, a.address, a.size) ||
					!is_managed(ops, a.address, a.size)
			    : !hostmem_holds(m->session, a.address, a.size)))
		m->error = CUDA_ERROR_NOT_SUPPORTED;
	if (msg_bad(m))
		return;
	msg_result(m, account_host_take(m->session->account, a.size));
	if (m->result)
		return;
	r = pump_prepare(m->session, m->session->callbacks, true) ? calloc(1, sizeof *r) : NULL;
	if (!r || !(r->agreed = calloc(1, a.size))) { /* zeroed pages cost nothing until written */
		free(r);
		account_host_give(m->session->account, a.size);
		msg_result(m, CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	if (a.clear && !a.variable)
		memset((void *)(uintptr_t)a.address, 0, a.size);
	account_objects(m->session->account, 1);
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
		mirror_drop(m->session, r);
}

void mirrors_unmapped(struct session *s, uint64_t address, uint64_t size)
{
	struct mirror *r;

	while ((r = mirror_above(&s->mirrors, address)) && r->node.key - address < size)
		mirror_drop(s, r);
}

/* A variable that overlaps the range. */
static struct variable *variable_in(const struct mirrors *m, uint64_t address, uint64_t size)
{
	struct variable *v = map_holding(&m->variables, address, struct variable, node, size);

	if (!v)
		v = (struct variable *)map_above(&m->variables, address);
	return v && (v->node.key <= address || v->node.key - address < size) ? v : NULL;
}

/* The variable's memory is about to go: its mirrors go first. */
static void variable_drop(struct session *s, struct variable *v)
{
	struct mirror *r;

	while ((r = mirror_holding(&s->mirrors, v->node.key, 1)))
		mirror_drop(s, r);
	mirrors_unmapped(s, v->node.key, v->size);
	map_remove(&s->mirrors.variables, &v->node);
	free(v);
}

void mirrors_context_ending(struct session *s, CUcontext context)
{
	struct variable *v;
	struct mirror *r;
	uint64_t at = 0;

	while ((r = mirror_above(&s->mirrors, at))) {
		at = r->node.key + 1;
		if (r->variable && r->context == context)
			mirror_drop(s, r);
	}
	for (at = 0; (v = (struct variable *)map_above(&s->mirrors.variables, at));) {
		at = v->node.key + 1;
		if (v->context && v->context == context)
			variable_drop(s, v);
	}
}

/* ---- Variables ---- */

static uint64_t module_library(const struct mirrors *m, uint64_t module)
{
	struct library_module *l = (struct library_module *)map_find(&m->library_modules, module);

	return l ? l->library : 0;
}

void mirrors_library_module(struct session *s, CUmodule module, CUlibrary library)
{
	struct library_module *l = (struct library_module *)map_find(&s->mirrors.library_modules, (uintptr_t)module);
	bool known = l != NULL;

	if (!known && !(l = calloc(1, sizeof *l)))
		return; /* the module's variables are then dropped with their context, and at the latest with the session */
	l->node.key = (uintptr_t)module;
	l->library = (uintptr_t)library;
	if (!known)
		map_insert(&s->mirrors.library_modules, &l->node);
}

void mirrors_variable_found(struct session *s, uint64_t address, uint64_t size, CUmodule module, CUlibrary library)
{
	uint64_t owner = library ? (uintptr_t)library : module_library(&s->mirrors, (uintptr_t)module);
	bool of_module = !owner;
	struct variable *v;

	owner = owner ? owner : (uintptr_t)module;

	if (!size)
		return;
	v = map_holding(&s->mirrors.variables, address, struct variable, node, size);
	if (v && v->node.key == address && v->size == size && v->owner == owner)
		return;
	while ((v = variable_in(&s->mirrors, address, size))) /* stale: its memory is another variable's now */
		variable_drop(s, v);
	v = calloc(1, sizeof *v);
	if (!v)
		return; /* it cannot be mirrored */
	*v = (struct variable){
		.node.key = address, .size = size, .owner = owner, .context = of_module ? s->context : NULL};
	map_insert(&s->mirrors.variables, &v->node);
}

void mirrors_unloading(struct session *s, uint64_t owner)
{
	struct library_module *l;
	struct variable *v;

	for (uint64_t at = 0; (v = (struct variable *)map_above(&s->mirrors.variables, at));) {
		at = v->node.key + 1;
		if (v->owner == owner)
			variable_drop(s, v);
	}
	for (uint64_t at = 0; (l = (struct library_module *)map_above(&s->mirrors.library_modules, at));) {
		at = l->node.key + 1;
		if (l->library == owner || l->node.key == owner) {
			map_remove(&s->mirrors.library_modules, &l->node);
			free(l);
		}
	}
}

void mirrors_freeing(struct session *s, uint64_t address)
{
	struct mirror *r = mirror_holding(&s->mirrors, address, 1);

	if (r && r->variable)
		mirror_drop(s, r);
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
	if (r) {
		live_check(m->session, a.address, a.size, "an update of a mirror");
		diff_apply((void *)(uintptr_t)a.address, r->agreed + (a.address - r->node.key), bytes, a.size);
	}
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
	for (; r && all; r = mirror_above(mirrors, head.cursor)) {
		live_check(m->session, r->node.key, r->size, "a comparison of a mirror");
		all = changed_runs_put(r, &head.cursor, out + sizeof head, &used, &head.runs);
	}
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
	for (uint64_t at = 0; !changed && (r = mirror_above(m, at)); at = r->node.key + 1) {
		live_check(s, r->node.key, r->size, "an announcement of a mirror");
		changed = memcmp((const void *)(uintptr_t)r->node.key, r->agreed, r->size) != 0;
	}
	if (changed)
		word_set(s->link, WIRE_MIRROR_WORD, ++m->changes, NULL, 0);
	pthread_mutex_unlock(&m->lock);
}
