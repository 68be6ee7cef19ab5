/*
 * Moves the data of an access between registers and memory, once its addresses have been checked: one element for all
 * lanes, consecutive ones, several for each lane, two halves, or scattered ones.
 */
#include "ptx/jit/compile/emit/access.h"

/* True if the processor has masked accesses for elements of this size. */
bool access_has_masked(const struct compiler *c, unsigned bytes)
{
	return c->request->isa == JIT_ISA_V4 || (c->request->isa == JIT_ISA_V3 && bytes >= 4);
}

bool access_has_gather(const struct compiler *c, unsigned bytes)
{
	return c->request->isa == JIT_ISA_V4 && bytes >= 4;
}

static LLVMValueRef value_element(struct compiler *c, const struct access_plan *p, unsigned e)
{
	const struct ptx_operand *o = p->n > 1 || p->value->kind == PTX_O_VEC ? &p->value->elem[e] : p->value;

	return resize(c, src_operand(c, o), p->bytes * 8, false);
}

void access_write_element(struct compiler *c, const struct access_plan *p, unsigned e, LLVMValueRef v)
{
	const struct ptx_operand *o = p->value->kind == PTX_O_VEC ? &p->value->elem[e] : p->value;

	if (o->kind == PTX_O_REG)
		reg_write(c, o->reg, resize(c, v, reg_bits(c, o->reg), p->is_signed));
}

static LLVMValueRef masked_load(struct compiler *c, LLVMTypeRef t, LLVMValueRef at, unsigned align, LLVMValueRef mask)
{
	return intrinsic(c, "llvm.masked.load", (LLVMTypeRef[]){t, c->ptr}, 2,
		(LLVMValueRef[]){at, LLVMConstInt(c->i32, align, 0), mask, LLVMGetPoison(t)}, 4);
}

static void masked_store(struct compiler *c, LLVMValueRef v, LLVMValueRef at, unsigned align, LLVMValueRef mask)
{
	intrinsic(c, "llvm.masked.store", (LLVMTypeRef[]){LLVMTypeOf(v), c->ptr}, 2,
		(LLVMValueRef[]){v, at, LLVMConstInt(c->i32, align, 0), mask}, 4);
}

