/* Values: constants, registers as scalars and vectors, operands of the current instruction. */
#include "ptx/jit/compile/compile.h"

#include <string.h>

/* ---- types and constants ---------------------------------------------------------------------------- */

LLVMTypeRef int_type(struct compiler *c, unsigned bits)
{
	return LLVMIntTypeInContext(c->context, bits);
}

LLVMTypeRef lanes_of(LLVMTypeRef t)
{
	return LLVMVectorType(t, LANES);
}

LLVMTypeRef mode_type(struct compiler *c, LLVMTypeRef t)
{
	return c->scalar ? t : lanes_of(t);
}

bool is_vector(LLVMValueRef v)
{
	return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

LLVMTypeRef like(LLVMValueRef v, LLVMTypeRef t)
{
	return is_vector(v) ? LLVMVectorType(t, LLVMGetVectorSize(LLVMTypeOf(v))) : t;
}

LLVMValueRef constant(struct compiler *c, LLVMTypeRef t, uint64_t v)
{
	LLVMValueRef all[LANES], e;

	(void)c;
	if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
		return LLVMConstInt(t, v, 0);
	e = LLVMConstInt(LLVMGetElementType(t), v, 0);
	for (unsigned i = 0; i < LANES; i++)
		all[i] = e;
	return LLVMConstVector(all, LANES);
}

LLVMValueRef lane_offsets(struct compiler *c, LLVMTypeRef t, uint64_t stride)
{
	LLVMValueRef all[LANES];

	(void)c;
	for (unsigned i = 0; i < LANES; i++)
		all[i] = LLVMConstInt(t, i * stride, 0);
	return LLVMConstVector(all, LANES);
}

LLVMValueRef splat(struct compiler *c, LLVMValueRef v)
{
	LLVMTypeRef t = LLVMTypeOf(v);
	LLVMValueRef one;

	if (is_vector(v))
		return v;
	one = LLVMBuildInsertElement(c->b, LLVMGetPoison(lanes_of(t)), v, LLVMConstInt(c->i32, 0, 0), "");
	return LLVMBuildShuffleVector(c->b, one, LLVMGetPoison(lanes_of(t)), LLVMConstNull(c->v32), "");
}

unsigned value_bits(LLVMValueRef v)
{
	LLVMTypeRef t = LLVMTypeOf(v);

	t = is_vector(v) ? LLVMGetElementType(t) : t;
	switch (LLVMGetTypeKind(t)) {
	case LLVMHalfTypeKind:
		return 16;
	case LLVMFloatTypeKind:
		return 32;
	case LLVMDoubleTypeKind:
		return 64;
	default:
		return LLVMGetIntTypeWidth(t);
	}
}

LLVMValueRef bitcast(struct compiler *c, LLVMValueRef v, LLVMTypeRef t)
{
	return LLVMBuildBitCast(c->b, v, like(v, t), "");
}

LLVMValueRef resize(struct compiler *c, LLVMValueRef v, unsigned bits, bool is_signed)
{
	unsigned have = value_bits(v);
	LLVMTypeRef t = like(v, int_type(c, bits));

	if (have == bits)
		return v;
	if (have > bits)
		return LLVMBuildTrunc(c->b, v, t, "");
	return is_signed ? LLVMBuildSExt(c->b, v, t, "") : LLVMBuildZExt(c->b, v, t, "");
}

LLVMValueRef select_value(struct compiler *c, LLVMValueRef p, LLVMValueRef a, LLVMValueRef b)
{
	if (is_vector(p) || is_vector(a) || is_vector(b)) {
		a = splat(c, a);
		b = splat(c, b);
	}
	return LLVMBuildSelect(c->b, p, a, b, "");
}

LLVMValueRef intrinsic(
	struct compiler *c, const char *name, LLVMTypeRef *types, unsigned ntypes, LLVMValueRef *args, unsigned nargs)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef fn = LLVMGetIntrinsicDeclaration(c->module, id, types, ntypes);

	return LLVMBuildCall2(c->b, LLVMGlobalGetValueType(fn), fn, args, nargs, "");
}

LLVMValueRef unary(struct compiler *c, const char *name, LLVMValueRef a)
{
	LLVMTypeRef t = LLVMTypeOf(a);

	return intrinsic(c, name, &t, 1, &a, 1);
}

LLVMValueRef binary(struct compiler *c, const char *name, LLVMValueRef a, LLVMValueRef b)
{
	LLVMTypeRef t = LLVMTypeOf(a);

	return intrinsic(c, name, &t, 1, (LLVMValueRef[]){a, b}, 2);
}

/* ---- masks ------------------------------------------------------------------------------------------ */

LLVMValueRef mask_bits(struct compiler *c, LLVMValueRef v1)
{
	return LLVMBuildBitCast(c->b, v1, c->i32, "");
}

LLVMValueRef mask_any(struct compiler *c, LLVMValueRef v1)
{
	return LLVMBuildICmp(c->b, LLVMIntNE, mask_bits(c, v1), LLVMConstNull(c->i32), "");
}

LLVMValueRef active_mask(struct compiler *c)
{
	return c->guard ? LLVMBuildAnd(c->b, c->mask, splat(c, c->guard), "") : c->mask;
}

