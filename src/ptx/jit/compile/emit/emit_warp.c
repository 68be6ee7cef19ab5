/*
 * Instructions over the lanes of a warp.  Compiled code executes them if all members named by the mask have
 * arrived, as they usually have; otherwise the interpreter lets lanes wait for each other.
 */
#include "ptx/jit/compile/compile.h"

static LLVMBasicBlockRef new_block(struct compiler *c)
{
	return LLVMAppendBasicBlockInContext(c->context, c->fn, "");
}

/* The decoded instruction that waits for its members. */
static const struct xinst *waiting_inst(const struct compiler *c)
{
	const struct xinst *x = decoded(c, c->index);

	return x->op ? x : NULL;
}

/* The operand with the member mask; NULL: all lanes are members. */
static const struct ptx_operand *member_operand(const struct compiler *c, const struct xinst *x)
{
	return x->aux == NO_SLOT ? NULL : &c->in->ops[ptx_inst_ndest(c->in) + x->aux];
}

static bool members_known(const struct compiler *c, const struct ptx_operand *o)
{
	return !o || o->kind == PTX_O_IMM || (o->kind == PTX_O_REG && reg_form(c, o->reg) == FORM_SCALAR);
}

/* Hands over to the interpreter if members are missing. Emits no test where all live lanes run. */
static void require_members(struct compiler *c, const struct ptx_operand *o)
{
	LLVMValueRef active = active_mask(c), bits = mask_bits(c, active), missing, some;
	LLVMBasicBlockRef wait = new_block(c), on = new_block(c);

	missing = mask_bits(c, LLVMBuildLoad2(c->b, c->v1, c->live_var, ""));
	missing = LLVMBuildAnd(c->b, missing, LLVMBuildNot(c->b, bits, ""), "");
	if (o)
		missing = LLVMBuildAnd(c->b, missing,
			o->kind == PTX_O_IMM ? LLVMConstInt(c->i32, (uint64_t)o->imm, 0) : reg_scalar(c, o->reg), "");
	missing = LLVMBuildICmp(c->b, LLVMIntNE, missing, LLVMConstNull(c->i32), "");
	some = LLVMBuildICmp(c->b, LLVMIntNE, bits, LLVMConstNull(c->i32), "");
	LLVMBuildCondBr(c->b, LLVMBuildAnd(c->b, missing, some, ""), wait, on);
	LLVMPositionBuilderAtEnd(c->b, wait);
	emit_handover(c, c->index, c->mask, COMPILED_HANDOVER);
	LLVMPositionBuilderAtEnd(c->b, on);
}

/* The value of an operand, if the compiler knows it. */
static bool known_value(const struct compiler *c, const struct ptx_operand *o, uint32_t *v)
{
	const struct ptx_shape *s;

	if (o->kind == PTX_O_IMM) {
		*v = (uint32_t)o->imm;
		return true;
	}
	if (o->kind != PTX_O_REG)
		return false;
	s = &c->f->shapes[o->reg];
	*v = (uint32_t)s->base;
	return s->kind == PTX_SHAPE_CONST;
}

/* The lane from which a lane reads, and whether that is in its segment. */
static unsigned shuffle_source(unsigned mode, unsigned lane, uint32_t b, uint32_t clamp, bool *in)
{
	int segment = (int)(clamp >> 8 & 31), step = (int)(b & 31), at = (int)lane, from;
	int limit = (at & segment) | ((int)(clamp & 31) & ~segment);

	switch (mode) {
	case PTX_SHFL_UP:
		from = at - step;
		*in = from >= limit;
		break;
	case PTX_SHFL_DOWN:
		from = at + step;
		*in = from <= limit;
		break;
	case PTX_SHFL_BFLY:
		from = at ^ step;
		*in = from <= limit;
		break;
	default:
		from = (at & segment) | (step & ~segment);
		*in = from <= limit;
	}
	return *in ? (unsigned)from : lane;
}

