/*
 * What a kernel needs at run time: shared memory and local frames over
 * everything it can call.
 */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <stdlib.h>

/* Variables of module scope and of .func bodies keep one offset for all kernels. */
static void place_common(struct ptx_module *m, struct ptx_var *v)
{
	if (m->head)
		m = m->head;
	if (v->placed || v->unsized)
		return;
	v->offset = align_up(m->shared_common, v->align);
	m->shared_common = v->offset + v->size;
	v->placed = true;
}

struct walk {
	struct ptx_function *entry;
	struct ptx_function **list; /* reached, the entry first */
	uint32_t n;
	bool indirect;
	uint64_t common_end;
};

static int reach(struct walk *w, struct ptx_function *f)
{
	struct ptx_function **l;

	f = ptx_function_definition(f);
	if (f->state & STATE_BUSY || !f->is_defined)
		return 0;
	/* Not from the arena: a module of many entries would keep as many lists. */
	if (!(w->n & (w->n - 1))) {
		l = realloc(w->list, (w->n ? w->n * 2 : 1) * sizeof *l);
		if (!l)
			return -ENOMEM;
		w->list = l;
	}
	f->state |= STATE_BUSY;
	f->index = w->n;
	w->list[w->n++] = f;
	return 0;
}

/* Anything whose address is taken anywhere may be what an indirect call calls. */
static int reach_indirect(struct walk *w)
{
	struct ptx_module *m = w->entry->module;
	int err = 0;

	for (m = m->head ? m->head : m; m; m = m->peer)
		for (struct ptx_function *f = m->functions; f && !err; f = f->next)
			if (f->address_taken)
				err = reach(w, f);
	return err;
}

static int visit(struct walk *w, struct ptx_function *f)
{
	int err = ptx_function_body(f);

	if (err) {
		if (f != w->entry)
			w->entry->error = f->error;
		return err;
	}
	for (uint32_t i = 0; i < f->ncallees && !err; i++)
		err = reach(w, f->callees[i]);
	w->indirect |= f->has_indirect_call;
	for (uint32_t i = 0; i < f->nshared_used; i++) {
		struct ptx_var *v = ptx_var_definition(f->shared_used[i]);

		if (v->owner && v->owner->is_entry)
			continue;
		place_common(f->module, v);
		if (v->placed && v->offset + v->size > w->common_end)
			w->common_end = v->offset + v->size;
	}
	return err;
}

/* Everything the entry can reach, breadth first. */
static int walk(struct walk *w)
{
	int err = reach(w, w->entry);

	for (uint32_t i = 0; i < w->n && !err; i++) {
		err = visit(w, w->list[i]);
		if (!err && w->indirect && i + 1 == w->n)
			err = reach_indirect(w);
	}
	for (uint32_t i = 0; i < w->n; i++)
		w->list[i]->state &= ~STATE_BUSY;
	return err;
}

static void place_own(struct ptx_function *f, uint64_t start)
{
	uint64_t end = start;

	for (struct ptx_var *v = f->vars; v; v = v->next) {
		if (v->space != PTX_SHARED || v->unsized)
			continue;
		v->offset = align_up(end, v->align);
		v->placed = true;
		end = v->offset + v->size;
	}
	f->shared_static = align_up(end, 16);
}

/*
 * The deepest chain of frames: functions are taken in the order "all my
 * callees are done"; those that never come up call each other in circles.
 */
struct callers {
	uint32_t *first; /* per function: head of its list of edges; 0 ends, else edge + 1 */
	uint32_t *next, *caller;
	uint32_t *left; /* per function: callees that are not done */
};

static int find_callers(struct walk *w, struct callers *c)
{
	uint32_t edges = 1, e = 0;

	for (uint32_t i = 0; i < w->n; i++)
		edges += w->list[i]->ncallees;
	c->first = calloc(w->n, sizeof *c->first);
	c->left = calloc(w->n, sizeof *c->left);
	c->next = calloc(edges, sizeof *c->next);
	c->caller = calloc(edges, sizeof *c->caller);
	if (!c->first || !c->left || !c->next || !c->caller)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->n; i++) {
		struct ptx_function *f = w->list[i];

		for (uint32_t k = 0; k < f->ncallees; k++) {
			struct ptx_function *callee = ptx_function_definition(f->callees[k]);

			if (!callee->is_defined)
				continue;
			c->caller[e] = i;
			c->next[e] = c->first[callee->index];
			c->first[callee->index] = ++e;
			c->left[i]++;
		}
	}
	return 0;
}

static void free_callers(struct callers *c)
{
	free(c->first);
	free(c->left);
	free(c->next);
	free(c->caller);
}

/* below: per function, the deepest chain under it; ready: room for the order. Returns how many came up. */
static uint32_t take_in_order(struct walk *w, struct callers *c, uint64_t *below, uint32_t *ready)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n; i++)
		if (!c->left[i])
			ready[n++] = i;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = ready[k];
		uint64_t deep = below[i] + align_up(w->list[i]->local_size, 16);

		for (uint32_t e = c->first[i]; e; e = c->next[e - 1]) {
			uint32_t caller = c->caller[e - 1];

			if (deep > below[caller])
				below[caller] = deep;
			if (!--c->left[caller])
				ready[n++] = caller;
		}
	}
	return n;
}

static int add_frames(struct walk *w)
{
	uint64_t *below = calloc(w->n, sizeof *below);
	uint32_t *ready = calloc(w->n, sizeof *ready);
	struct callers c = {0};
	int err = -ENOMEM;

	if (below && ready && !find_callers(w, &c)) {
		uint32_t n = take_in_order(w, &c, below, ready);

		w->entry->local_total = below[0] + align_up(w->entry->local_size, 16);
		w->entry->local_unbounded = n < w->n || w->indirect;
		err = 0;
	}
	free_callers(&c);
	free(below);
	free(ready);
	return err;
}

int ptx_kernel_layout(struct ptx_function *f)
{
	struct walk w = {.entry = f};
	int err;

	if (f->state & STATE_LAYOUT)
		return 0;
	err = ptx_function_body(f);
	if (err)
		return err;
	err = walk(&w);
	if (!err) {
		place_own(f, w.common_end);
		err = add_frames(&w);
	}
	free(w.list);
	if (!err)
		f->state |= STATE_LAYOUT;
	return err;
}
