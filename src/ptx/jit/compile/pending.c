/*
 * Pending blocks: while some lanes run a block, others may wait to run another one.  For each block this pass finds the
 * set of blocks that may be pending then.
 *
 *	order:  D, T, J		D: @p bra T; else J		pending while T runs: {J}
 *
 * At the end of a block, code continues with the first pending block that any lane waits for.  Blocks are tried in
 * order; the header of a loop, reached by a back edge, comes after the last block of the loop.
 *
 * A block that runs while nothing else can be pending has all live lanes.  Registers that a pending block reads keep
 * the values of the waiting lanes: `keep` is the set of these registers.
 */
#include "ptx/jit/compile/compile.h"

#include <errno.h>
#include <string.h>

bool block_only_exits(const struct compiler *c, uint32_t b)
{
	const struct ptx_block *k = &c->f->blocks[b];
	const struct ptx_inst *in = &c->f->insts[k->first];

	return b && k->end == k->first + 1 && in->guard == PTX_NOREG && (in->op == PTX_OP_ret || in->op == PTX_OP_exit);
}

static uint64_t block_key(const struct compiler *c, uint32_t from, uint32_t b)
{
	uint64_t at = c->position[b];

	if (at > c->position[from])
		return at << 33;
	/* By a back edge. Of two loops with the same last block the inner one comes first. */
	return ((uint64_t)c->loops[b].last << 33 | UINT64_C(1) << 32) + (UINT32_MAX - at);
}

uint32_t pending_candidates(const struct compiler *c, uint32_t from, const uint64_t *set, uint32_t *list)
{
	uint32_t n = 0, k;

	for (uint32_t w = 0; w < c->words; w++) {
		for (uint64_t bits = set[w]; bits; bits &= bits - 1) {
			uint32_t b = w * 64 + (uint32_t)__builtin_ctzll(bits);

			for (k = n++; k && block_key(c, from, list[k - 1]) > block_key(c, from, b); k--)
				list[k] = list[k - 1];
			list[k] = b;
		}
	}
	return n;
}

/* Lanes leave block b, and any of `set` may be pending then. True if a set grew. */
static bool pending_flow(struct compiler *c, uint32_t b, const uint64_t *set)
{
	uint64_t *rest = c->scratch;
	uint32_t n = pending_candidates(c, b, set, c->list);
	bool changed = false;

	memcpy(rest, set, c->words * 8);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *p = block_pending(c, c->list[i]);

		rest[c->list[i] / 64] &= ~(UINT64_C(1) << c->list[i] % 64);
		for (uint32_t w = 0; w < c->words; w++) {
			changed |= (rest[w] & ~p[w]) != 0;
			p[w] |= rest[w];
		}
	}
	return changed;
}

static bool pending_block(struct compiler *c, uint32_t b)
{
	const struct ptx_block *k = &c->f->blocks[b];
	uint64_t *set = c->scratch + c->words;
	bool changed = false, diverges = c->f->divergent[b];

	memcpy(set, block_pending(c, b), c->words * 8);
	if (!k->nsucc)
		return pending_flow(c, b, set);
	for (uint32_t i = 0; i < k->nsucc; i++) {
		uint32_t s = k->succ[i];

		if (!diverges)
			memcpy(set, block_pending(c, b), c->words * 8);
		if (!block_only_exits(c, s))
			set[s / 64] |= UINT64_C(1) << s % 64;
		if (!diverges || i + 1 == k->nsucc)
			changed |= pending_flow(c, b, set);
	}
	return changed;
}

static void keep_registers(struct compiler *c, uint32_t b)
{
	const uint64_t *p = block_pending(c, b);

	for (uint32_t w = 0; w < c->words; w++)
		for (uint64_t bits = p[w]; bits; bits &= bits - 1) {
			const uint64_t *in = c->f->blocks[w * 64 + (uint32_t)__builtin_ctzll(bits)].live_in;

			for (uint32_t r = 0; r < c->reg_words; r++)
				block_keep(c, b)[r] |= in[r];
		}
}

struct kept_write {
	struct compiler *c;
	uint32_t block;
	bool found;
};

static void check_write(void *data, uint32_t r)
{
	struct kept_write *k = data;

	if (reg_kept(k->c, k->block, r) && k->c->f->shapes[r].kind != PTX_SHAPE_VARYING)
		k->found = true;
}

/* A register in one scalar has one value for all lanes: it must not be written while other lanes need the old one. */
static bool shapes_hold(struct compiler *c, uint32_t b)
{
	struct kept_write k = {c, b, false};

	for (uint32_t i = c->f->blocks[b].first; i < c->f->blocks[b].end; i++)
		ptx_inst_regs(&c->f->insts[i], NULL, check_write, &k);
	return !k.found;
}

int compile_pending(struct compiler *c)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < c->norder; i++)
			changed |= pending_block(c, c->order[i]);
	}
	for (uint32_t i = 0; i < c->norder; i++) {
		keep_registers(c, c->order[i]);
		if (!shapes_hold(c, c->order[i]))
			return compile_fail(c, -ENOTSUP, "a uniform register is written while other lanes need it");
	}
	return 0;
}
