/*
 * Uniformity: which registers hold the same value in all active lanes, which
 * base + stride * lane, which neither.
 *
 * One shape per register, joined over all its definitions, so an engine may keep
 * a uniform register in one scalar for the whole function.  That needs care where
 * lanes part: at a branch that only some lanes take, whatever one side writes
 * must not be a value that the lanes waiting on another side, or at the point
 * where the sides meet, still want or disagree on.  Such registers vary (see
 * part_lanes); nothing else in a divergent region does.
 */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <string.h>

struct uniform {
	struct ptx_function *f;
	bool tid_affine;
	bool changed;
	size_t words;
	uint64_t *defs;   /* per block, a set of registers */
	uint64_t *side;   /* scratch: what the sides of a branch define, two sets */
	uint8_t *reached; /* scratch: per block, by how many sides (at most 2) */
	uint32_t *queue;
	uint64_t budget; /* hostile functions: when it is spent, everything varies */
};

static const struct ptx_shape varying = {.kind = PTX_SHAPE_VARYING};
static const struct ptx_shape none = {.kind = PTX_SHAPE_NONE};
static const struct ptx_shape uniform = {.kind = PTX_SHAPE_UNIFORM};

static bool is_uniform(struct ptx_shape s)
{
	return s.kind <= PTX_SHAPE_UNIFORM;
}

static struct ptx_shape affine(int64_t stride)
{
	return stride ? (struct ptx_shape){.kind = PTX_SHAPE_AFFINE, .stride = stride} : uniform;
}

static int64_t stride_of(struct ptx_shape s)
{
	return s.kind == PTX_SHAPE_AFFINE ? s.stride : 0;
}

static struct ptx_shape join(struct ptx_shape a, struct ptx_shape b)
{
	if (a.kind == PTX_SHAPE_NONE)
		return b;
	if (b.kind == PTX_SHAPE_NONE)
		return a;
	if (a.kind == b.kind && a.stride == b.stride && a.base == b.base)
		return a;
	return is_uniform(a) && is_uniform(b) ? uniform : varying;
}

static void set_shape(struct uniform *u, uint32_t reg, struct ptx_shape s)
{
	struct ptx_shape *old = &u->f->shapes[reg], new = join(*old, s);

	if (new.kind != old->kind || new.stride != old->stride) {
		*old = new;
		u->changed = true;
	}
}

static struct ptx_shape sreg_shape(const struct uniform *u, const struct ptx_operand *o)
{
	switch (o->reg) {
	case PTX_SR_tid:
		return !u->tid_affine ? varying : o->comp == 0 ? affine(1) : uniform;
	case PTX_SR_laneid:
		return affine(1);
	case PTX_SR_lanemask_eq:
	case PTX_SR_lanemask_ge:
	case PTX_SR_lanemask_gt:
	case PTX_SR_lanemask_le:
	case PTX_SR_lanemask_lt:
		return varying;
	}
	return uniform;
}

static struct ptx_shape operand_shape(const struct uniform *u, const struct ptx_operand *o)
{
	struct ptx_shape s = {0};

	switch (o->kind) {
	case PTX_O_IMM:
		if (ptx_type_kind(o->type) == PTX_KIND_FLOAT)
			return uniform;
		s.kind = PTX_SHAPE_CONST;
		s.base = ptx_type_bits(o->type) == 32 ? (int32_t)o->imm : o->imm;
		return s;
	case PTX_O_REG:
		return u->f->shapes[o->reg];
	case PTX_O_SREG:
		return sreg_shape(u, o);
	case PTX_O_ADDR:
		return o->reg == PTX_NOREG ? uniform : u->f->shapes[o->reg];
	case PTX_O_VEC:
		for (uint32_t i = 0; i < o->n; i++)
			s = join(s, operand_shape(u, &o->elem[i]));
		return is_uniform(s) ? uniform : varying;
	}
	return uniform;
}

/* What has no rule of its own: uniform in, uniform out. NONE in: not known yet, so say nothing. */
static struct ptx_shape by_sources(const struct uniform *u, const struct ptx_inst *in)
{
	for (unsigned i = ptx_inst_ndest(in); i < in->nops; i++)
		if (!is_uniform(operand_shape(u, &in->ops[i])))
			return varying;
	return uniform;
}

