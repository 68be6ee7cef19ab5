/*
 * Computes immediate dominators and post-dominators, by the iterative algorithm of Cooper, Harvey and Kennedy over the
 * reverse post order.  For post-dominators the graph is reversed, with a virtual block after every end of the function
 * as its entry.
 */
#include "ptx/parse/parse.h"

#include <errno.h>

/* Nodes are numbered in reverse post order; node 0 is the entry. */
struct dom_graph {
	uint32_t n;
	uint32_t *first, *pred; /* predecessors of node i: pred[first[i] .. first[i + 1]) */
	uint32_t *idom;
};

/* Limit against graphs that are built to make the iteration slow. */
enum { MAX_STEPS = 1 << 30 };

static uint32_t common_dominator(const uint32_t *idom, uint32_t a, uint32_t b, uint32_t *steps)
{
	while (a != b) {
		for (; a > b; ++*steps)
			a = idom[a];
		for (; b > a; ++*steps)
			b = idom[b];
	}
	return a;
}

static int solve_dominators(struct dom_graph *g)
{
	uint32_t steps = 0;
	bool changed = true;

	for (uint32_t i = 0; i < g->n; i++)
		g->idom[i] = PTX_NOREG;
	g->idom[0] = 0;
	while (changed) {
		changed = false;
		for (uint32_t i = 1; i < g->n; i++) {
			uint32_t d = PTX_NOREG;

			for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++) {
				uint32_t p = g->pred[k];

				if (g->idom[p] != PTX_NOREG)
					d = d == PTX_NOREG ? p : common_dominator(g->idom, d, p, &steps);
			}
			if (d != g->idom[i]) {
				g->idom[i] = d;
				changed = true;
			}
			if (++steps > MAX_STEPS)
				return -E2BIG;
		}
	}
	return 0;
}

static int dom_graph_init(struct dom_graph *g, struct ptx_arena *a, uint32_t n, uint32_t edges)
{
	*g = (struct dom_graph){.n = n};
	g->first = arena_alloc(a, n + 1, sizeof *g->first);
	g->pred = arena_alloc(a, edges, sizeof *g->pred);
	g->idom = arena_alloc(a, n, sizeof *g->idom);
	return g->first && g->pred && g->idom ? 0 : -ENOMEM;
}

static uint32_t count_edges(const struct ptx_function *f)
{
	uint32_t n = 0;

	for (uint32_t b = 0; b < f->nblocks; b++)
		n += f->blocks[b].nsucc + 1;
	return n;
}

static int compute_dominators(struct ptx_function *f)
{
	struct dom_graph g;
	uint32_t e = 0;

	if (dom_graph_init(&g, f->module->arena, f->nrpo, count_edges(f)))
		return -ENOMEM;
	for (uint32_t i = 0; i < f->nrpo; i++) {
		const struct ptx_block *b = &f->blocks[f->rpo[i]];

		g.first[i] = e;
		for (uint32_t k = 0; k < b->npred; k++)
			if (f->blocks[b->pred[k]].rpo != PTX_NOREG)
				g.pred[e++] = f->blocks[b->pred[k]].rpo;
	}
	g.first[f->nrpo] = e;
	if (solve_dominators(&g))
		return -E2BIG;
	for (uint32_t b = 0; b < f->nblocks; b++) {
		struct ptx_block *k = &f->blocks[b];

		k->idom = k->rpo == PTX_NOREG ? PTX_NOREG : f->rpo[g.idom[k->rpo]];
	}
	return 0;
}

/* The reversed graph: blocks have numbers from 1 in its reverse post order; number 0 is the virtual end. */
struct reversed_cfg {
	uint32_t *number; /* block -> number, 0: not visited */
	uint32_t *block;  /* number -> block */
	uint32_t *stack, *at;
	uint32_t n;
};

static void reversed_visit(struct ptx_function *f, struct reversed_cfg *t, uint32_t root, uint32_t *post)
{
	uint32_t top = 0;

	t->stack[top++] = root;
	t->number[root] = 1;
	while (top) {
		uint32_t b = t->stack[top - 1];
		const struct ptx_block *k = &f->blocks[b];

		if (t->at[b] == k->npred) {
			post[t->n++] = b;
			top--;
			continue;
		}
		b = k->pred[t->at[b]++];
		if (f->blocks[b].rpo != PTX_NOREG && !t->number[b]) {
			t->number[b] = 1;
			t->stack[top++] = b;
		}
	}
}

static bool block_ends_function(const struct ptx_function *f, const struct ptx_block *b)
{
	const struct ptx_inst *last = &f->insts[b->end - 1];

	return !b->nsucc || last->op == PTX_OP_ret || last->op == PTX_OP_exit || last->op == PTX_OP_trap;
}

/* A block with a guarded ret or exit both ends the function (for some lanes) and has a successor. */
static int reversed_init(struct ptx_function *f, struct reversed_cfg *t)
{
	struct ptx_arena *a = f->module->arena;
	uint32_t *post = arena_alloc(a, f->nblocks, sizeof *post);

	*t = (struct reversed_cfg){0};
	t->number = arena_alloc(a, f->nblocks, sizeof *t->number);
	t->block = arena_alloc(a, f->nblocks + 1, sizeof *t->block);
	t->stack = arena_alloc(a, f->nblocks, sizeof *t->stack);
	t->at = arena_alloc(a, f->nblocks, sizeof *t->at);
	if (!post || !t->number || !t->block || !t->stack || !t->at)
		return -ENOMEM;
	/* Endless loops reach no end: each gets a root of its own, from the last block backwards. */
	for (uint32_t i = 0; i < f->nrpo; i++)
		if (block_ends_function(f, &f->blocks[f->rpo[i]]) && !t->number[f->rpo[i]])
			reversed_visit(f, t, f->rpo[i], post);
	for (uint32_t i = f->nrpo; i-- > 0;)
		if (!t->number[f->rpo[i]])
			reversed_visit(f, t, f->rpo[i], post);
	for (uint32_t i = 0; i < t->n; i++) {
		t->block[t->n - i] = post[i];
		t->number[post[i]] = t->n - i;
	}
	return 0;
}

static int compute_post_dominators(struct ptx_function *f)
{
	struct reversed_cfg t;
	struct dom_graph g;
	uint32_t e = 0;

	if (reversed_init(f, &t) || dom_graph_init(&g, f->module->arena, t.n + 1, count_edges(f) + t.n))
		return -ENOMEM;
	for (uint32_t i = 1; i <= t.n; i++) {
		const struct ptx_block *b = &f->blocks[t.block[i]];
		bool ahead = false;

		g.first[i] = e;
		for (uint32_t k = 0; k < b->nsucc; k++) {
			g.pred[e++] = t.number[b->succ[k]];
			ahead |= t.number[b->succ[k]] < i;
		}
		if (block_ends_function(f, b) || !ahead)
			g.pred[e++] = 0;
	}
	g.first[t.n + 1] = e;
	if (solve_dominators(&g))
		return -E2BIG;
	for (uint32_t b = 0; b < f->nblocks; b++) {
		uint32_t d = t.number[b] ? g.idom[t.number[b]] : 0;

		f->blocks[b].ipdom = d ? t.block[d] : PTX_NOREG;
	}
	return 0;
}

int ptx_pass_dom(struct ptx_function *f)
{
	int err = compute_dominators(f);

	return err ? err : compute_post_dominators(f);
}
