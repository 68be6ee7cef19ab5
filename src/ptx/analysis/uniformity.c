/*
 * Computes uniformity: which registers hold the same value in all active lanes, which hold base + stride * lane, and
 * which neither.
 *
 * A register has one shape, joined over all its definitions, so that an engine may keep a uniform register in one
 * scalar for the whole function.  Divergent branches need care: a register that one side writes must not be uniform
 * if it is live on another side, or where the sides meet, because the lanes there may need different values.
 * diverge_block makes such registers varying; divergence affects no others.
 */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <string.h>

struct uniformity {
	struct ptx_function *f;
	bool tid_affine;
	bool changed;
	size_t words;
	uint64_t *defs;   /* by block: the set of registers it writes */
	uint64_t *side;   /* scratch: the sets of registers that two sides of a branch write */
	uint8_t *reached; /* scratch, by block: bit 0, 1: reached from the first, the other side */
	uint32_t *queue;
	uint64_t budget; /* limit for hostile functions: when it is spent, all registers are varying */
};

static const struct ptx_shape shape_varying = {.kind = PTX_SHAPE_VARYING};
static const struct ptx_shape shape_none = {.kind = PTX_SHAPE_NONE};
static const struct ptx_shape shape_uniform = {.kind = PTX_SHAPE_UNIFORM};

static bool shape_is_uniform(struct ptx_shape s)
{
	return s.kind <= PTX_SHAPE_UNIFORM;
}

static struct ptx_shape shape_affine(int64_t stride)
{
	return stride ? (struct ptx_shape){.kind = PTX_SHAPE_AFFINE, .stride = stride} : shape_uniform;
}

static int64_t shape_stride(struct ptx_shape s)
{
	return s.kind == PTX_SHAPE_AFFINE ? s.stride : 0;
}

static struct ptx_shape shape_join(struct ptx_shape a, struct ptx_shape b)
{
	if (a.kind == PTX_SHAPE_NONE)
		return b;
	if (b.kind == PTX_SHAPE_NONE)
		return a;
	if (a.kind == b.kind && a.stride == b.stride && a.base == b.base)
		return a;
	return shape_is_uniform(a) && shape_is_uniform(b) ? shape_uniform : shape_varying;
}

static void set_shape(struct uniformity *u, uint32_t reg, struct ptx_shape s)
{
	struct ptx_shape *old = &u->f->shapes[reg], new = shape_join(*old, s);

	if (new.kind != old->kind || new.stride != old->stride) {
		*old = new;
		u->changed = true;
	}
}

static struct ptx_shape sreg_shape(const struct uniformity *u, const struct ptx_operand *o)
{
	switch (o->reg) {
	case PTX_SR_tid:
		return !u->tid_affine ? shape_varying : o->comp == 0 ? shape_affine(1) : shape_uniform;
	case PTX_SR_laneid:
		return shape_affine(1);
	case PTX_SR_lanemask_eq:
	case PTX_SR_lanemask_ge:
	case PTX_SR_lanemask_gt:
	case PTX_SR_lanemask_le:
	case PTX_SR_lanemask_lt:
		return shape_varying;
	}
	return shape_uniform;
}

static struct ptx_shape operand_shape(const struct uniformity *u, const struct ptx_operand *o)
{
	struct ptx_shape s = {0};

	switch (o->kind) {
	case PTX_O_IMM:
		if (ptx_type_kind(o->type) == PTX_KIND_FLOAT)
			return shape_uniform;
		s.kind = PTX_SHAPE_CONST;
		s.base = ptx_type_bits(o->type) == 32 ? (int32_t)o->imm : o->imm;
		return s;
	case PTX_O_REG:
		return u->f->shapes[o->reg];
	case PTX_O_SREG:
		return sreg_shape(u, o);
	case PTX_O_ADDR:
		return o->reg == PTX_NOREG ? shape_uniform : u->f->shapes[o->reg];
	case PTX_O_VEC:
		for (uint32_t i = 0; i < o->n; i++)
			s = shape_join(s, operand_shape(u, &o->elem[i]));
		return shape_is_uniform(s) ? shape_uniform : shape_varying;
	}
	return shape_uniform;
}