/* One element for each lane, one after the other. */
void access_move_dense(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
{
	LLVMTypeRef t = lanes_of(int_type(c, p->bytes * 8));
	LLVMValueRef v;

	if (!access_has_masked(c, p->bytes)) { /* then all lanes are active */
		if (p->store) {
			LLVMSetAlignment(LLVMBuildStore(c->b, splat(c, value_element(c, p, 0)), at), p->bytes);
			return;
		}
		v = LLVMBuildLoad2(c->b, t, at, "");
		LLVMSetAlignment(v, p->bytes);
		access_write_element(c, p, 0, v);
		return;
	}
	if (p->store)
		masked_store(c, splat(c, value_element(c, p, 0)), at, p->bytes, p->mask);
	else
		access_write_element(c, p, 0, masked_load(c, t, at, p->bytes, p->mask));
}

/* Element e of n of every lane, in a vector of all lanes' elements. */
static LLVMValueRef interleave_mask(struct compiler *c, unsigned n, unsigned e)
{
	LLVMValueRef at[LANES];

	for (unsigned i = 0; i < LANES; i++)
		at[i] = LLVMConstInt(c->i32, i * n + e, 0);
	return LLVMConstVector(at, LANES);
}

/* Lane after lane, n elements each; all lanes are active. */
void access_load_interleaved(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
{
	LLVMTypeRef t = LLVMVectorType(int_type(c, p->bytes * 8), LANES * p->n);
	LLVMValueRef v = LLVMBuildLoad2(c->b, t, at, "");

	LLVMSetAlignment(v, access_bytes(p));
	for (unsigned e = 0; e < p->n; e++)
		access_write_element(
			c, p, e, LLVMBuildShuffleVector(c->b, v, LLVMGetPoison(t), interleave_mask(c, p->n, e), ""));
}

static LLVMValueRef vector_concat(struct compiler *c, LLVMValueRef a, LLVMValueRef b)
{
	unsigned n = LLVMGetVectorSize(LLVMTypeOf(a)) * 2;
	LLVMValueRef at[LANES * 4];

	for (unsigned i = 0; i < n; i++)
		at[i] = LLVMConstInt(c->i32, i, 0);
	return LLVMBuildShuffleVector(c->b, a, b, LLVMConstVector(at, n), "");
}

void access_store_interleaved(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
{
	LLVMValueRef all, from[LANES * 4];

	all = vector_concat(c, splat(c, value_element(c, p, 0)), splat(c, value_element(c, p, 1)));
	if (p->n == 4)
		all = vector_concat(
			c, all, vector_concat(c, splat(c, value_element(c, p, 2)), splat(c, value_element(c, p, 3))));
	for (unsigned i = 0; i < LANES * p->n; i++)
		from[i] = LLVMConstInt(c->i32, i % p->n * LANES + i / p->n, 0);
	all = LLVMBuildShuffleVector(
		c->b, all, LLVMGetPoison(LLVMTypeOf(all)), LLVMConstVector(from, LANES * p->n), "");
	LLVMSetAlignment(LLVMBuildStore(c->b, all, at), access_bytes(p));
}

/* All lanes access one address. */
void access_load_uniform(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
{
	for (unsigned e = 0; e < p->n; e++) {
		LLVMValueRef v = LLVMBuildLoad2(
			c->b, int_type(c, p->bytes * 8), field_pointer(c, c->b, at, (uint64_t)e * p->bytes), "");

		LLVMSetAlignment(v, p->bytes);
		access_write_element(c, p, e, v);
	}
}

/* The highest active lane wins. */
void access_store_uniform(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
{
	LLVMValueRef last = intrinsic(
		c, "llvm.ctlz", &c->i32, 1, (LLVMValueRef[]){mask_bits(c, p->mask), LLVMConstInt(c->i1, 0, 0)}, 2);

	last = LLVMBuildSub(c->b, LLVMConstInt(c->i32, LANES - 1, 0), last, "");
	last = LLVMBuildAnd(c->b, last, LLVMConstInt(c->i32, LANES - 1, 0), "");
	for (unsigned e = 0; e < p->n; e++) {
		LLVMValueRef v = LLVMBuildExtractElement(c->b, splat(c, value_element(c, p, e)), last, "");

		LLVMSetAlignment(LLVMBuildStore(c->b, v, field_pointer(c, c->b, at, (uint64_t)e * p->bytes)), p->bytes);
	}
}

/* Any addresses; `at` is a vector of pointers. */
void access_move_scattered(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
{
	LLVMTypeRef t = lanes_of(int_type(c, p->bytes * 8)), types[] = {t, lanes_of(c->ptr)};
	LLVMValueRef align = LLVMConstInt(c->i32, p->bytes, 0), results[4];

	for (unsigned e = 0; e < p->n; e++) {
		LLVMValueRef a = at, step = LLVMConstInt(c->i64, (uint64_t)e * p->bytes, 0);

		if (e)
			a = LLVMBuildGEP2(c->b, c->i8, at, &step, 1, "");
		if (p->store)
			intrinsic(c, "llvm.masked.scatter", types, 2,
				(LLVMValueRef[]){splat(c, value_element(c, p, e)), a, align, p->mask}, 4);
		else
			results[e] = intrinsic(c, "llvm.masked.gather", types, 2,
				(LLVMValueRef[]){a, align, p->mask, LLVMConstNull(t)}, 4);
	}
	for (unsigned e = 0; e < p->n && !p->store; e++)
		access_write_element(c, p, e, results[e]);
}

/* The pointer of a half's first lane. */
static LLVMValueRef half_pointer(struct compiler *c, const struct access_plan *p, LLVMValueRef base, unsigned lane)
{
	return access_pointer(c, base, LLVMBuildExtractElement(c->b, p->vector, LLVMConstInt(c->i32, lane, 0), ""));
}

/* Each half of the warp accesses consecutive elements, or loads one; all lanes are active. */
void access_move_halves(struct compiler *c, const struct access_plan *p, LLVMValueRef base, bool dense)
{
	LLVMTypeRef t = int_type(c, p->bytes * 8), half = LLVMVectorType(t, LANES / 2);
	LLVMValueRef v[2], at, value = p->store ? splat(c, value_element(c, p, 0)) : NULL, index[LANES];

	for (unsigned i = 0; i < LANES; i++)
		index[i] = LLVMConstInt(c->i32, i, 0);
	for (unsigned h = 0; h < 2; h++) {
		at = half_pointer(c, p, base, h * LANES / 2);
		if (p->store) {
			v[h] = LLVMBuildShuffleVector(c->b, value, LLVMGetPoison(LLVMTypeOf(value)),
				LLVMConstVector(index + h * LANES / 2, LANES / 2), "");
			LLVMSetAlignment(LLVMBuildStore(c->b, v[h], at), p->bytes);
			continue;
		}
		v[h] = LLVMBuildLoad2(c->b, dense ? half : t, at, "");
		LLVMSetAlignment(v[h], p->bytes);
		if (!dense) {
			v[h] = LLVMBuildInsertElement(c->b, LLVMGetPoison(half), v[h], LLVMConstInt(c->i32, 0, 0), "");
			v[h] = LLVMBuildShuffleVector(
				c->b, v[h], LLVMGetPoison(half), LLVMConstNull(LLVMVectorType(c->i32, LANES / 2)), "");
		}
	}
	if (!p->store)
		access_write_element(
			c, p, 0, LLVMBuildShuffleVector(c->b, v[0], v[1], LLVMConstVector(index, LANES), ""));
}
