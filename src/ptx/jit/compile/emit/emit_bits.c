/* Bitwise operations and shifts; logic on predicates. */
#include "ptx/jit/compile/compile.h"

/* Shift counts are 32 bits wide, and one of at least the width of the value shifts everything out. */
static bool emit_shift(struct compiler *c, const struct ptx_inst *in)
{
	unsigned type = in->m.type[0], bits = ptx_type_bits(type);
	bool is_signed = type == PTX_S16 || type == PTX_S32 || type == PTX_S64;
	LLVMValueRef a = src(c, 1), n = src(c, 2), over, v;
	LLVMTypeRef t = LLVMTypeOf(a);

	over = LLVMBuildICmp(c->b, LLVMIntUGE, n, constant(c, LLVMTypeOf(n), bits), "");
	if (in->op == PTX_OP_shr && is_signed) {
		n = LLVMBuildSelect(c->b, over, constant(c, LLVMTypeOf(n), bits - 1), n, "");
		v = LLVMBuildAShr(c->b, a, resize(c, n, bits, false), "");
	} else {
		n = LLVMBuildSelect(c->b, over, LLVMConstNull(LLVMTypeOf(n)), n, "");
		n = resize(c, n, bits, false);
		v = in->op == PTX_OP_shl ? LLVMBuildShl(c->b, a, n, "") : LLVMBuildLShr(c->b, a, n, "");
		v = LLVMBuildSelect(c->b, over, LLVMConstNull(t), v, "");
	}
	dst(c, 0, v);
	return true;
}

/* The sum of the table's minterms; LLVM finds the instruction. */
static bool emit_lop3(struct compiler *c, const struct ptx_inst *in)
{
	LLVMValueRef a, b, d, v = NULL, term;
	unsigned table = (unsigned)in->ops[5].imm & 0xff;

	if (in->ops[1].kind != PTX_O_NONE || in->ops[5].kind != PTX_O_IMM)
		return false;
	a = src(c, 2);
	b = src(c, 3);
	d = src(c, 4);
	v = LLVMConstNull(LLVMTypeOf(a));
	for (unsigned i = 0; i < 8; i++) {
		if (!(table >> i & 1))
			continue;
		term = i & 4 ? a : LLVMBuildNot(c->b, a, "");
		term = LLVMBuildAnd(c->b, term, i & 2 ? b : LLVMBuildNot(c->b, b, ""), "");
		term = LLVMBuildAnd(c->b, term, i & 1 ? d : LLVMBuildNot(c->b, d, ""), "");
		v = LLVMBuildOr(c->b, v, term, "");
	}
	dst(c, 0, v);
	return true;
}

static bool emit_count(struct compiler *c, const struct ptx_inst *in)
{
	LLVMValueRef a = src(c, 1), v;

	if (in->op == PTX_OP_popc)
		v = unary(c, "llvm.ctpop", a);
	else if (in->op == PTX_OP_brev)
		v = unary(c, "llvm.bitreverse", a);
	else
		v = intrinsic(c, "llvm.ctlz", (LLVMTypeRef[]){LLVMTypeOf(a)}, 1,
			(LLVMValueRef[]){a, LLVMConstInt(c->i1, 0, 0)}, 2);
	dst(c, 0, in->op == PTX_OP_brev ? v : resize(c, v, 32, false));
	return true;
}

bool emit_bits(struct compiler *c, const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_and:
		dst(c, 0, LLVMBuildAnd(c->b, src(c, 1), src(c, 2), ""));
		return true;
	case PTX_OP_or:
		dst(c, 0, LLVMBuildOr(c->b, src(c, 1), src(c, 2), ""));
		return true;
	case PTX_OP_xor:
		dst(c, 0, LLVMBuildXor(c->b, src(c, 1), src(c, 2), ""));
		return true;
	case PTX_OP_not:
		dst(c, 0, LLVMBuildNot(c->b, src(c, 1), ""));
		return true;
	case PTX_OP_shl:
	case PTX_OP_shr:
		return emit_shift(c, in);
	case PTX_OP_lop3:
		return emit_lop3(c, in);
	case PTX_OP_popc:
	case PTX_OP_clz:
	case PTX_OP_brev:
		return emit_count(c, in);
	default:
		return false;
	}
}