/* The default rule: uniform sources give a uniform result. */
static struct ptx_shape sources_shape(const struct uniformity *u, const struct ptx_inst *in)
{
	for (unsigned i = ptx_inst_ndest(in); i < in->nops; i++)
		if (!shape_is_uniform(operand_shape(u, &in->ops[i])))
			return shape_varying;
	return shape_uniform;
}

static struct ptx_shape shape_add(struct ptx_shape a, struct ptx_shape b, int sign)
{
	if (a.kind == PTX_SHAPE_VARYING || b.kind == PTX_SHAPE_VARYING)
		return shape_varying;
	if (a.kind == PTX_SHAPE_NONE || b.kind == PTX_SHAPE_NONE)
		return shape_none;
	if (a.kind == PTX_SHAPE_CONST && b.kind == PTX_SHAPE_CONST)
		return (struct ptx_shape){.kind = PTX_SHAPE_CONST,
			.base = (int64_t)((uint64_t)a.base + (uint64_t)b.base * (uint64_t)sign)};
	return shape_affine((int64_t)((uint64_t)shape_stride(a) + (uint64_t)shape_stride(b) * (uint64_t)sign));
}

static struct ptx_shape shape_scale(struct ptx_shape a, int64_t k)
{
	if (a.kind == PTX_SHAPE_CONST)
		return (struct ptx_shape){.kind = PTX_SHAPE_CONST, .base = (int64_t)((uint64_t)a.base * (uint64_t)k)};
	if (a.kind == PTX_SHAPE_AFFINE)
		return shape_affine((int64_t)((uint64_t)a.stride * (uint64_t)k));
	return a;
}

static struct ptx_shape shape_multiply(struct ptx_shape a, struct ptx_shape b)
{
	if (a.kind == PTX_SHAPE_NONE || b.kind == PTX_SHAPE_NONE)
		return shape_none;
	if (b.kind == PTX_SHAPE_CONST)
		return shape_scale(a, b.base);
	if (a.kind == PTX_SHAPE_CONST)
		return shape_scale(b, a.base);
	return shape_is_uniform(a) && shape_is_uniform(b) ? shape_uniform : shape_varying;
}

static struct ptx_shape load_shape(const struct uniformity *u, const struct ptx_inst *in)
{
	const struct ptx_operand *a = &in->ops[1];
	const struct ptx_function *f = u->f;

	if (in->m.space == PTX_PARAM) /* a function names no other function's parameters */
		return f->is_entry && a->reg == PTX_NOREG && a->var && a->var->offset < f->param_size ? shape_uniform
												      : shape_varying;
	if (in->m.space == PTX_LOCAL || (a->reg == PTX_NOREG && a->var && a->var->space == PTX_LOCAL))
		return shape_varying;
	return shape_is_uniform(operand_shape(u, a)) ? shape_uniform : shape_varying;
}

static bool is_plain_int(const struct ptx_inst *in)
{
	enum ptx_kind k = ptx_type_kind(in->m.type[0]);
	unsigned bits = ptx_type_bits(in->m.type[0]);

	return (k == PTX_KIND_INT || k == PTX_KIND_BITS) && (bits == 32 || bits == 64) && in->m.type[0] != PTX_U16X2 &&
	       in->m.type[0] != PTX_S16X2 && !in->m.sat && in->m.half != PTX_HI;
}

static struct ptx_shape arithmetic_shape(const struct uniformity *u, const struct ptx_inst *in)
{
	struct ptx_shape a = operand_shape(u, &in->ops[1]), b, c;

