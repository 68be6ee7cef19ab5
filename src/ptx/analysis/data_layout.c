/* Lays out the memory of a kernel (ptx_kernel_layout): shared variables and local frames of reachable functions. */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <stdlib.h>

/* Shared variables of module scope and of .func bodies have one offset in all kernels. */
static void place_common_var(struct ptx_module *m, struct ptx_var *v)
{
	if (m->head)
		m = m->head;
	if (v->placed || v->unsized)
		return;
	v->offset = ptx_align_up(m->shared_common, v->align);
	m->shared_common = v->offset + v->size;
	v->placed = true;
}

struct call_walk {
	struct ptx_function *entry;
	struct ptx_function **list; /* functions reached, the entry first */
	uint32_t n;
	bool indirect;
	uint64_t common_end; /* of the common shared variables that the kernel reaches */
};

static int walk_reach(struct call_walk *w, struct ptx_function *f)
{
	struct ptx_function **l;

	f = ptx_function_definition(f);
	if (f->state & STATE_BUSY || !f->is_defined)
		return 0;
	/* Not from the arena, which would keep one list for each entry of the module. */
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

/* An indirect call may reach any function whose address is taken. */
static int walk_reach_indirect(struct call_walk *w)
{
	struct ptx_module *m = w->entry->module;
	int err = 0;

	for (m = m->head ? m->head : m; m; m = m->peer)
		for (struct ptx_function *f = m->functions; f && !err; f = f->next)
			if (f->address_taken)
				err = walk_reach(w, f);
	return err;
}

static int walk_visit(struct call_walk *w, struct ptx_function *f)
{
	int err = ptx_function_body(f);

	if (err) {
		if (f != w->entry)
			w->entry->error = f->error;
		return err;
	}
	for (uint32_t i = 0; i < f->ncallees && !err; i++)
		err = walk_reach(w, f->callees[i]);
	w->indirect |= f->has_indirect_call;
	for (uint32_t i = 0; i < f->nshared_used; i++) {
		struct ptx_var *v = ptx_var_definition(f->shared_used[i]);

		if (v->owner && v->owner->is_entry)
			continue;
		place_common_var(f->module, v);
		if (v->placed && v->offset + v->size > w->common_end)
			w->common_end = v->offset + v->size;
	}
	return err;
}

/* Collects all functions that the entry can reach, breadth first. */
static int walk_callees(struct call_walk *w)
{
	int err = walk_reach(w, w->entry);

	for (uint32_t i = 0; i < w->n && !err; i++) {
		err = walk_visit(w, w->list[i]);
		if (!err && w->indirect && i + 1 == w->n)
			err = walk_reach_indirect(w);
	}
	for (uint32_t i = 0; i < w->n; i++)
		w->list[i]->state &= ~STATE_BUSY;
	return err;
}

static void place_entry_vars(struct ptx_function *f, uint64_t start)
{
	uint64_t end = start;

	for (struct ptx_var *v = f->vars; v; v = v->next) {
		if (v->space != PTX_SHARED || v->unsized)
			continue;
		v->offset = ptx_align_up(end, v->align);
		v->placed = true;
		end = v->offset + v->size;
	}
	f->shared_static = ptx_align_up(end, 16);
}

/*
 * The call graph by callee, to find the deepest chain of frames: a function is done when all its callees are; functions
 * that are never done are recursive.
 */
struct caller_lists {
	uint32_t *first;         /* by function: the first edge from a caller, plus 1; 0: none */
	uint32_t *next, *caller; /* by edge */
	uint32_t *left;          /* by function: callees that are not done */
};

static int caller_lists_init(struct call_walk *w, struct caller_lists *c)
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

static void caller_lists_finish(struct caller_lists *c)
{
	free(c->first);
	free(c->left);
	free(c->next);
	free(c->caller);
}

/* below: by function, the size of its deepest chain of callees. ready: scratch. Returns the number done. */
static uint32_t sum_frames(struct call_walk *w, struct caller_lists *c, uint64_t *below, uint32_t *ready)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n; i++)
		if (!c->left[i])
			ready[n++] = i;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = ready[k];
		uint64_t deep = below[i] + ptx_align_up(w->list[i]->local_size, 16);

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

static int compute_local_total(struct call_walk *w)
{
	uint64_t *below = calloc(w->n, sizeof *below);
	uint32_t *ready = calloc(w->n, sizeof *ready);
	struct caller_lists c = {0};
	int err = -ENOMEM;

	if (below && ready && !caller_lists_init(w, &c)) {
		uint32_t n = sum_frames(w, &c, below, ready);

		w->entry->local_total = below[0] + ptx_align_up(w->entry->local_size, 16);
		w->entry->local_unbounded = n < w->n || w->indirect;
		err = 0;
	}
	caller_lists_finish(&c);
	free(below);
	free(ready);
	return err;
}

int ptx_kernel_layout(struct ptx_function *f)
{
	struct call_walk w = {.entry = f};
	int err;

	if (f->state & STATE_LAYOUT)
		return 0;
	err = ptx_function_body(f);
	if (err)
		return err;
	err = walk_callees(&w);
	if (!err) {
		place_entry_vars(f, w.common_end);
		err = compute_local_total(&w);
	}
	free(w.list);
	if (!err)
		f->state |= STATE_LAYOUT;
	return err;
}
