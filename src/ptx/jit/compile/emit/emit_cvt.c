/* cvt between integers, and between integers and f32 or f64. */
#include "ptx/jit/compile/compile.h"

static bool is_signed_type(unsigned type)
{
	return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64;
}

static bool is_int(unsigned type)
{
	return ptx_type_kind(type) == PTX_KIND_INT && type != PTX_U16X2 && type != PTX_S16X2;
}

static bool is_float(unsigned type)
{
	return type == PTX_F32 || type == PTX_F64;
}

/* Writes an integer of the result's type, extended by its sign to the width of the register. */
static void write_extended(struct compiler *c, LLVMValueRef v, unsigned type)
{
	if (c->in->ops[0].kind == PTX_O_REG)
		dst(c, 0, resize(c, v, reg_bits(c, c->in->ops[0].reg), is_signed_type(type)));
}

static bool emit_int_to_int(struct compiler *c, const struct ptx_inst *in)
{
	unsigned to = in->m.type[0], from = in->m.type[1], bits = ptx_type_bits(to);
	LLVMValueRef v;

	if (in->m.sat)
		return false;
	if (ptx_type_bits(from) == 32 && bits == 64)
		v = src_widened(c, 1, is_signed_type(from));
	else
		v = resize(c, src(c, 1), bits, is_signed_type(from));
	write_extended(c, v, to);
	return true;
}

static bool emit_int_to_float(struct compiler *c, const struct ptx_inst *in)
{
	unsigned to = in->m.type[0], from = in->m.type[1];
	bool wide = ptx_type_bits(from) == 64;
	LLVMValueRef v;
	LLVMTypeRef t;

	if (in->m.sat || in->m.rnd != PTX_RN || (wide && !c->scalar && c->request->isa < JIT_ISA_V4))
		return false;
	v = src(c, 1);
	t = like(v, to == PTX_F64 ? c->f64 : c->f32);
	dst_float(c, 0, is_signed_type(from) ? LLVMBuildSIToFP(c->b, v, t, "") : LLVMBuildUIToFP(c->b, v, t, ""));
	return true;
}

static LLVMValueRef round_integral(struct compiler *c, LLVMValueRef v, unsigned rnd)
{
	switch (rnd) {
	case PTX_RNI:
		return unary(c, "llvm.roundeven", v);
	case PTX_RMI:
		return unary(c, "llvm.floor", v);
	case PTX_RPI:
		return unary(c, "llvm.ceil", v);
	default:
		return v;
	}
}

/* Saturates. A NaN gives 0 or, if a 64-bit type is involved, an integer with only the top bit set. */
static bool emit_float_to_int(struct compiler *c, const struct ptx_inst *in)
{
	unsigned to = in->m.type[0], from = in->m.type[1], bits = ptx_type_bits(to);
	LLVMTypeRef types[2];
	LLVMValueRef v, r;

	if ((in->m.ftz || c->flushes) && in->m.rnd != PTX_RZI && in->m.rnd != PTX_RNI)
		return false; /* a subnormal may round to 1 */
	if ((bits == 64 && !c->scalar && c->request->isa < JIT_ISA_V4))
		return false;
	v = round_integral(c, src_float(c, 1), in->m.rnd);
	types[0] = like(v, int_type(c, bits));
	types[1] = LLVMTypeOf(v);
	r = intrinsic(c, is_signed_type(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat", types, 2, &v, 1);
	if (from == PTX_F64 || bits == 64)
		r = LLVMBuildSelect(c->b, LLVMBuildFCmp(c->b, LLVMRealUNO, v, v, ""),
			constant(c, types[0], UINT64_C(1) << (bits - 1)), r, "");
	write_extended(c, r, to);
	return true;
}

bool emit_cvt(struct compiler *c, const struct ptx_inst *in)
{
	if (in->op != PTX_OP_cvt)
		return false;
	if (is_int(in->m.type[0]) && is_int(in->m.type[1]))
		return emit_int_to_int(c, in);
	if (is_float(in->m.type[0]) && is_int(in->m.type[1]))
		return emit_int_to_float(c, in);
	if (is_int(in->m.type[0]) && is_float(in->m.type[1]))
		return emit_float_to_int(c, in);
	return false;
}
