/*
 * Computes the registers that are live on entry to and exit from each block.  A guarded write does not end the life of
 * the old value: lanes whose guard is false keep it.
 */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <string.h>

static void visit_operand(const struct ptx_operand *o, ptx_reg_visitor *v, void *data)
{
	if (o->kind == PTX_O_REG || (o->kind == PTX_O_ADDR && o->reg != PTX_NOREG)) {
		if (v)
			v(data, o->reg);
	} else if (o->kind == PTX_O_VEC) {
		for (uint32_t i = 0; i < o->n; i++)
			visit_operand(&o->elem[i], v, data);
	}
}

void ptx_inst_regs(const struct ptx_inst *in, ptx_reg_visitor *use, ptx_reg_visitor *def, void *data)
{
	unsigned ndest = ptx_inst_ndest(in);

	if (in->guard != PTX_NOREG && use)
		use(data, in->guard);
	for (unsigned i = 0; i < in->nops; i++) {
		bool is_def = i < ndest || (in->op == PTX_OP_call && i == 1);

		visit_operand(&in->ops[i], is_def ? def : use, data);
	}
}

/* Limits for memory and time; no compiler's output reaches them. Larger functions have no liveness sets. */
enum { MAX_WORDS = 1 << 23, MAX_WORK = 1 << 30 };

struct block_sets {
	uint64_t *use, *def; /* use: read before any write in the block */
	bool guarded;
};

static void note_use(void *data, uint32_t r)
{
	struct block_sets *s = data;

	if (!(s->def[r / 64] >> r % 64 & 1))
		s->use[r / 64] |= UINT64_C(1) << r % 64;
}

static void note_def(void *data, uint32_t r)
{
	struct block_sets *s = data;

	if (!s->guarded)
		s->def[r / 64] |= UINT64_C(1) << r % 64;
}

/* s->use is the block's live_in, which starts as the set of its uses. */
static void scan_block_sets(const struct ptx_function *f, const struct ptx_block *b, struct block_sets *s)
{
	for (uint32_t i = b->first; i < b->end; i++) {
		const struct ptx_inst *in = &f->insts[i];

		s->guarded = in->guard != PTX_NOREG;
		ptx_inst_regs(in, note_use, NULL, s);
		ptx_inst_regs(in, NULL, note_def, s);
	}
}

static bool propagate_liveness(struct ptx_function *f, struct ptx_block *b, const uint64_t *def, size_t words)
{
	bool changed = false;

	for (uint32_t k = 0; k < b->nsucc; k++)
		for (size_t w = 0; w < words; w++)
			b->live_out[w] |= f->blocks[b->succ[k]].live_in[w];
	for (size_t w = 0; w < words; w++) {
		uint64_t in = b->live_in[w] | (b->live_out[w] & ~def[w]);

		changed |= in != b->live_in[w];
		b->live_in[w] = in;
	}
	return changed;
}

int ptx_pass_live(struct ptx_function *f)
{
	size_t words = (f->nregs + 63) / 64;
	uint64_t sweep = (uint64_t)f->nblocks * 3 * words, budget = MAX_WORK;
	uint64_t *all;
	bool changed = true;

	if (sweep > MAX_WORDS)
		return 0;
	all = arena_alloc(f->module->arena, sweep ? sweep : 1, 8);
	if (!all)
		return -ENOMEM;
	for (uint32_t b = 0; b < f->nblocks; b++) {
		struct block_sets s = {.use = all + b * 3 * words, .def = all + (b * 3 + 2) * words};

		f->blocks[b].live_in = s.use;
		f->blocks[b].live_out = all + (b * 3 + 1) * words;
		scan_block_sets(f, &f->blocks[b], &s);
	}
	while (changed && budget > sweep) {
		changed = false;
		budget -= sweep;
		for (uint32_t b = f->nblocks; b-- > 0;)
			changed |= propagate_liveness(f, &f->blocks[b], all + (b * 3 + 2) * words, words);
	}
	for (uint32_t b = 0; changed && b < f->nblocks; b++)
		f->blocks[b].live_in = f->blocks[b].live_out = NULL;
	return 0;
}
