/* f32 and f64 arithmetic, rounded to nearest. Other rounding modes are left to the interpreter. */
#include "ptx/jit/compile/compile.h"

static bool is_plain(const struct ptx_inst *in)
{
	const struct ptx_mods *m = &in->m;

	return (m->type[0] == PTX_F32 || m->type[0] == PTX_F64) && m->rnd != PTX_RZ && m->rnd != PTX_RM &&
	       m->rnd != PTX_RP && !m->nan && !m->xorsign;
}

/* .sat: limits to 0..1; a NaN becomes +0. */
static LLVMValueRef emit_saturation(struct compiler *c, LLVMValueRef v)
{
	LLVMTypeRef t = LLVMTypeOf(v);
	LLVMValueRef zero = LLVMConstNull(t), one = bitcast(c, constant(c, like(v, c->i32), 0x3f800000), c->f32);

	v = LLVMBuildSelect(c->b, LLVMBuildFCmp(c->b, LLVMRealOGT, v, zero, ""), v, zero, "");
	return LLVMBuildSelect(c->b, LLVMBuildFCmp(c->b, LLVMRealOLT, v, one, ""), v, one, "");
}

static LLVMValueRef emit_fma(struct compiler *c)
{
	LLVMValueRef a = src_float(c, 1);
	LLVMTypeRef t = LLVMTypeOf(a);

	return intrinsic(c, "llvm.fma", &t, 1, (LLVMValueRef[]){a, src_float(c, 2), src_float(c, 3)}, 3);
}

static LLVMValueRef float_one(struct compiler *c, LLVMValueRef like_this)
{
	bool wide = value_bits(like_this) == 64;
	LLVMTypeRef t = like(like_this, wide ? c->i64 : c->i32);

	return bitcast(c, constant(c, t, wide ? 0x3ff0000000000000 : 0x3f800000), wide ? c->f64 : c->f32);
}

static bool emit_arithmetic(struct compiler *c, const struct ptx_inst *in)
{
	LLVMValueRef v;

	if (!float_mode_fits(c, in->m.type[0], in->m.ftz))
		return false;
	switch (in->op) {
	case PTX_OP_add:
		v = LLVMBuildFAdd(c->b, src_float(c, 1), src_float(c, 2), "");
		break;
	case PTX_OP_sub:
		v = LLVMBuildFSub(c->b, src_float(c, 1), src_float(c, 2), "");
		break;
	case PTX_OP_mul:
		v = LLVMBuildFMul(c->b, src_float(c, 1), src_float(c, 2), "");
		break;
	case PTX_OP_div:
		v = LLVMBuildFDiv(c->b, src_float(c, 1), src_float(c, 2), "");
		break;
	case PTX_OP_rcp:
		if (in->m.type[0] == PTX_F64 && in->m.rnd == PTX_APPROX)
			return false;
		v = src_float(c, 1);
		v = LLVMBuildFDiv(c->b, float_one(c, v), v, "");
		break;
	case PTX_OP_sqrt:
		v = unary(c, "llvm.sqrt", src_float(c, 1));
		break;
	default: /* mad, fma */
		if (c->request->isa == JIT_ISA_V2)
			return false; /* no instruction: it would become a call of the C library */
		v = emit_fma(c);
	}
	if (in->m.sat)
		v = emit_saturation(c, v);
	dst_float(c, 0, v);
	return true;
}

static LLVMValueRef canonical_f32(struct compiler *c, LLVMValueRef v)
{
	LLVMTypeRef t = LLVMTypeOf(v);
	LLVMValueRef is_nan = LLVMBuildICmp(c->b, LLVMIntUGT, LLVMBuildAnd(c->b, v, constant(c, t, 0x7fffffff), ""),
		constant(c, t, 0x7f800000), "");

	return LLVMBuildSelect(c->b, is_nan, constant(c, t, 0x7fffffff), v, "");
}

/* A source as bits; .ftz: a subnormal becomes a zero of its sign. */
static LLVMValueRef flushed_bits(struct compiler *c, unsigned k)
{
	LLVMValueRef v = src(c, k), normal;
	LLVMTypeRef t = LLVMTypeOf(v);

	if (!c->in->m.ftz)
		return v;
	normal = LLVMBuildAnd(c->b, v, constant(c, t, 0x7f800000), "");
	normal = LLVMBuildICmp(c->b, LLVMIntNE, normal, LLVMConstNull(t), "");
	return LLVMBuildSelect(c->b, normal, v, LLVMBuildAnd(c->b, v, constant(c, t, 0x80000000), ""), "");
}

static bool emit_sign(struct compiler *c, const struct ptx_inst *in)
{
	bool wide = in->m.type[0] == PTX_F64;
	LLVMValueRef v = flushed_bits(c, 1);
	uint64_t sign = wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;

	if (in->op == PTX_OP_abs)
		v = LLVMBuildAnd(c->b, v, constant(c, LLVMTypeOf(v), ~sign), "");
	else
		v = LLVMBuildXor(c->b, v, constant(c, LLVMTypeOf(v), sign), "");
	dst(c, 0, wide ? v : canonical_f32(c, v));
	return true;
}

/* A number wins over a NaN, and -0 is less than +0. */
static bool emit_min_max(struct compiler *c, const struct ptx_inst *in)
{
	bool max = in->op == PTX_OP_max, wide = in->m.type[0] == PTX_F64;
	LLVMValueRef a, b, fa, fb, less, more, same, r, nan;

	if (in->nops > 3 || (c->flushes && !in->m.ftz))
		return false;
	a = flushed_bits(c, 1);
	b = flushed_bits(c, 2);
	fa = bitcast(c, a, wide ? c->f64 : c->f32);
	fb = bitcast(c, b, wide ? c->f64 : c->f32);
	less = LLVMBuildFCmp(c->b, max ? LLVMRealOGT : LLVMRealOLT, fa, fb, "");
	more = LLVMBuildFCmp(c->b, max ? LLVMRealOLT : LLVMRealOGT, fa, fb, "");
	same = max ? LLVMBuildAnd(c->b, a, b, "") : LLVMBuildOr(c->b, a, b, "");
	r = LLVMBuildSelect(c->b, less, a, LLVMBuildSelect(c->b, more, b, same, ""), "");
	r = LLVMBuildSelect(c->b, LLVMBuildFCmp(c->b, LLVMRealUNO, fa, fa, ""), b, r, "");
	nan = LLVMBuildFCmp(c->b, LLVMRealUNO, fb, fb, "");
	r = LLVMBuildSelect(c->b, nan, a, r, "");
	nan = LLVMBuildAnd(c->b, nan, LLVMBuildFCmp(c->b, LLVMRealUNO, fa, fa, ""), "");
	r = LLVMBuildSelect(c->b, nan, constant(c, LLVMTypeOf(a), wide ? 0xfff8000000000000 : 0x7fffffff), r, "");
	dst(c, 0, r);
	return true;
}

bool emit_float(struct compiler *c, const struct ptx_inst *in)
{
	if (!is_plain(in))
		return false;
	switch (in->op) {
	case PTX_OP_add:
	case PTX_OP_sub:
	case PTX_OP_mul:
	case PTX_OP_mad:
	case PTX_OP_fma:
	case PTX_OP_div:
	case PTX_OP_rcp:
	case PTX_OP_sqrt:
		return emit_arithmetic(c, in);
	case PTX_OP_abs:
	case PTX_OP_neg:
		return emit_sign(c, in);
	case PTX_OP_min:
	case PTX_OP_max:
		return emit_min_max(c, in);
	default:
		return false;
	}
}
