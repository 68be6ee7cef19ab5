/*
 * ld and st.
 *
 * A fast path checks the addresses as a whole and accesses memory itself; all other accesses, and all faults, are left to
 * the interpreter's exec function.
 *
 *	global	the allocation that this instruction used last (struct access_site) holds all active lanes' addresses
 *	shared	all offsets lie in the block's shared memory
 *	local	the offset is uniform, and lies in the lane's local memory
 *	param	a kernel's parameter: loaded once; others are left to the interpreter
 *
 * An address is one scalar for all lanes, the scalar of lane 0 with a stride, or a vector.  Offsets from the base of the
 * memory are rotated right by log2 of the access's size before they are compared: misaligned ones become large.
 */
#include "ptx/jit/compile/access.h"

#include <string.h>

static unsigned lane_bytes(const struct access_plan *p)
{
	return p->bytes * p->n;
}

uint64_t access_span(const struct access_plan *p)
{
	return (uint64_t)(p->stride < 0 ? -p->stride : p->stride) * (LANES - 1) + lane_bytes(p);
}

/* ---- addresses -------------------------------------------------------------------------------------- */

bool access_address(struct compiler *c, struct access_plan *p, const struct ptx_operand *o, unsigned bits)
{
	LLVMTypeRef t = int_type(c, bits);
	LLVMValueRef v;
	enum reg_form form;

	if (o->reg == PTX_NOREG) {
		if (p->x->src[0] == NO_SLOT) /* a local variable */
			p->scalar = LLVMConstInt(t, (uint64_t)p->x->imm, 0);
		else
			p->scalar = LLVMBuildAdd(c->b, resize(c, cached(c, CACHED_CONST, p->x->src[0]), bits, false),
				LLVMConstInt(t, (uint64_t)p->x->imm, 0), "");
		return true;
	}
	if (reg_bits(c, o->reg) != bits)
		return false;
	form = reg_form(c, o->reg);
	v = form == FORM_VECTOR ? reg_vector(c, o->reg) : reg_scalar(c, o->reg);
	v = LLVMBuildAdd(c->b, v, constant(c, LLVMTypeOf(v), (uint64_t)p->x->imm), "");
	if (form == FORM_VECTOR)
		p->vector = v;
	else
		p->scalar = v;
	if (form == FORM_AFFINE)
		p->stride = c->f->shapes[o->reg].stride;
	return p->stride > -(1 << 20) && p->stride < 1 << 20;
}

static LLVMValueRef rotate(struct compiler *c, LLVMValueRef v, unsigned by)
{
	LLVMTypeRef t = LLVMTypeOf(v);

	if (!by)
		return v;
	return intrinsic(c, "llvm.fshr", &t, 1, (LLVMValueRef[]){v, v, constant(c, t, by)}, 3);
}

/* The lowest address of all lanes, with a stride. */
static LLVMValueRef lowest(struct compiler *c, const struct access_plan *p)
{
	if (p->stride >= 0)
		return p->scalar;
	return LLVMBuildAdd(c->b, p->scalar, constant(c, LLVMTypeOf(p->scalar), (uint64_t)p->stride * (LANES - 1)), "");
}

/* True (i1) if all offsets are below a limit in units of the access's size, and aligned. */
static LLVMValueRef offsets_below(
	struct compiler *c, const struct access_plan *p, LLVMValueRef base, LLVMValueRef limit)
{
	LLVMValueRef v = p->scalar ? lowest(c, p) : p->vector, bad;

	if (base)
		v = LLVMBuildSub(c->b, v, is_vector(v) ? splat(c, base) : base, "");
	v = rotate(c, v, p->align);
	if (p->scalar)
		return LLVMBuildICmp(c->b, LLVMIntULT, v, limit, "");
	bad = LLVMBuildICmp(c->b, LLVMIntUGE, v, splat(c, limit), "");
	return LLVMBuildNot(c->b, mask_any(c, LLVMBuildAnd(c->b, bad, p->mask, "")), "");
}