static struct ptx_shape add(struct ptx_shape a, struct ptx_shape b, int sign)
{
	if (a.kind == PTX_SHAPE_VARYING || b.kind == PTX_SHAPE_VARYING)
		return varying;
	if (a.kind == PTX_SHAPE_NONE || b.kind == PTX_SHAPE_NONE)
		return none;
	if (a.kind == PTX_SHAPE_CONST && b.kind == PTX_SHAPE_CONST)
		return (struct ptx_shape){.kind = PTX_SHAPE_CONST,
			.base = (int64_t)((uint64_t)a.base + (uint64_t)b.base * (uint64_t)sign)};
	return affine((int64_t)((uint64_t)stride_of(a) + (uint64_t)stride_of(b) * (uint64_t)sign));
}

static struct ptx_shape scale(struct ptx_shape a, int64_t k)
{
	if (a.kind == PTX_SHAPE_CONST)
		return (struct ptx_shape){.kind = PTX_SHAPE_CONST, .base = (int64_t)((uint64_t)a.base * (uint64_t)k)};
	if (a.kind == PTX_SHAPE_AFFINE)
		return affine((int64_t)((uint64_t)a.stride * (uint64_t)k));
	return a;
}

static struct ptx_shape multiply(struct ptx_shape a, struct ptx_shape b)
{
	if (a.kind == PTX_SHAPE_NONE || b.kind == PTX_SHAPE_NONE)
		return none;
	if (b.kind == PTX_SHAPE_CONST)
		return scale(a, b.base);
	if (a.kind == PTX_SHAPE_CONST)
		return scale(b, a.base);
	return is_uniform(a) && is_uniform(b) ? uniform : varying;
}

static struct ptx_shape load_shape(const struct uniform *u, const struct ptx_inst *in)
{
	const struct ptx_operand *a = &in->ops[1];
	const struct ptx_function *f = u->f;

	if (in->m.space == PTX_PARAM)
		return f->is_entry && a->reg == PTX_NOREG && a->var && a->var->owner == f &&
				       a->var->offset < f->param_size
			       ? uniform
			       : varying;
	if (in->m.space == PTX_LOCAL || (a->reg == PTX_NOREG && a->var && a->var->space == PTX_LOCAL))
		return varying;
	return is_uniform(operand_shape(u, a)) ? uniform : varying;
}

static bool is_int(const struct ptx_inst *in)
{
	enum ptx_kind k = ptx_type_kind(in->m.type[0]);
	unsigned bits = ptx_type_bits(in->m.type[0]);

	return (k == PTX_KIND_INT || k == PTX_KIND_BITS) && (bits == 32 || bits == 64) && in->m.type[0] != PTX_U16X2 &&
	       in->m.type[0] != PTX_S16X2 && !in->m.sat && in->m.half != PTX_HI;
}

static struct ptx_shape arithmetic(const struct uniform *u, const struct ptx_inst *in)
{
	struct ptx_shape a = operand_shape(u, &in->ops[1]), b, c;

	if (!is_int(in) || a.kind == PTX_SHAPE_NONE)
		return by_sources(u, in);
	b = in->nops > 2 ? operand_shape(u, &in->ops[2]) : uniform;
	if (in->m.half == PTX_WIDE && in->m.type[0] == PTX_U32) {
		a.base = (uint32_t)a.base;
		b.base = (uint32_t)b.base;
	}
	switch (in->op) {
	case PTX_OP_add:
		return add(a, b, 1);
	case PTX_OP_sub:
		return add(a, b, -1);
	case PTX_OP_neg:
		return scale(a, -1);
	case PTX_OP_mul:
	case PTX_OP_mul_wide:
		return multiply(a, b);
	case PTX_OP_mad:
	case PTX_OP_mad_wide:
		c = operand_shape(u, &in->ops[3]);
		return add(multiply(a, b), c, 1);
	case PTX_OP_shl:
		if (b.kind == PTX_SHAPE_CONST && b.base >= 0 && b.base < 32)
			return scale(a, INT64_C(1) << b.base);
	}
	return by_sources(u, in);
}

