/* Integer arithmetic. */
#include "ptx/jit/compile/compile.h"

static bool is_signed_type(unsigned type)
{
	return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64;
}

static bool is_plain_type(unsigned type)
{
	switch (type) {
	case PTX_U16:
	case PTX_S16:
	case PTX_U32:
	case PTX_S32:
	case PTX_U64:
	case PTX_S64:
		return true;
	default:
		return false;
	}
}

/*
 * An affine 32-bit value as a 64-bit one: lane 0's value is enough if the last lane's does not wrap around, which
 * compiled code checks.  Where it wraps, the interpreter takes over.
 */
static LLVMValueRef widen_affine(struct compiler *c, LLVMValueRef v, int64_t stride, bool is_signed)
{
	LLVMValueRef step = LLVMConstInt(c->i32, (uint64_t)stride * (LANES - 1), 0), wide, last;
	LLVMBasicBlockRef wraps, fits;

	wide = resize(c, v, 64, is_signed);
	last = resize(c, LLVMBuildAdd(c->b, v, step, ""), 64, is_signed);
	wraps = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	fits = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	LLVMBuildCondBr(c->b,
		LLVMBuildICmp(c->b, LLVMIntEQ, LLVMBuildSub(c->b, last, wide, ""),
			LLVMConstInt(c->i64, (uint64_t)stride * (LANES - 1), 0), ""),
		fits, wraps);
	LLVMPositionBuilderAtEnd(c->b, wraps);
	emit_handover(c, c->index, c->mask, COMPILED_HANDOVER);
	LLVMPositionBuilderAtEnd(c->b, fits);
	return wide;
}

LLVMValueRef src_widened(struct compiler *c, unsigned k, bool is_signed)
{
	const struct ptx_operand *o = &c->in->ops[k];

	if (c->scalar && o->kind == PTX_O_REG && reg_form(c, o->reg) == FORM_AFFINE && ptx_type_bits(o->type) == 32)
		return widen_affine(c, src(c, k), c->f->shapes[o->reg].stride, is_signed);
	return resize(c, src(c, k), ptx_type_bits(o->type) * 2, is_signed);
}

static LLVMValueRef high_product(struct compiler *c, unsigned bits, bool is_signed)
{
	LLVMValueRef a = resize(c, src(c, 1), bits * 2, is_signed), b = resize(c, src(c, 2), bits * 2, is_signed);
	LLVMValueRef p = LLVMBuildMul(c->b, a, b, "");

	return resize(c, LLVMBuildLShr(c->b, p, constant(c, LLVMTypeOf(p), bits), ""), bits, false);
}

static bool emit_mul(struct compiler *c, const struct ptx_inst *in)
{
	bool is_signed = is_signed_type(in->m.type[0]);
	unsigned bits = ptx_type_bits(in->m.type[0]);
	LLVMValueRef v;

	if (in->m.sat || in->m.cc || !is_plain_type(in->m.type[0]))
		return false;
	if (in->m.half == PTX_HI && bits == 64)
		return false;
	v = in->m.half == PTX_HI ? high_product(c, bits, is_signed) : LLVMBuildMul(c->b, src(c, 1), src(c, 2), "");
	if (in->op == PTX_OP_mad)
		v = LLVMBuildAdd(c->b, v, src(c, 3), "");
	dst(c, 0, v);
	return true;
}

static bool emit_mul_wide(struct compiler *c, const struct ptx_inst *in)
{
	bool is_signed = is_signed_type(in->m.type[0]);
	LLVMValueRef a = src_widened(c, 1, is_signed), b = src_widened(c, 2, is_signed), v;

	v = LLVMBuildMul(c->b, a, b, "");
	if (in->op == PTX_OP_mad_wide)
		v = LLVMBuildAdd(c->b, v, src(c, 3), "");
	dst(c, 0, v);
	return true;
}

static bool emit_plain(struct compiler *c, const struct ptx_inst *in)
{
	bool is_signed = is_signed_type(in->m.type[0]);
	LLVMValueRef a, b, v;

	if (!is_plain_type(in->m.type[0]) || in->m.sat || in->m.cc || in->m.relu)
		return false;
	a = src(c, 1);
	b = in->nops > 2 ? src(c, 2) : NULL;
	switch (in->op) {
	case PTX_OP_add:
		v = LLVMBuildAdd(c->b, a, b, "");
		break;
	case PTX_OP_sub:
		v = LLVMBuildSub(c->b, a, b, "");
		break;
	case PTX_OP_neg:
		v = LLVMBuildNeg(c->b, a, "");
		break;
	case PTX_OP_abs:
		v = intrinsic(c, "llvm.abs", (LLVMTypeRef[]){LLVMTypeOf(a)}, 1,
			(LLVMValueRef[]){a, LLVMConstInt(c->i1, 0, 0)}, 2);
		break;
	case PTX_OP_min:
		v = binary(c, is_signed ? "llvm.smin" : "llvm.umin", a, b);
		break;
	default:
		v = binary(c, is_signed ? "llvm.smax" : "llvm.umax", a, b);
	}
	dst(c, 0, v);
	return true;
}

/* Division of uniform values; that of vectors is left to the interpreter, which divides active lanes only. */
static bool emit_div(struct compiler *c, const struct ptx_inst *in)
{
	LLVMValueRef a, b, zero, safe, v;

	if (!is_plain_type(in->m.type[0]) || is_signed_type(in->m.type[0]) || !c->scalar)
		return false;
	a = src(c, 1);
	b = src(c, 2);
	zero = LLVMBuildICmp(c->b, LLVMIntEQ, b, LLVMConstNull(LLVMTypeOf(b)), "");
	safe = LLVMBuildSelect(c->b, zero, LLVMConstInt(LLVMTypeOf(b), 1, 0), b, "");
	v = in->op == PTX_OP_div ? LLVMBuildUDiv(c->b, a, safe, "") : LLVMBuildURem(c->b, a, safe, "");
	dst(c, 0, LLVMBuildSelect(c->b, zero, LLVMConstAllOnes(LLVMTypeOf(b)), v, ""));
	return true;
}

bool emit_int(struct compiler *c, const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_add:
	case PTX_OP_sub:
	case PTX_OP_neg:
	case PTX_OP_abs:
	case PTX_OP_min:
	case PTX_OP_max:
		return emit_plain(c, in);
	case PTX_OP_mul:
	case PTX_OP_mad:
		return emit_mul(c, in);
	case PTX_OP_mul_wide:
	case PTX_OP_mad_wide:
		return emit_mul_wide(c, in);
	case PTX_OP_div:
	case PTX_OP_rem:
		return emit_div(c, in);
	default:
		return false;
	}
}
