/* Builds the control flow graph: basic blocks, edges, and the reverse post order of the reachable blocks. */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <string.h>

bool ptx_inst_ends(const struct ptx_inst *in)
{
	if (in->guard != PTX_NOREG)
		return false;
	switch (in->op) {
	case PTX_OP_bra:
	case PTX_OP_brx_idx:
	case PTX_OP_ret:
	case PTX_OP_exit:
	case PTX_OP_trap:
		return true;
	}
	return false;
}

static bool ends_block(const struct ptx_inst *in)
{
	return in->op == PTX_OP_bra || in->op == PTX_OP_brx_idx || in->op == PTX_OP_ret || in->op == PTX_OP_exit ||
	       in->op == PTX_OP_trap;
}

/* The targets of a jump, as operands of kind PTX_O_LABEL. */
static const struct ptx_operand *jump_targets(const struct ptx_inst *in, uint32_t *n)
{
	*n = 0;
	if (in->op == PTX_OP_bra) {
		*n = 1;
		return &in->ops[0];
	}
	if (in->op == PTX_OP_brx_idx) {
		*n = in->ops[1].n;
		return in->ops[1].elem;
	}
	return NULL;
}

static void mark_block_starts(struct ptx_function *f, uint32_t *mark)
{
	uint32_t n;

	mark[0] = 1;
	for (uint32_t i = 0; i < f->ninsts; i++) {
		const struct ptx_operand *t = jump_targets(&f->insts[i], &n);

		for (uint32_t k = 0; k < n; k++)
			mark[t[k].reg] = 1;
		if (ends_block(&f->insts[i]) && i + 1 < f->ninsts)
			mark[i + 1] = 1;
	}
}

static int cfg_make_blocks(struct ptx_function *f)
{
	struct ptx_arena *a = f->module->arena;
	uint32_t n = 0;

	f->block_of = arena_alloc(a, f->ninsts, sizeof *f->block_of);
	if (!f->block_of)
		return -ENOMEM;
	mark_block_starts(f, f->block_of);
	for (uint32_t i = 0; i < f->ninsts; i++)
		n += f->block_of[i];
	f->blocks = arena_alloc(a, n, sizeof *f->blocks);
	if (!f->blocks)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->ninsts; i++) {
		if (f->block_of[i])
			f->blocks[f->nblocks++].first = i;
		f->block_of[i] = f->nblocks - 1;
		f->blocks[f->nblocks - 1].end = i + 1;
	}
	return 0;
}

/* Adds each successor once: until the order is known, rpo holds the block that last added an edge here. */
static void add_succ(struct ptx_function *f, struct ptx_block *b, uint32_t to)
{
	uint32_t stamp = b - f->blocks + 1;

	if (f->blocks[to].rpo == stamp)
		return;
	f->blocks[to].rpo = stamp;
	b->succ[b->nsucc++] = to;
	f->blocks[to].npred++;
}

enum { MAX_EDGES = 1 << 24 };

static int cfg_make_edges(struct ptx_function *f)
{
	struct ptx_arena *a = f->module->arena;
	uint64_t room = 0;
	uint32_t n;

	for (uint32_t b = 0; b < f->nblocks; b++) {
		struct ptx_block *k = &f->blocks[b];
		const struct ptx_inst *last = &f->insts[k->end - 1];
		const struct ptx_operand *t = jump_targets(last, &n);

		/* Many brx through one long list of labels would use memory out of proportion to the text. */
		room += n + 1;
		if (room > MAX_EDGES)
			return -E2BIG;
		k->succ = arena_alloc(a, n + 1, sizeof *k->succ);
		if (!k->succ)
			return -ENOMEM;
		if (!ptx_inst_ends(last))
			add_succ(f, k, b + 1);
		for (uint32_t i = 0; i < n; i++)
			add_succ(f, k, f->block_of[t[i].reg]);
	}
	for (uint32_t b = 0; b < f->nblocks; b++) {
		f->blocks[b].pred = arena_alloc(a, f->blocks[b].npred, sizeof(uint32_t));
		if (!f->blocks[b].pred)
			return -ENOMEM;
		f->blocks[b].npred = 0;
	}
	for (uint32_t b = 0; b < f->nblocks; b++) {
		for (uint32_t i = 0; i < f->blocks[b].nsucc; i++) {
			struct ptx_block *to = &f->blocks[f->blocks[b].succ[i]];

			to->pred[to->npred++] = b;
		}
	}
	return 0;
}

/* Depth first, without recursion: hostile text may have a million blocks in a row. */
static int order_blocks(struct ptx_function *f)
{
	struct ptx_arena *a = f->module->arena;
	uint32_t *stack = arena_alloc(a, f->nblocks, sizeof *stack);
	uint32_t *at = arena_alloc(a, f->nblocks, sizeof *at); /* by block: successors visited so far */
	uint32_t top = 0, n = f->nblocks;

	f->rpo = arena_alloc(a, f->nblocks, sizeof *f->rpo);
	if (!stack || !at || !f->rpo)
		return -ENOMEM;
	for (uint32_t b = 0; b < f->nblocks; b++)
		f->blocks[b].rpo = PTX_NOREG;
	stack[top++] = 0;
	f->blocks[0].rpo = 0;
	while (top) {
		uint32_t b = stack[top - 1];
		struct ptx_block *k = &f->blocks[b];

		if (at[b] == k->nsucc) {
			f->rpo[--n] = b;
			top--;
			continue;
		}
		/* Visit the last successor first, so that a fall-through comes early in the order. */
		b = k->succ[k->nsucc - ++at[b]];
		if (f->blocks[b].rpo == PTX_NOREG) {
			f->blocks[b].rpo = 0;
			stack[top++] = b;
		}
	}
	f->nrpo = f->nblocks - n;
	memmove(f->rpo, f->rpo + n, f->nrpo * sizeof *f->rpo);
	for (uint32_t i = 0; i < f->nrpo; i++)
		f->blocks[f->rpo[i]].rpo = i;
	return 0;
}

int ptx_pass_cfg(struct ptx_function *f)
{
	int err = cfg_make_blocks(f);

	if (!err)
		err = cfg_make_edges(f);
	if (!err)
		err = order_blocks(f);
	return err;
}

int ptx_function_analyze(struct ptx_function *f)
{
	int err = ptx_function_body(f);

	if (err || f->state & STATE_ANALYZED)
		return err;
	f->nblocks = 0;
	err = ptx_pass_cfg(f);
	if (!err)
		err = ptx_pass_dom(f);
	if (!err)
		err = ptx_pass_live(f);
	if (!err)
		f->state |= STATE_ANALYZED;
	return err;
}