static struct ptx_shape convert(const struct uniform *u, const struct ptx_inst *in)
{
	struct ptx_shape a = operand_shape(u, &in->ops[1]);
	bool ints = ptx_type_kind(in->m.type[0]) == PTX_KIND_INT && ptx_type_kind(in->m.type[1]) == PTX_KIND_INT;
	unsigned d = ptx_type_bits(in->m.type[0]), s = ptx_type_bits(in->m.type[1]);

	if (ints && d >= 32 && s >= 32 && !in->m.sat && a.kind != PTX_SHAPE_CONST)
		return a;
	return is_uniform(a) ? uniform : varying;
}

static struct ptx_shape result_shape(const struct uniform *u, const struct ptx_inst *in)
{
	struct ptx_shape a;

	switch (in->op) {
	case PTX_OP_mov:
		a = operand_shape(u, &in->ops[1]);
		return in->ops[0].kind == PTX_O_VEC && !is_uniform(a) ? varying : a;
	case PTX_OP_add:
	case PTX_OP_sub:
	case PTX_OP_neg:
	case PTX_OP_mul:
	case PTX_OP_mul_wide:
	case PTX_OP_mad:
	case PTX_OP_mad_wide:
	case PTX_OP_shl:
		return arithmetic(u, in);
	case PTX_OP_cvt:
		return convert(u, in);
	case PTX_OP_cvta: /* a generic local address differs from lane to lane */
		return in->m.space == PTX_LOCAL && !in->m.to ? varying : operand_shape(u, &in->ops[1]);
	case PTX_OP_ld:
	case PTX_OP_ldu:
		return load_shape(u, in);
	case PTX_OP_vote:
	case PTX_OP_vote_ballot:
	case PTX_OP_activemask:
	case PTX_OP_redux:
	case PTX_OP_bar_red:
	case PTX_OP_barrier_red:
		return uniform;
	case PTX_OP_shfl: /* the predicate says whether the source lane was in range: it varies */
		return in->ops[1].kind == PTX_O_REG ? varying : by_sources(u, in);
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
		return varying;
	}
	return in->m.cc ? varying : by_sources(u, in);
}

static void set_operand(struct uniform *u, const struct ptx_operand *o, struct ptx_shape s)
{
	if (o->kind == PTX_O_REG)
		set_shape(u, o->reg, s);
	for (uint32_t i = 0; o->kind == PTX_O_VEC && i < o->n; i++)
		set_operand(u, &o->elem[i], s);
}

static void transfer(struct uniform *u, const struct ptx_inst *in)
{
	unsigned ndest = ptx_inst_ndest(in);
	struct ptx_shape s;

	if (!ndest && in->op != PTX_OP_call)
		return;
	s = result_shape(u, in);
	/* In a 32-bit register all counting is modulo 2^32; kept sign-extended, so that -4 counts down. */
	if (ptx_type_bits(in->m.type[0]) == 32 && in->m.half != PTX_WIDE) {
		s.base = (int32_t)s.base;
		s = s.kind == PTX_SHAPE_AFFINE ? affine((int32_t)s.stride) : s;
	}
	if (in->guard != PTX_NOREG && !is_uniform(u->f->shapes[in->guard]))
		s = varying;
	for (unsigned i = 0; i < ndest; i++)
		set_operand(u, &in->ops[i], s);
	if (in->op == PTX_OP_call)
		set_operand(u, &in->ops[1], varying);
}

static bool parts(const struct uniform *u, const struct ptx_block *b)
{
	const struct ptx_inst *last = &u->f->insts[b->end - 1];

	if (last->guard != PTX_NOREG && (last->op == PTX_OP_bra || last->op == PTX_OP_ret || last->op == PTX_OP_exit ||
						last->op == PTX_OP_brx_idx || last->op == PTX_OP_trap))
		if (!is_uniform(u->f->shapes[last->guard]))
			return true;
	return last->op == PTX_OP_brx_idx && !is_uniform(operand_shape(u, &last->ops[0]));
}

