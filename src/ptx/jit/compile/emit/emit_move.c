/* mov, with packing and unpacking, special registers and addresses; cvta; selp is in emit_compare.c. */
#include "ptx/jit/compile/compile.h"

/* The value of a uniform constant slot: an address known only at launch. */
static bool emit_constant_slot(struct compiler *c)
{
	const struct xinst *x = decoded(c, c->index);
	LLVMValueRef v;

	if (x->src[0] == NO_SLOT || x->src_width[0] < W32 || x->src_width[0] > W64)
		return false;
	v = cached(c, CACHED_CONST, x->src[0]);
	dst(c, 0, resize(c, v, value_bits(v) < 8u << x->src_width[0] ? 64 : 8u << x->src_width[0], false));
	return true;
}

static bool emit_address(struct compiler *c, const struct ptx_inst *in)
{
	const struct ptx_operand *o = &in->ops[1];
	const struct ptx_var *v = o->var->defined_by ? o->var->defined_by : o->var;
	LLVMTypeRef t = int_type(c, ptx_type_bits(in->m.type[0]));

	switch (v->space) {
	case PTX_LOCAL: /* the local frame of a kernel starts at offset 0 */
		dst(c, 0, constant(c, t, v->offset + (uint64_t)o->imm));
		return true;
	case PTX_GLOBAL:
	case PTX_CONST:
	case PTX_SHARED:
		return emit_constant_slot(c);
	default:
		return false;
	}
}

static bool emit_special(struct compiler *c, const struct ptx_inst *in)
{
	const struct ptx_operand *o = &in->ops[1];
	unsigned comp = o->comp;
	LLVMValueRef v;

	if (in->ops[0].kind != PTX_O_REG)
		return false;
	switch (o->reg) {
	case PTX_SR_tid:
		if (comp > 2)
			return false;
		v = cached(c, CACHED_TID, comp);
		if (reg_form(c, in->ops[0].reg) != FORM_VECTOR)
			v = LLVMBuildExtractElement(c->b, v, LLVMConstInt(c->i32, 0, 0), "");
		break;
	case PTX_SR_laneid:
		v = reg_form(c, in->ops[0].reg) == FORM_VECTOR ? lane_offsets(c, c->i32, 1)
							       : LLVMConstInt(c->i32, 0, 0);
		break;
	case PTX_SR_ctaid:
	case PTX_SR_ntid:
	case PTX_SR_nctaid:
		if (comp > 2)
			return false;
		v = cached(c,
			o->reg == PTX_SR_ctaid  ? CACHED_CTAID
			: o->reg == PTX_SR_ntid ? CACHED_NTID
						: CACHED_NCTAID,
			comp);
		break;
	default:
		return false;
	}
	dst(c, 0, v);
	return true;
}

/* {a, b} to one register, lowest first. */
static bool emit_pack(struct compiler *c, const struct ptx_inst *in)
{
	const struct ptx_operand *o = &in->ops[1];
	unsigned total = ptx_type_bits(in->m.type[0]), bits = total / o->n;
	LLVMValueRef v = NULL, e;

	if (total > 64)
		return false;
	for (uint32_t i = 0; i < o->n; i++) {
		if (o->elem[i].kind != PTX_O_REG && o->elem[i].kind != PTX_O_IMM)
			return false;
	}
	for (uint32_t i = 0; i < o->n; i++) {
		e = resize(c, resize(c, src_operand(c, &o->elem[i]), bits, false), total, false);
		if (i)
			e = LLVMBuildShl(c->b, e, constant(c, LLVMTypeOf(e), i * bits), "");
		v = v ? LLVMBuildOr(c->b, v, e, "") : e;
	}
	dst(c, 0, v);
	return true;
}

static bool emit_unpack(struct compiler *c, const struct ptx_inst *in)
{
	const struct ptx_operand *o = &in->ops[0];
	unsigned total = ptx_type_bits(in->m.type[0]), bits = total / o->n;
	LLVMValueRef v, e;

	if (total > 64 || (in->ops[1].kind != PTX_O_REG && in->ops[1].kind != PTX_O_IMM))
		return false;
	v = src(c, 1);
	for (uint32_t i = 0; i < o->n; i++) {
		if (o->elem[i].kind != PTX_O_REG)
			continue;
		e = i ? LLVMBuildLShr(c->b, v, constant(c, LLVMTypeOf(v), i * bits), "") : v;
		reg_write(c, o->elem[i].reg, resize(c, e, bits, false));
	}
	return true;
}

static bool emit_mov(struct compiler *c, const struct ptx_inst *in)
{
	if (ptx_type_bits(in->m.type[0]) > 64)
		return false;
	if (in->ops[0].kind == PTX_O_VEC)
		return in->ops[1].kind != PTX_O_VEC && emit_unpack(c, in);
	switch (in->ops[1].kind) {
	case PTX_O_VEC:
		return emit_pack(c, in);
	case PTX_O_SREG:
		return emit_special(c, in);
	case PTX_O_VAR:
		return emit_address(c, in);
	case PTX_O_FUNC:
		return emit_constant_slot(c);
	case PTX_O_REG:
	case PTX_O_IMM:
		if (in->ops[0].kind == PTX_O_REG && in->ops[1].kind == PTX_O_REG && !in->ops[1].neg &&
			c->lazy_nan[in->ops[0].reg])
			dst(c, 0, c->scalar ? reg_scalar(c, in->ops[1].reg) : reg_vector(c, in->ops[1].reg));
		else
			dst(c, 0, src(c, 1));
		return true;
	default:
		return false;
	}
}

static bool emit_cvta(struct compiler *c, const struct ptx_inst *in)
{
	LLVMValueRef v, base;

	if (in->m.type[0] != PTX_U64 || in->ops[1].kind != PTX_O_REG)
		return false;
	if (in->m.space != PTX_GLOBAL && in->m.space != PTX_CONST && in->m.space != PTX_PARAM &&
		in->m.space != PTX_SHARED)
		return false;
	v = src(c, 1);
	if (in->m.space == PTX_SHARED) {
		base = LLVMBuildPtrToInt(c->b, cached(c, CACHED_SHARED, 0), c->i64, "");
		base = is_vector(v) ? splat(c, base) : base;
		v = in->m.to ? LLVMBuildSub(c->b, v, base, "") : LLVMBuildAdd(c->b, v, base, "");
	}
	dst(c, 0, v);
	return true;
}

bool emit_move(struct compiler *c, const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_mov:
		return emit_mov(c, in);
	case PTX_OP_cvta:
		return emit_cvta(c, in);
	case PTX_OP_brkpt:
		return true;
	default:
		return false;
	}
}