/* In a memory of `size` bytes: the limit for offsets_below. */
static LLVMValueRef limit_of(struct compiler *c, const struct access_plan *p, LLVMValueRef size)
{
	LLVMTypeRef t = LLVMTypeOf(size);
	uint64_t unit = UINT64_C(1) << p->align;
	LLVMValueRef l = binary(c, "llvm.usub.sat", size, LLVMConstInt(t, access_span(p) - 1, 0));

	l = LLVMBuildAdd(c->b, l, LLVMConstInt(t, unit - 1, 0), "");
	return LLVMBuildLShr(c->b, l, LLVMConstInt(t, p->align, 0), "");
}

static LLVMValueRef check_global(struct compiler *c, struct access_plan *p)
{
	LLVMValueRef site, base, limit;

	p->site = c->nsites++;
	site = field_pointer(c, c->b, c->sites, (uint64_t)p->site * sizeof(struct access_site));
	base = field_load(c, c->b, c->i64, site, offsetof(struct access_site, base));
	limit = field_load(c, c->b, c->i64, site, offsetof(struct access_site, limit));
	return offsets_below(c, p, base, limit);
}

/* ---- moving data ------------------------------------------------------------------------------------ */

/* True if the processor has masked accesses for elements of this size. */
static bool has_masked(const struct compiler *c, unsigned bytes)
{
	return c->request->isa == JIT_ISA_V4 || (c->request->isa == JIT_ISA_V3 && bytes >= 4);
}

static bool has_gather(const struct compiler *c, unsigned bytes)
{
	return c->request->isa == JIT_ISA_V4 && bytes >= 4;
}

static LLVMValueRef value_element(struct compiler *c, const struct access_plan *p, unsigned e)
{
	const struct ptx_operand *o = p->n > 1 || p->value->kind == PTX_O_VEC ? &p->value->elem[e] : p->value;

	return resize(c, src_operand(c, o), p->bytes * 8, false);
}

static void write_element(struct compiler *c, const struct access_plan *p, unsigned e, LLVMValueRef v)
{
	const struct ptx_operand *o = p->value->kind == PTX_O_VEC ? &p->value->elem[e] : p->value;

	if (o->kind == PTX_O_REG)
		reg_write(c, o->reg, resize(c, v, reg_bits(c, o->reg), p->is_signed));
}