LLVMValueRef first_lane(struct compiler *c, LLVMValueRef v, LLVMValueRef mask)
{
	LLVMValueRef at = intrinsic(
		c, "llvm.cttz", &c->i32, 1, (LLVMValueRef[]){mask_bits(c, mask), LLVMConstInt(c->i1, 0, 0)}, 2);

	return LLVMBuildExtractElement(c->b, v, LLVMBuildAnd(c->b, at, LLVMConstInt(c->i32, LANES - 1, 0), ""), "");
}

/* ---- registers -------------------------------------------------------------------------------------- */

unsigned reg_bits(const struct compiler *c, uint32_t reg)
{
	unsigned width = slot_width(c->f->regs[reg].type);

	return width == WPRED ? 1 : 8u << width;
}

enum reg_form reg_form(const struct compiler *c, uint32_t reg)
{
	if (reg_bits(c, reg) == 128)
		return FORM_SLOT;
	switch (c->f->shapes[reg].kind) {
	case PTX_SHAPE_VARYING:
		return FORM_VECTOR;
	case PTX_SHAPE_AFFINE:
		return FORM_AFFINE;
	default:
		return FORM_SCALAR;
	}
}

LLVMValueRef reg_scalar(struct compiler *c, uint32_t reg)
{
	return LLVMBuildLoad2(c->b, int_type(c, reg_bits(c, reg)), c->vars[reg], "");
}

LLVMValueRef reg_vector(struct compiler *c, uint32_t reg)
{
	LLVMTypeRef t = int_type(c, reg_bits(c, reg));

	switch (reg_form(c, reg)) {
	case FORM_VECTOR:
		return LLVMBuildLoad2(c->b, lanes_of(t), c->vars[reg], "");
	case FORM_AFFINE:
		return LLVMBuildAdd(
			c->b, splat(c, reg_scalar(c, reg)), lane_offsets(c, t, (uint64_t)c->f->shapes[reg].stride), "");
	default:
		return splat(c, reg_scalar(c, reg));
	}
}

/* Affine registers only ever receive values whose lanes differ by the stride: the scalar is that of lane 0. */
void reg_write(struct compiler *c, uint32_t reg, LLVMValueRef v)
{
	LLVMValueRef cond = c->guard;

	v = resize(c, v, reg_bits(c, reg), false);
	if (reg_form(c, reg) != FORM_VECTOR) {
		if (cond)
			v = LLVMBuildSelect(c->b, cond, v, reg_scalar(c, reg), "");
		LLVMBuildStore(c->b, v, c->vars[reg]);
		return;
	}
	v = splat(c, v);
	if (reg_kept(c, c->block, reg))
		cond = active_mask(c);
	if (cond)
		v = LLVMBuildSelect(c->b, cond, v, reg_vector(c, reg), "");
	LLVMBuildStore(c->b, v, c->vars[reg]);
}

/* ---- operands --------------------------------------------------------------------------------------- */

/* NaNs of lazy registers become canonical when anything but float arithmetic reads them. */
static LLVMValueRef canonical_bits(struct compiler *c, LLVMValueRef v)
{
	LLVMTypeRef f32 = LLVMFloatTypeInContext(c->context);
	LLVMValueRef f = bitcast(c, v, f32), is_nan = LLVMBuildFCmp(c->b, LLVMRealUNO, f, f, "");

	return LLVMBuildSelect(c->b, is_nan, constant(c, LLVMTypeOf(v), 0x7fffffff), v, "");
}

LLVMValueRef src_operand(struct compiler *c, const struct ptx_operand *o)
{
	unsigned bits = ptx_type_bits(o->type);
	LLVMValueRef v;

	if (o->kind == PTX_O_IMM)
		return constant(c, mode_type(c, int_type(c, bits)), (uint64_t)o->imm);
	v = c->scalar ? reg_scalar(c, o->reg) : reg_vector(c, o->reg);
	if (c->lazy_nan[o->reg])
		v = canonical_bits(c, v);
	if (o->neg)
		v = LLVMBuildNot(c->b, v, "");
	return value_bits(v) > bits ? resize(c, v, bits, false) : v;
}

LLVMValueRef src(struct compiler *c, unsigned k)
{
	return src_operand(c, &c->in->ops[k]);
}

LLVMValueRef src_float(struct compiler *c, unsigned k)
{
	const struct ptx_operand *o = &c->in->ops[k];
	LLVMTypeRef t =
		ptx_type_bits(o->type) == 64 ? LLVMDoubleTypeInContext(c->context) : LLVMFloatTypeInContext(c->context);
	LLVMValueRef v;

	if (o->kind == PTX_O_REG && c->lazy_nan[o->reg])
		v = c->scalar ? reg_scalar(c, o->reg) : reg_vector(c, o->reg);
	else
		v = src_operand(c, o);
	return bitcast(c, v, t);
}

void dst(struct compiler *c, unsigned k, LLVMValueRef v)
{
	const struct ptx_operand *o = &c->in->ops[k];

	if (o->kind == PTX_O_REG)
		reg_write(c, o->reg, v);
}

void dst_float(struct compiler *c, unsigned k, LLVMValueRef v)
{
	const struct ptx_operand *o = &c->in->ops[k];

	if (o->kind != PTX_O_REG)
		return;
	v = bitcast(c, v, int_type(c, value_bits(v)));
	if (value_bits(v) == 32 && !c->lazy_nan[o->reg])
		v = canonical_bits(c, v);
	reg_write(c, o->reg, v);
}