	if (!is_plain_int(in) || a.kind == PTX_SHAPE_NONE)
		return sources_shape(u, in);
	b = in->nops > 2 ? operand_shape(u, &in->ops[2]) : shape_uniform;
	if (in->m.half == PTX_WIDE && in->m.type[0] == PTX_U32) {
		a.base = (uint32_t)a.base;
		b.base = (uint32_t)b.base;
	}
	switch (in->op) {
	case PTX_OP_add:
		return shape_add(a, b, 1);
	case PTX_OP_sub:
		return shape_add(a, b, -1);
	case PTX_OP_neg:
		return shape_scale(a, -1);
	case PTX_OP_mul:
	case PTX_OP_mul_wide:
		return shape_multiply(a, b);
	case PTX_OP_mad:
	case PTX_OP_mad_wide:
		c = operand_shape(u, &in->ops[3]);
		return shape_add(shape_multiply(a, b), c, 1);
	case PTX_OP_shl:
		if (b.kind == PTX_SHAPE_CONST && b.base >= 0 && b.base < 32)
			return shape_scale(a, INT64_C(1) << b.base);
	}
	return sources_shape(u, in);
}

static struct ptx_shape convert_shape(const struct uniformity *u, const struct ptx_inst *in)
{
	struct ptx_shape a = operand_shape(u, &in->ops[1]);
	bool ints = ptx_type_kind(in->m.type[0]) == PTX_KIND_INT && ptx_type_kind(in->m.type[1]) == PTX_KIND_INT;
	unsigned d = ptx_type_bits(in->m.type[0]), s = ptx_type_bits(in->m.type[1]);

	if (ints && d >= 32 && s >= 32 && !in->m.sat && a.kind != PTX_SHAPE_CONST)
		return a;
	return shape_is_uniform(a) ? shape_uniform : shape_varying;
}

static struct ptx_shape result_shape(const struct uniformity *u, const struct ptx_inst *in)
{
	struct ptx_shape a;

	switch (in->op) {
	case PTX_OP_mov:
		a = operand_shape(u, &in->ops[1]);
		return in->ops[0].kind == PTX_O_VEC && !shape_is_uniform(a) ? shape_varying : a;
	case PTX_OP_add:
	case PTX_OP_sub:
	case PTX_OP_neg:
	case PTX_OP_mul:
	case PTX_OP_mul_wide:
	case PTX_OP_mad:
	case PTX_OP_mad_wide:
	case PTX_OP_shl:
		return arithmetic_shape(u, in);
	case PTX_OP_cvt:
		return convert_shape(u, in);
	case PTX_OP_cvta: /* the generic address of local memory differs between lanes */
		return in->m.space == PTX_LOCAL && !in->m.to ? shape_varying : operand_shape(u, &in->ops[1]);
	case PTX_OP_ld:
	case PTX_OP_ldu:
		return load_shape(u, in);
	case PTX_OP_vote:
	case PTX_OP_vote_ballot:
	case PTX_OP_redux: /* several groups of lanes may name different members */
		return in->nops > 2 && !shape_is_uniform(operand_shape(u, &in->ops[2])) ? shape_varying : shape_uniform;
	case PTX_OP_bar_red:
	case PTX_OP_barrier_red:
		return shape_is_uniform(operand_shape(u, &in->ops[1])) ? shape_uniform : shape_varying;
	case PTX_OP_activemask:
		return shape_uniform;
	case PTX_OP_shfl: /* the predicate result (source lane in range) is varying */
		return in->ops[1].kind == PTX_O_REG ? shape_varying : sources_shape(u, in);
	case PTX_OP_addc: /* the carry is not tracked */
	case PTX_OP_subc:
	case PTX_OP_madc:
	case PTX_OP_call:
	case PTX_OP_match:
	case PTX_OP_elect:
	case PTX_OP_atom:
	case PTX_OP_atom_cas:
	case PTX_OP_alloca:
	case PTX_OP_stacksave:
	case PTX_OP_ldmatrix:
	case PTX_OP_movmatrix:
	case PTX_OP_mma:
	case PTX_OP_wmma_mma:
	case PTX_OP_wmma_load_a:
	case PTX_OP_wmma_load_b:
	case PTX_OP_wmma_load_c:
	case PTX_OP_mbarrier_arrive:
	case PTX_OP_mbarrier_arrive_drop:
	case PTX_OP_mbarrier_arrive_expect_tx:
		return shape_varying;
	}
	return in->m.cc ? shape_varying : sources_shape(u, in);
}