static bool emit_known_shuffle(
	struct compiler *c, const struct ptx_inst *in, LLVMValueRef v, uint32_t b, uint32_t clamp)
{
	LLVMValueRef from[LANES], inside[LANES];

	for (unsigned i = 0; i < LANES; i++) {
		bool ok;

		from[i] = LLVMConstInt(c->i32, shuffle_source(in->m.mode, i, b, clamp, &ok), 0);
		inside[i] = LLVMConstInt(c->i1, ok, 0);
	}
	v = LLVMBuildShuffleVector(c->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(from, LANES), "");
	dst(c, 0, v);
	dst(c, 1, LLVMConstVector(inside, LANES));
	return true;
}

/* Lanes of the warp by index: two registers of 16 lanes. */
static LLVMValueRef lanes_permute(struct compiler *c, LLVMValueRef v, LLVMValueRef at)
{
	LLVMValueRef half[2][16], part[4], r[2], all[LANES];

	for (unsigned i = 0; i < LANES; i++) {
		half[i / 16][i % 16] = LLVMConstInt(c->i32, i, 0);
		all[i] = LLVMConstInt(c->i32, i, 0);
	}
	for (unsigned h = 0; h < 2; h++) {
		part[h] = LLVMBuildShuffleVector(c->b, v, LLVMGetPoison(c->v32), LLVMConstVector(half[h], 16), "");
		part[2 + h] = LLVMBuildShuffleVector(c->b, at, LLVMGetPoison(c->v32), LLVMConstVector(half[h], 16), "");
	}
	for (unsigned h = 0; h < 2; h++)
		r[h] = intrinsic(c, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0,
			(LLVMValueRef[]){part[0], part[2 + h], part[1]}, 3);
	return LLVMBuildShuffleVector(c->b, r[0], r[1], LLVMConstVector(all, LANES), "");
}

/* shuffle_source, in vectors. */
static bool emit_shuffle_at(struct compiler *c, const struct ptx_inst *in, LLVMValueRef v)
{
	LLVMTypeRef t = c->v32;
	LLVMValueRef b = LLVMBuildAnd(c->b, src(c, 3), constant(c, t, 31), ""), k = src(c, 4), lane, segment, other,
		     limit, from, ok;

	lane = lane_offsets(c, c->i32, 1);
	segment = LLVMBuildAnd(c->b, LLVMBuildLShr(c->b, k, constant(c, t, 8), ""), constant(c, t, 31), "");
	other = LLVMBuildNot(c->b, segment, "");
	limit = LLVMBuildAnd(c->b, LLVMBuildAnd(c->b, k, constant(c, t, 31), ""), other, "");
	limit = LLVMBuildOr(c->b, LLVMBuildAnd(c->b, lane, segment, ""), limit, "");
	switch (in->m.mode) {
	case PTX_SHFL_UP:
		from = LLVMBuildSub(c->b, lane, b, "");
		break;
	case PTX_SHFL_DOWN:
		from = LLVMBuildAdd(c->b, lane, b, "");
		break;
	case PTX_SHFL_BFLY:
		from = LLVMBuildXor(c->b, lane, b, "");
		break;
	default:
		from = LLVMBuildOr(c->b, LLVMBuildAnd(c->b, lane, segment, ""), LLVMBuildAnd(c->b, b, other, ""), "");
	}
	ok = LLVMBuildICmp(c->b, in->m.mode == PTX_SHFL_UP ? LLVMIntSGE : LLVMIntSLE, from, limit, "");
	dst(c, 0, lanes_permute(c, v, LLVMBuildSelect(c->b, ok, from, lane, "")));
	dst(c, 1, ok);
	return true;
}

