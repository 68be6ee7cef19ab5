/* setp, set, selp, slct. */
#include "ptx/jit/compile/compile.h"

static bool integer_predicate(const struct ptx_inst *in, LLVMIntPredicate *p)
{
	unsigned t = in->m.type[in->op == PTX_OP_set ? 1 : 0];
	bool is_signed = t == PTX_S16 || t == PTX_S32 || t == PTX_S64;

	switch (in->m.cmp) {
	case PTX_EQ:
		*p = LLVMIntEQ;
		return true;
	case PTX_NE:
		*p = LLVMIntNE;
		return true;
	case PTX_LT:
		*p = is_signed ? LLVMIntSLT : LLVMIntULT;
		return true;
	case PTX_LE:
		*p = is_signed ? LLVMIntSLE : LLVMIntULE;
		return true;
	case PTX_GT:
		*p = is_signed ? LLVMIntSGT : LLVMIntUGT;
		return true;
	case PTX_GE:
		*p = is_signed ? LLVMIntSGE : LLVMIntUGE;
		return true;
	case PTX_CMP_LO:
		*p = LLVMIntULT;
		return true;
	case PTX_CMP_LS:
		*p = LLVMIntULE;
		return true;
	case PTX_CMP_HI:
		*p = LLVMIntUGT;
		return true;
	case PTX_CMP_HS:
		*p = LLVMIntUGE;
		return true;
	default:
		return false;
	}
}

static LLVMRealPredicate float_predicate(unsigned cmp)
{
	static const LLVMRealPredicate table[] = {[PTX_EQ] = LLVMRealOEQ,
		[PTX_NE] = LLVMRealONE,
		[PTX_LT] = LLVMRealOLT,
		[PTX_LE] = LLVMRealOLE,
		[PTX_GT] = LLVMRealOGT,
		[PTX_GE] = LLVMRealOGE,
		[PTX_EQU] = LLVMRealUEQ,
		[PTX_NEU] = LLVMRealUNE,
		[PTX_LTU] = LLVMRealULT,
		[PTX_LEU] = LLVMRealULE,
		[PTX_GTU] = LLVMRealUGT,
		[PTX_GEU] = LLVMRealUGE,
		[PTX_NUM] = LLVMRealORD,
		[PTX_NAN] = LLVMRealUNO};

	return cmp < sizeof(table) / sizeof(table[0]) ? table[cmp] : LLVMRealPredicateFalse;
}

/* The comparison of operands `a` and a + 1; NULL: not here. */
static LLVMValueRef operands_compare(struct compiler *c, const struct ptx_inst *in, unsigned type, unsigned a)
{
	LLVMIntPredicate p;
	LLVMRealPredicate fp = float_predicate(in->m.cmp);

	if (type == PTX_F32 || type == PTX_F64) {
		if (!float_mode_fits(c, type, in->m.ftz) || fp == LLVMRealPredicateFalse)
			return NULL;
		return LLVMBuildFCmp(c->b, fp, src_float(c, a), src_float(c, a + 1), "");
	}
	if (ptx_type_kind(type) == PTX_KIND_FLOAT || !integer_predicate(in, &p))
		return NULL;
	return LLVMBuildICmp(c->b, p, src(c, a), src(c, a + 1), "");
}

static LLVMValueRef predicate_combine(struct compiler *c, const struct ptx_inst *in, LLVMValueRef t)
{
	LLVMValueRef p;

	if (!in->m.op)
		return t;
	p = src(c, 4);
	return in->m.op == PTX_A_AND  ? LLVMBuildAnd(c->b, t, p, "")
	       : in->m.op == PTX_A_OR ? LLVMBuildOr(c->b, t, p, "")
				      : LLVMBuildXor(c->b, t, p, "");
}

static bool emit_setp(struct compiler *c, const struct ptx_inst *in)
{
	LLVMValueRef t = operands_compare(c, in, in->m.type[0], 2), other = NULL;

	if (!t)
		return false;
	if (in->ops[1].kind == PTX_O_REG)
		other = predicate_combine(c, in, LLVMBuildNot(c->b, t, ""));
	dst(c, 0, predicate_combine(c, in, t));
	if (other)
		dst(c, 1, other);
	return true;
}

static bool emit_selp(struct compiler *c, const struct ptx_inst *in)
{
	unsigned bits = ptx_type_bits(in->m.type[0]);

	if (bits > 64)
		return false;
	dst(c, 0, LLVMBuildSelect(c->b, src(c, 3), src(c, 1), src(c, 2), ""));
	return true;
}

static bool emit_slct(struct compiler *c, const struct ptx_inst *in)
{
	LLVMValueRef v, t;

	if (in->m.ftz || in->m.type[1] == PTX_F32 || ptx_type_bits(in->m.type[0]) > 64)
		return false;
	v = src(c, 3);
	t = LLVMBuildICmp(c->b, LLVMIntSGE, v, LLVMConstNull(LLVMTypeOf(v)), "");
	dst(c, 0, LLVMBuildSelect(c->b, t, src(c, 1), src(c, 2), ""));
	return true;
}

bool emit_compare(struct compiler *c, const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_setp:
		return emit_setp(c, in);
	case PTX_OP_selp:
		return emit_selp(c, in);
	case PTX_OP_slct:
		return emit_slct(c, in);
	default:
		return false;
	}
}