static void set_operand_shape(struct uniformity *u, const struct ptx_operand *o, struct ptx_shape s)
{
	if (o->kind == PTX_O_REG)
		set_shape(u, o->reg, s);
	for (uint32_t i = 0; o->kind == PTX_O_VEC && i < o->n; i++)
		set_operand_shape(u, &o->elem[i], s);
}

static void transfer_inst(struct uniformity *u, const struct ptx_inst *in)
{
	unsigned ndest = ptx_inst_ndest(in);
	struct ptx_shape s;

	if (!ndest && in->op != PTX_OP_call)
		return;
	s = result_shape(u, in);
	/* 32-bit registers count modulo 2^32; strides are kept sign-extended, so that -4 counts down. */
	if (ptx_type_bits(in->m.type[0]) == 32 && in->m.half != PTX_WIDE) {
		s.base = (int32_t)s.base;
		s = s.kind == PTX_SHAPE_AFFINE ? shape_affine((int32_t)s.stride) : s;
	}
	if (in->guard != PTX_NOREG && !shape_is_uniform(u->f->shapes[in->guard]))
		s = shape_varying;
	for (unsigned i = 0; i < ndest; i++)
		set_operand_shape(u, &in->ops[i], s);
	if (in->op == PTX_OP_call)
		set_operand_shape(u, &in->ops[1], shape_varying);
}

static bool block_diverges(const struct uniformity *u, const struct ptx_block *b)
{
	const struct ptx_inst *last = &u->f->insts[b->end - 1];

	if (last->guard != PTX_NOREG && (last->op == PTX_OP_bra || last->op == PTX_OP_ret || last->op == PTX_OP_exit ||
						last->op == PTX_OP_brx_idx || last->op == PTX_OP_trap))
		if (!shape_is_uniform(u->f->shapes[last->guard]))
			return true;
	return last->op == PTX_OP_brx_idx && !shape_is_uniform(operand_shape(u, &last->ops[0]));
}

static void spend_budget(struct uniformity *u, uint64_t n)
{
	u->budget -= u->budget > n ? n : u->budget;
}

/* Marks the blocks reachable from one side of a branch before `stop`, and collects the registers they write. */
static void walk_branch_side(struct uniformity *u, uint32_t from, uint32_t stop, uint8_t side_bit, uint64_t *defs)
{
	struct ptx_function *f = u->f;
	uint32_t head = 0, tail = 0;

	memset(defs, 0, u->words * 8);
	if (from == stop)
		return;
	u->queue[tail++] = from;
	u->reached[from] |= side_bit;
	while (head < tail) {
		uint32_t b = u->queue[head++];
		const struct ptx_block *k = &f->blocks[b];

		for (size_t w = 0; w < u->words; w++)
			defs[w] |= u->defs[b * u->words + w];
		for (uint32_t i = 0; i < k->nsucc; i++) {
			uint32_t s = k->succ[i];

			if (s == stop || u->reached[s] & side_bit)
				continue;
			u->reached[s] |= side_bit;
			u->queue[tail++] = s;
		}
	}
	spend_budget(u, tail * (u->words + 1));
}

static void make_varying(struct uniformity *u, const uint64_t *defs, const uint64_t *wanted)
{
	for (size_t w = 0; w < u->words; w++)
		for (uint64_t bits = defs[w] & wanted[w]; bits; bits &= bits - 1)
			set_shape(u, w * 64 + __builtin_ctzll(bits), shape_varying);
}

