/*
 * Puts the blocks in the order in which compiled code tries them: topological but for back edges, and with the blocks
 * of each loop together.  Lanes that leave a loop then wait until the last lane has left it.
 *
 * Irreducible control flow (a loop with two entries) is not compiled; no compiler's output has it.
 */
#include "ptx/jit/compile/compile.h"

#include <errno.h>
#include <stdlib.h>

static bool block_dominates(const struct ptx_function *f, uint32_t a, uint32_t b)
{
	while (f->blocks[b].rpo > f->blocks[a].rpo)
		b = f->blocks[b].idom;
	return a == b;
}

bool loop_contains(const struct compiler *c, uint32_t header, uint32_t block)
{
	uint32_t l = c->loop_of[block];

	while (l != NO_BLOCK && l != header)
		l = c->loops[l].parent;
	return l == header;
}

/* Adds to loop `header` the blocks that reach `latch` backwards. stack: room for all edges */
static void loop_collect(struct compiler *c, uint32_t header, uint32_t latch, uint32_t *stack)
{
	const struct ptx_function *f = c->f;
	uint32_t n = 0;

	stack[n++] = latch;
	while (n) {
		uint32_t b = stack[--n], l = c->loop_of[b];

		if (l != NO_BLOCK) { /* b is in an inner loop, which becomes a part of this one */
			while (l != header && c->loops[l].parent != NO_BLOCK)
				l = c->loops[l].parent;
			if (l == header)
				continue;
			c->loops[l].parent = header;
			b = l;
		} else {
			c->loop_of[b] = header;
		}
		for (uint32_t i = 0; i < f->blocks[b].npred; i++)
			if (f->blocks[f->blocks[b].pred[i]].rpo != PTX_NOREG)
				stack[n++] = f->blocks[b].pred[i];
	}
}

static int find_loops(struct compiler *c, uint32_t *stack)
{
	const struct ptx_function *f = c->f;

	for (uint32_t i = f->nrpo; i-- > 0;) { /* inner headers come before outer ones */
		uint32_t h = f->rpo[i];
		bool is_header = false;

		for (uint32_t k = 0; k < f->blocks[h].npred; k++) {
			uint32_t latch = f->blocks[h].pred[k];

			if (f->blocks[latch].rpo == PTX_NOREG || f->blocks[latch].rpo < i)
				continue;
			if (!block_dominates(f, h, latch))
				return compile_fail(c, -ENOTSUP, "a loop has two entries");
			if (!is_header)
				c->loop_of[h] = h;
			is_header = true;
			loop_collect(c, h, latch, stack);
		}
	}
	return 0;
}

static uint32_t count_forward_preds(const struct compiler *c, uint32_t b)
{
	const struct ptx_function *f = c->f;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->blocks[b].npred; i++)
		n += f->blocks[f->blocks[b].pred[i]].rpo < f->blocks[b].rpo;
	return n;
}

/* The ready block to place next: one of the open loop if that has any left, and the first in reverse post order. */
static uint32_t choose_ready(const struct compiler *c, const uint32_t *ready, uint32_t n, uint32_t open)
{
	uint32_t best = NO_BLOCK;

	for (uint32_t i = 0; i < n; i++) {
		if (open != NO_BLOCK && !loop_contains(c, open, ready[i]))
			continue;
		if (best == NO_BLOCK || c->f->blocks[ready[i]].rpo < c->f->blocks[ready[best]].rpo)
			best = i;
	}
	return best;
}

/* Places a block; returns the loop that is open afterwards. */
static uint32_t place_block(struct compiler *c, uint32_t b, uint32_t open)
{
	c->position[b] = c->norder;
	c->order[c->norder++] = b;
	if (c->loop_of[b] == b)
		open = b;
	for (uint32_t l = c->loop_of[b]; l != NO_BLOCK; l = c->loops[l].parent) {
		c->loops[l].last = c->position[b];
		c->loops[l].left--;
	}
	while (open != NO_BLOCK && !c->loops[open].left)
		open = c->loops[open].parent;
	return open;
}

static int place_all(struct compiler *c, uint32_t *ready, uint32_t *waits)
{
	const struct ptx_function *f = c->f;
	uint32_t n = 0, open = NO_BLOCK;

	for (uint32_t i = 0; i < f->nrpo; i++) {
		waits[f->rpo[i]] = count_forward_preds(c, f->rpo[i]);
		for (uint32_t l = c->loop_of[f->rpo[i]]; l != NO_BLOCK; l = c->loops[l].parent)
			c->loops[l].left++;
	}
	ready[n++] = 0;
	while (n) {
		uint32_t at = choose_ready(c, ready, n, open), b;

		if (at == NO_BLOCK)
			return compile_fail(c, -ENOTSUP, "a loop has two entries");
		b = ready[at];
		ready[at] = ready[--n];
		open = place_block(c, b, open);
		for (uint32_t i = 0; i < f->blocks[b].nsucc; i++) {
			uint32_t s = f->blocks[b].succ[i];

			if (f->blocks[s].rpo > f->blocks[b].rpo && !--waits[s])
				ready[n++] = s;
		}
	}
	return 0;
}

int compile_order(struct compiler *c)
{
	const struct ptx_function *f = c->f;
	uint32_t edges = f->nblocks + 1, *scratch;
	int err;

	for (uint32_t b = 0; b < f->nblocks; b++) {
		edges += f->blocks[b].npred;
		c->loop_of[b] = c->loops[b].parent = NO_BLOCK;
	}
	/* Every block is taken from the stack once for each loop around it. */
	scratch = calloc((size_t)edges * 2 + f->nblocks, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	err = find_loops(c, scratch);
	if (!err)
		err = place_all(c, scratch, scratch + (size_t)edges * 2);
	free(scratch);
	return err;
}