/* Inactive lanes give 0. */
static bool emit_shuffle(struct compiler *c, const struct ptx_inst *in)
{
	uint32_t b, clamp;
	bool known = known_value(c, &in->ops[3], &b) && known_value(c, &in->ops[4], &clamp);
	LLVMValueRef v;

	if (!known && c->request->isa < JIT_ISA_V4)
		return false;
	v = LLVMBuildSelect(c->b, active_mask(c), src(c, 2), LLVMConstNull(c->v32), "");
	if (in->ops[0].kind == PTX_O_REG && reg_form(c, in->ops[0].reg) != FORM_VECTOR) {
		dst(c, 0, first_lane(c, v, active_mask(c)));
		return true;
	}
	return known ? emit_known_shuffle(c, in, v, b, clamp) : emit_shuffle_at(c, in, v);
}

/* The bits of the active lanes' predicates; the operand may be a constant. */
static LLVMValueRef voting_lanes(struct compiler *c)
{
	return mask_bits(c, LLVMBuildAnd(c->b, splat(c, src(c, 1)), active_mask(c), ""));
}

static bool emit_vote(struct compiler *c, const struct ptx_inst *in)
{
	LLVMValueRef p = voting_lanes(c), active = mask_bits(c, active_mask(c)), all, none;

	if (in->op == PTX_OP_vote_ballot) {
		dst(c, 0, p);
		return true;
	}
	all = LLVMBuildICmp(c->b, LLVMIntEQ, p, active, "");
	none = LLVMBuildICmp(c->b, LLVMIntEQ, p, LLVMConstNull(c->i32), "");
	dst(c, 0,
		in->m.mode == PTX_VOTE_ALL   ? all
		: in->m.mode == PTX_VOTE_ANY ? LLVMBuildNot(c->b, none, "")
					     : LLVMBuildOr(c->b, all, none, ""));
	return true;
}

static bool emit_redux(struct compiler *c, const struct ptx_inst *in)
{
	static const struct {
		uint8_t op;
		bool is_signed;
		const char *name;
		uint32_t neutral;
	} table[] = {{PTX_A_ADD, false, "llvm.vector.reduce.add", 0},
		{PTX_A_MIN, false, "llvm.vector.reduce.umin", UINT32_MAX},
		{PTX_A_MAX, false, "llvm.vector.reduce.umax", 0},
		{PTX_A_MIN, true, "llvm.vector.reduce.smin", INT32_MAX},
		{PTX_A_MAX, true, "llvm.vector.reduce.smax", 0x80000000},
		{PTX_A_AND, false, "llvm.vector.reduce.and", UINT32_MAX}, {PTX_A_OR, false, "llvm.vector.reduce.or", 0},
		{PTX_A_XOR, false, "llvm.vector.reduce.xor", 0}};
	bool is_signed = in->m.type[0] == PTX_S32 && (in->m.op == PTX_A_MIN || in->m.op == PTX_A_MAX);

	if (in->m.type[0] == PTX_F32)
		return false;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		LLVMValueRef v;

		if (table[i].op != in->m.op || table[i].is_signed != is_signed)
			continue;
		v = LLVMBuildSelect(c->b, active_mask(c), src(c, 1), constant(c, c->v32, table[i].neutral), "");
		dst(c, 0, unary(c, table[i].name, v));
		return true;
	}
	return false;
}

static bool emit_native(struct compiler *c, const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_shfl:
		return emit_shuffle(c, in);
	case PTX_OP_vote:
	case PTX_OP_vote_ballot:
		return emit_vote(c, in);
	case PTX_OP_redux:
		return emit_redux(c, in);
	case PTX_OP_bar_warp_sync:
		return true;
	default:
		return false;
	}
}

bool emit_warp(struct compiler *c, const struct ptx_inst *in)
{
	const struct xinst *x = waiting_inst(c);
	const struct ptx_operand *members;

	if (in->op == PTX_OP_activemask) {
		dst(c, 0, mask_bits(c, active_mask(c)));
		return true;
	}
	if (!x)
		return false;
	members = member_operand(c, x);
	if (!members_known(c, members))
		return false;
	require_members(c, members);
	c->scalar = false;
	if (!emit_native(c, in))
		emit_fallback(c, NO_SLOT, 0, 0);
	return true;
}