static void spend(struct uniform *u, uint64_t n)
{
	u->budget -= u->budget > n ? n : u->budget;
}

/* Marks what is reachable from a side before the sides meet, and collects what it defines. */
static void walk_side(struct uniform *u, uint32_t from, uint32_t stop, uint8_t side_bit, uint64_t *defs)
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
	spend(u, tail * (u->words + 1));
}

static void vary(struct uniform *u, const uint64_t *defs, const uint64_t *wanted)
{
	for (size_t w = 0; w < u->words; w++)
		for (uint64_t bits = defs[w] & wanted[w]; bits; bits &= bits - 1)
			set_shape(u, w * 64 + __builtin_ctzll(bits), varying);
}

/* One side against all the others together. */
static void part_side(struct uniform *u, const struct ptx_block *k, uint32_t i)
{
	struct ptx_function *f = u->f;
	uint64_t *mine = u->side, *theirs = u->side + u->words;

	memset(u->reached, 0, f->nblocks);
	walk_side(u, k->succ[i], k->ipdom, 1, mine);
	for (uint32_t j = 0; j < k->nsucc && u->budget; j++) {
		if (j == i)
			continue;
		vary(u, mine, f->blocks[k->succ[j]].live_in);
		walk_side(u, k->succ[j], k->ipdom, 2, theirs);
		vary(u, theirs, f->blocks[k->succ[i]].live_in);
		if (k->ipdom != PTX_NOREG)
			vary(u, theirs, f->blocks[k->ipdom].live_in);
		/* Where the sides meet before all of them do. */
		spend(u, f->nblocks);
		for (uint32_t b = 0; b < f->nblocks; b++) {
			if (u->reached[b] != 3 || f->blocks[b].npred < 2)
				continue;
			vary(u, mine, f->blocks[b].live_in);
			vary(u, theirs, f->blocks[b].live_in);
		}
	}
	if (k->ipdom != PTX_NOREG)
		vary(u, mine, f->blocks[k->ipdom].live_in);
}

static void part_lanes(struct uniform *u, uint32_t b)
{
	const struct ptx_block *k = &u->f->blocks[b];

	u->f->divergent[b] = true;
	u->changed = true;
	/* Each side against the rest covers the last one too. */
	for (uint32_t i = 0; i + 1 < k->nsucc && u->budget; i++)
		part_side(u, k, i);
}

static void see_def(void *data, uint32_t r)
{
	uint64_t *set = data;

	set[r / 64] |= UINT64_C(1) << r % 64;
}

static int prepare(struct uniform *u)
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
			ptx_inst_regs(&f->insts[i], NULL, see_def, u->defs + b * u->words);
	for (uint32_t i = 0; i < f->nparams; i++)
		if (f->params[i]->reg != PTX_NOREG)
			f->shapes[f->params[i]->reg] = varying;
	return 0;
}

static void give_up(struct ptx_function *f)
{
	for (uint32_t r = 0; r < f->nregs; r++)
		f->shapes[r] = varying;
	for (uint32_t b = 0; b < f->nblocks; b++)
		f->divergent[b] = true;
}

int ptx_function_shapes(struct ptx_function *f, bool tid_affine)
{
	struct uniform u = {.f = f, .tid_affine = tid_affine, .changed = true};
	int err = ptx_function_analyze(f);

	if (!err)
		err = prepare(&u);
	if (err)
		return err;
	if (!f->blocks[0].live_in)
		u.budget = 0;
	while (u.changed && u.budget) {
		u.changed = false;
		for (uint32_t k = 0; k < f->nrpo; k++) {
			uint32_t b = f->rpo[k];

			for (uint32_t i = f->blocks[b].first; i < f->blocks[b].end; i++)
				transfer(&u, &f->insts[i]);
			if (!f->divergent[b] && parts(&u, &f->blocks[b]))
				part_lanes(&u, b);
		}
		spend(&u, f->ninsts);
	}
	if (!u.budget)
		give_up(f);
	return 0;
}