LLVMValueRef access_pointer(struct compiler *c, LLVMValueRef base, LLVMValueRef offset)
{
	if (!base)
		return LLVMBuildIntToPtr(c->b, offset, is_vector(offset) ? lanes_of(c->ptr) : c->ptr, "");
	offset = resize(c, offset, 64, true); /* checked: below 2^31 */
	return LLVMBuildGEP2(c->b, c->i8, base, &offset, 1, "");
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
static void move_dense(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
{
	LLVMTypeRef t = lanes_of(int_type(c, p->bytes * 8));
	LLVMValueRef v;

	if (!has_masked(c, p->bytes)) { /* then all lanes are active */
		if (p->store) {
			LLVMSetAlignment(LLVMBuildStore(c->b, splat(c, value_element(c, p, 0)), at), p->bytes);
			return;
		}
		v = LLVMBuildLoad2(c->b, t, at, "");
		LLVMSetAlignment(v, p->bytes);
		write_element(c, p, 0, v);
		return;
	}
	if (p->store)
		masked_store(c, splat(c, value_element(c, p, 0)), at, p->bytes, p->mask);
	else
		write_element(c, p, 0, masked_load(c, t, at, p->bytes, p->mask));
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
static void load_interleaved(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
{
	LLVMTypeRef t = LLVMVectorType(int_type(c, p->bytes * 8), LANES * p->n);
	LLVMValueRef v = LLVMBuildLoad2(c->b, t, at, "");

	LLVMSetAlignment(v, lane_bytes(p));
	for (unsigned e = 0; e < p->n; e++)
		write_element(
			c, p, e, LLVMBuildShuffleVector(c->b, v, LLVMGetPoison(t), interleave_mask(c, p->n, e), ""));
}

static LLVMValueRef concatenate(struct compiler *c, LLVMValueRef a, LLVMValueRef b)
{
	unsigned n = LLVMGetVectorSize(LLVMTypeOf(a)) * 2;
	LLVMValueRef at[LANES * 4];

	for (unsigned i = 0; i < n; i++)
		at[i] = LLVMConstInt(c->i32, i, 0);
	return LLVMBuildShuffleVector(c->b, a, b, LLVMConstVector(at, n), "");
}

static void store_interleaved(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
{
	LLVMValueRef all, from[LANES * 4];

	all = concatenate(c, splat(c, value_element(c, p, 0)), splat(c, value_element(c, p, 1)));
	if (p->n == 4)
		all = concatenate(
			c, all, concatenate(c, splat(c, value_element(c, p, 2)), splat(c, value_element(c, p, 3))));
	for (unsigned i = 0; i < LANES * p->n; i++)
		from[i] = LLVMConstInt(c->i32, i % p->n * LANES + i / p->n, 0);
	all = LLVMBuildShuffleVector(
		c->b, all, LLVMGetPoison(LLVMTypeOf(all)), LLVMConstVector(from, LANES * p->n), "");
	LLVMSetAlignment(LLVMBuildStore(c->b, all, at), lane_bytes(p));
}

/* All lanes access one address. */
static void load_uniform(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
{
	for (unsigned e = 0; e < p->n; e++) {
		LLVMValueRef v = LLVMBuildLoad2(
			c->b, int_type(c, p->bytes * 8), field_pointer(c, c->b, at, (uint64_t)e * p->bytes), "");

		LLVMSetAlignment(v, p->bytes);
		write_element(c, p, e, v);
	}
}

/* The highest active lane wins. */
static void store_uniform(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
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
static void move_scattered(struct compiler *c, const struct access_plan *p, LLVMValueRef at)
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
		write_element(c, p, e, results[e]);
}

/* The pointer of a half's first lane. */
static LLVMValueRef half_pointer(struct compiler *c, const struct access_plan *p, LLVMValueRef base, unsigned lane)
{
	return access_pointer(c, base, LLVMBuildExtractElement(c->b, p->vector, LLVMConstInt(c->i32, lane, 0), ""));
}

/* Each half of the warp accesses consecutive elements, or loads one; all lanes are active. */
static void move_halves(struct compiler *c, const struct access_plan *p, LLVMValueRef base, bool dense)
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
		write_element(c, p, 0, LLVMBuildShuffleVector(c->b, v[0], v[1], LLVMConstVector(index, LANES), ""));
}

/* ---- plans ------------------------------------------------------------------------------------------ */

enum move { MOVE_UNIFORM, MOVE_DENSE, MOVE_INTERLEAVED, MOVE_HALVES, MOVE_SCATTERED, MOVE_NONE };

/* The stride in each half of the warp, of the address of the current instruction; -1: none is known. */
static int64_t half_stride(const struct compiler *c)
{
	const struct ptx_operand *o = &c->in->ops[c->in->op == PTX_OP_st ? 0 : 1];
	const struct ptx_shape *s;

	if (!c->request->halves || o->reg == PTX_NOREG)
		return -1;
	s = &c->request->halves[o->reg];
	return s->kind == PTX_SHAPE_VARYING ? -1 : s->kind == PTX_SHAPE_AFFINE ? s->stride : 0;
}

static enum move choose_move(const struct compiler *c, const struct access_plan *p)
{
	bool global = p->access == ACCESS_GLOBAL;

	if (p->access == ACCESS_LOCAL)
		return p->scalar && !p->stride && has_gather(c, p->bytes) ? MOVE_SCATTERED : MOVE_NONE;
	if (p->scalar && !p->stride)
		return p->n == 1 || !global ? MOVE_UNIFORM : MOVE_NONE;
	if (p->scalar && p->stride == (int64_t)lane_bytes(p)) {
		if (p->n == 1)
			return MOVE_DENSE;
		return p->n == 2 || p->n == 4 ? MOVE_INTERLEAVED : MOVE_NONE;
	}
	if (p->vector && p->n == 1 && half_stride(c) >= 0 &&
		(half_stride(c) == p->bytes || !(half_stride(c) || p->store)))
		return MOVE_HALVES;
	/* Vectors of a lane must be one access if other threads may see them. */
	return has_gather(c, p->bytes) && (p->n == 1 || !global) && p->n <= 4 ? MOVE_SCATTERED : MOVE_NONE;
}

static bool needs_all_lanes(const struct compiler *c, const struct access_plan *p, enum move m)
{
	return m == MOVE_INTERLEAVED || m == MOVE_HALVES || (m == MOVE_DENSE && !has_masked(c, p->bytes));
}

LLVMValueRef access_check(struct compiler *c, struct access_plan *p)
{
	switch (p->access) {
	case ACCESS_GLOBAL:
		return check_global(c, p);
	case ACCESS_SHARED:
		return offsets_below(c, p, NULL, limit_of(c, p, cached(c, CACHED_SHARED_SIZE, 0)));
	default:
		return offsets_below(c, p, NULL, limit_of(c, p, cached(c, CACHED_LOCAL_SIZE, 0)));
	}
}

/* The pointers of all lanes, with a stride or in local memory. */
static LLVMValueRef lane_pointers(struct compiler *c, const struct access_plan *p, LLVMValueRef base)
{
	LLVMValueRef v = p->vector, step;

	if (p->access == ACCESS_LOCAL) {
		v = LLVMBuildMul(c->b, splat(c, cached(c, CACHED_LOCAL_SIZE, 0)), lane_offsets(c, c->i64, 1), "");
		step = p->scalar;
		base = LLVMBuildGEP2(c->b, c->i8, base, &step, 1, "");
		return LLVMBuildGEP2(c->b, c->i8, base, &v, 1, "");
	}
	if (!v)
		v = LLVMBuildAdd(
			c->b, splat(c, p->scalar), lane_offsets(c, LLVMTypeOf(p->scalar), (uint64_t)p->stride), "");
	return access_pointer(c, base, v);
}

static void move_data(struct compiler *c, const struct access_plan *p, enum move m)
{
	LLVMValueRef base = p->access == ACCESS_SHARED  ? cached(c, CACHED_SHARED, 0)
			    : p->access == ACCESS_LOCAL ? cached(c, CACHED_LOCAL, 0)
							: NULL;

	switch (m) {
	case MOVE_UNIFORM:
		if (p->store)
			store_uniform(c, p, access_pointer(c, base, p->scalar));
		else
			load_uniform(c, p, access_pointer(c, base, p->scalar));
		break;
	case MOVE_DENSE:
		move_dense(c, p, access_pointer(c, base, p->scalar));
		break;
	case MOVE_INTERLEAVED:
		if (p->store)
			store_interleaved(c, p, access_pointer(c, base, p->scalar));
		else
			load_interleaved(c, p, access_pointer(c, base, p->scalar));
		break;
	case MOVE_HALVES:
		move_halves(c, p, base, half_stride(c) != 0);
		break;
	default:
		move_scattered(c, p, lane_pointers(c, p, base));
	}
}

/* ---- instructions ----------------------------------------------------------------------------------- */

void access_charge(struct compiler *c)
{
	LLVMValueRef n = field_load(c, c->b, c->i32, c->warp, offsetof(struct warp, budget));

	field_store(c, LLVMBuildSub(c->b, n, LLVMConstInt(c->i32, SPIN_COST, 0), ""), c->warp,
		offsetof(struct warp, budget));
	n = field_load(c, c->b, c->i32, c->warp, offsetof(struct warp, spins));
	field_store(c, LLVMBuildAdd(c->b, n, LLVMConstInt(c->i32, 1, 0), ""), c->warp, offsetof(struct warp, spins));
}

static void emit_checked(struct compiler *c, struct access_plan *p, enum move m)
{
	LLVMBasicBlockRef fast, slow, start = NULL, done;
	LLVMValueRef ok;

	fast = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	slow = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	done = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	if (c->guard) { /* without active lanes the address need not be valid */
		start = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
		LLVMBuildCondBr(c->b, mask_any(c, p->mask), start, done);
		LLVMPositionBuilderAtEnd(c->b, start);
	}
	ok = access_check(c, p);
	if (needs_all_lanes(c, p, m))
		ok = LLVMBuildAnd(c->b, ok,
			LLVMBuildICmp(c->b, LLVMIntEQ, mask_bits(c, p->mask), LLVMConstAllOnes(c->i32), ""), "");
	LLVMBuildCondBr(c->b, ok, fast, slow);
	LLVMPositionBuilderAtEnd(c->b, slow);
	emit_fallback(c, p->site, p->align, access_span(p));
	LLVMBuildBr(c->b, done);
	LLVMPositionBuilderAtEnd(c->b, fast);
	if (c->in->m.sem > PTX_WEAK && !p->store)
		access_charge(c);
	move_data(c, p, m);
	LLVMBuildBr(c->b, done);
	LLVMPositionBuilderAtEnd(c->b, done);
}

static bool emit_parameter(struct compiler *c, const struct access_plan *p)
{
	const struct xinst *x = p->x;

	if (p->store || x->src[0] != NO_SLOT || (uint64_t)x->imm >= c->f->param_size || p->bytes > 8)
		return false;
	for (unsigned e = 0; e < p->n; e++)
		write_element(c, p, e,
			cached(c, CACHED_PARAM8 + (unsigned)__builtin_ctz(p->bytes), (uint32_t)x->imm + e * p->bytes));
	return true;
}

static bool is_value(const struct compiler *c, const struct ptx_operand *o)
{
	if (o->kind == PTX_O_REG)
		return reg_form(c, o->reg) != FORM_SLOT && reg_bits(c, o->reg) >= 16;
	return o->kind == PTX_O_IMM || o->kind == PTX_O_SINK;
}

static bool values_fit(const struct compiler *c, const struct access_plan *p)
{
	if (p->value->kind != PTX_O_VEC)
		return is_value(c, p->value) && !(p->store && p->value->kind == PTX_O_SINK);
	for (uint32_t i = 0; i < p->value->n; i++)
		if (!is_value(c, &p->value->elem[i]) || (p->store && p->value->elem[i].kind == PTX_O_SINK))
			return false;
	return true;
}

static bool emit_access(struct compiler *c, const struct ptx_inst *in)
{
	struct access_plan p = {.x = decoded(c, c->index), .store = in->op == PTX_OP_st, .site = NO_SLOT};
	unsigned type = in->m.type[0];
	enum move m;

	p.access = p.x->access;
	p.value = &in->ops[p.store ? 1 : 0];
	p.bytes = ptx_type_bits(type) / 8;
	p.n = p.value->kind == PTX_O_VEC ? p.value->n : 1;
	p.is_signed = type == PTX_S8 || type == PTX_S16 || type == PTX_S32;
	if (p.bytes < 1 || p.bytes > 8 || !values_fit(c, &p) || (p.n & (p.n - 1)))
		return false;
	p.align = (unsigned)__builtin_ctz(lane_bytes(&p));
	if (p.access == ACCESS_PARAM)
		return emit_parameter(c, &p);
	if (p.access == ACCESS_ANY || (in->m.sem > PTX_WEAK && p.access != ACCESS_SHARED))
		return false;
	if (!access_address(c, &p, &in->ops[p.store ? 0 : 1], p.access == ACCESS_SHARED ? 32 : 64))
		return false;
	m = choose_move(c, &p);
	if (m == MOVE_NONE)
		return false;
	c->scalar = m == MOVE_UNIFORM && p.store ? false : c->scalar;
	p.mask = active_mask(c);
	emit_checked(c, &p, m);
	return true;
}

bool emit_memory(struct compiler *c, const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_ld:
	case PTX_OP_ldu:
	case PTX_OP_st:
		return emit_access(c, in);
	default:
		return false;
	}
}