/* Makes registers varying that side i and any other side of the branch could disagree on. */
static void diverge_side(struct uniformity *u, const struct ptx_block *k, uint32_t i)
{
	struct ptx_function *f = u->f;
	uint64_t *mine = u->side, *theirs = u->side + u->words;

	memset(u->reached, 0, f->nblocks);
	walk_branch_side(u, k->succ[i], k->ipdom, 1, mine);
	for (uint32_t j = 0; j < k->nsucc && u->budget; j++) {
		if (j == i)
			continue;
		make_varying(u, mine, f->blocks[k->succ[j]].live_in);
		walk_branch_side(u, k->succ[j], k->ipdom, 2, theirs);
		make_varying(u, theirs, f->blocks[k->succ[i]].live_in);
		if (k->ipdom != PTX_NOREG)
			make_varying(u, theirs, f->blocks[k->ipdom].live_in);
		/* Two sides may meet before the post-dominator. */
		spend_budget(u, f->nblocks);
		for (uint32_t b = 0; b < f->nblocks; b++) {
			if (u->reached[b] != 3 || f->blocks[b].npred < 2)
				continue;
			make_varying(u, mine, f->blocks[b].live_in);
			make_varying(u, theirs, f->blocks[b].live_in);
		}
	}
	if (k->ipdom != PTX_NOREG)
		make_varying(u, mine, f->blocks[k->ipdom].live_in);
}

static void diverge_block(struct uniformity *u, uint32_t b)
{
	const struct ptx_block *k = &u->f->blocks[b];

	u->f->divergent[b] = true;
	u->changed = true;
	/* Each side is compared with all others, which covers the last one. */
	for (uint32_t i = 0; i + 1 < k->nsucc && u->budget; i++)
		diverge_side(u, k, i);
}

static void note_def(void *data, uint32_t r)
{
	uint64_t *set = data;

	set[r / 64] |= UINT64_C(1) << r % 64;
}

static int uniformity_init(struct uniformity *u)
{
	struct ptx_function *f = u->f;
	struct ptx_arena *a = f->module->arena;

	u->words = (f->nregs + 63) / 64;
	u->budget = UINT64_C(1) << 28;
	u->defs = arena_alloc(a, f->nblocks, u->words * 8);
	u->side = arena_alloc(a, 2, u->words * 8);
	u->reached = arena_alloc(a, f->nblocks, 1);
	u->queue = arena_alloc(a, f->nblocks, sizeof *u->queue);
	f->shapes = arena_alloc(a, f->nregs, sizeof *f->shapes);
	f->divergent = arena_alloc(a, f->nblocks, sizeof *f->divergent);
	if (!u->defs || !u->side || !u->reached || !u->queue || !f->shapes || !f->divergent)
		return -ENOMEM;
	for (uint32_t b = 0; b < f->nblocks; b++)
		for (uint32_t i = f->blocks[b].first; i < f->blocks[b].end; i++)
			ptx_inst_regs(&f->insts[i], NULL, note_def, u->defs + b * u->words);
	for (uint32_t i = 0; i < f->nparams; i++)
		if (f->params[i]->reg != PTX_NOREG)
			f->shapes[f->params[i]->reg] = shape_varying;
	return 0;
}

static void assume_all_varying(struct ptx_function *f)
{
	for (uint32_t r = 0; r < f->nregs; r++)
		f->shapes[r] = shape_varying;
	for (uint32_t b = 0; b < f->nblocks; b++)
		f->divergent[b] = true;
}

int ptx_function_shapes(struct ptx_function *f, bool tid_affine)
{
	struct uniformity u = {.f = f, .tid_affine = tid_affine, .changed = true};
	int err = ptx_function_analyze(f);

	if (!err)
		err = uniformity_init(&u);
	if (err)
		return err;
	if (!f->blocks[0].live_in)
		u.budget = 0;
	while (u.changed && u.budget) {
		u.changed = false;
		for (uint32_t k = 0; k < f->nrpo; k++) {
			uint32_t b = f->rpo[k];

			for (uint32_t i = f->blocks[b].first; i < f->blocks[b].end; i++)
				transfer_inst(&u, &f->insts[i]);
			if (!f->divergent[b] && block_diverges(&u, &f->blocks[b]))
				diverge_block(&u, b);
		}
		spend_budget(&u, f->ninsts);
	}
	if (!u.budget)
		assume_all_varying(f);
	return 0;
}
