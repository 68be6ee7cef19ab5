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
#include "ptx/jit/compile/emit/access.h"

#include <string.h>

uint64_t access_span(const struct access_plan *p)
{
	return (uint64_t)(p->stride < 0 ? -p->stride : p->stride) * (LANES - 1) + access_bytes(p);
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

static LLVMValueRef rotate_right(struct compiler *c, LLVMValueRef v, unsigned by)
{
	LLVMTypeRef t = LLVMTypeOf(v);

	if (!by)
		return v;
	return intrinsic(c, "llvm.fshr", &t, 1, (LLVMValueRef[]){v, v, constant(c, t, by)}, 3);
}

/* The lowest address of all lanes, with a stride. */
static LLVMValueRef lowest_address(struct compiler *c, const struct access_plan *p)
{
	if (p->stride >= 0)
		return p->scalar;
	return LLVMBuildAdd(c->b, p->scalar, constant(c, LLVMTypeOf(p->scalar), (uint64_t)p->stride * (LANES - 1)), "");
}

/* True (i1) if all offsets are below a limit in units of the access's size, and aligned. */
static LLVMValueRef offsets_below(
	struct compiler *c, const struct access_plan *p, LLVMValueRef base, LLVMValueRef limit)
{
	LLVMValueRef v = p->scalar ? lowest_address(c, p) : p->vector, bad;

	if (base)
		v = LLVMBuildSub(c->b, v, is_vector(v) ? splat(c, base) : base, "");
	v = rotate_right(c, v, p->align);
	if (p->scalar)
		return LLVMBuildICmp(c->b, LLVMIntULT, v, limit, "");
	bad = LLVMBuildICmp(c->b, LLVMIntUGE, v, splat(c, limit), "");
	return LLVMBuildNot(c->b, mask_any(c, LLVMBuildAnd(c->b, bad, p->mask, "")), "");
}

/* In a memory of `size` bytes: the limit for offsets of accesses of `span` bytes. */
static LLVMValueRef limit_of_span(struct compiler *c, const struct access_plan *p, LLVMValueRef size, uint64_t span)
{
	LLVMTypeRef t = LLVMTypeOf(size);
	uint64_t unit = UINT64_C(1) << p->align;
	LLVMValueRef l = binary(c, "llvm.usub.sat", size, LLVMConstInt(t, span - 1, 0));

	l = LLVMBuildAdd(c->b, l, LLVMConstInt(t, unit - 1, 0), "");
	return LLVMBuildLShr(c->b, l, LLVMConstInt(t, p->align, 0), "");
}

static LLVMValueRef limit_of(struct compiler *c, const struct access_plan *p, LLVMValueRef size)
{
	return limit_of_span(c, p, size, access_span(p));
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

LLVMValueRef access_pointer(struct compiler *c, LLVMValueRef base, LLVMValueRef offset)
{
	if (!base)
		return LLVMBuildIntToPtr(c->b, offset, is_vector(offset) ? lanes_of(c->ptr) : c->ptr, "");
	offset = resize(c, offset, 64, true); /* checked: below 2^31 */
	return LLVMBuildGEP2(c->b, c->i8, base, &offset, 1, "");
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
		return p->scalar && !p->stride && access_has_gather(c, p->bytes) ? MOVE_SCATTERED : MOVE_NONE;
	if (p->stride % (int64_t)access_bytes(p))
		return MOVE_NONE; /* lanes may be misaligned */
	if (p->scalar && !p->stride)
		return p->n == 1 || !global ? MOVE_UNIFORM : MOVE_NONE;
	if (p->scalar && p->stride == (int64_t)access_bytes(p)) {
		if (p->n == 1)
			return MOVE_DENSE;
		return p->n == 2 || p->n == 4 ? MOVE_INTERLEAVED : MOVE_NONE;
	}
	if (p->vector && p->n == 1 && half_stride(c) >= 0 &&
		(half_stride(c) == p->bytes || !(half_stride(c) || p->store)))
		return MOVE_HALVES;
	/* Vectors of a lane must be one access if other threads may see them. */
	return access_has_gather(c, p->bytes) && (p->n == 1 || !global) && p->n <= 4 ? MOVE_SCATTERED : MOVE_NONE;
}

static bool needs_all_lanes(const struct compiler *c, const struct access_plan *p, enum move m)
{
	return m == MOVE_INTERLEAVED || m == MOVE_HALVES || (m == MOVE_DENSE && !access_has_masked(c, p->bytes));
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
			access_store_uniform(c, p, access_pointer(c, base, p->scalar));
		else
			access_load_uniform(c, p, access_pointer(c, base, p->scalar));
		break;
	case MOVE_DENSE:
		access_move_dense(c, p, access_pointer(c, base, p->scalar));
		break;
	case MOVE_INTERLEAVED:
		if (p->store)
			access_store_interleaved(c, p, access_pointer(c, base, p->scalar));
		else
			access_load_interleaved(c, p, access_pointer(c, base, p->scalar));
		break;
	case MOVE_HALVES:
		access_move_halves(c, p, base, half_stride(c) != 0);
		break;
	default:
		access_move_scattered(c, p, lane_pointers(c, p, base));
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

/*
 * True (i1) if the addresses of each half are as its shape says.  Shapes are right modulo 2^32 only: a 32-bit value may
 * have wrapped around before it became a part of the address.
 */
static LLVMValueRef halves_hold(struct compiler *c, const struct access_plan *p)
{
	LLVMValueRef first[LANES], step[LANES], v;

	for (unsigned i = 0; i < LANES; i++) {
		first[i] = LLVMConstInt(c->i32, i / (LANES / 2) * (LANES / 2), 0);
		step[i] = LLVMConstInt(c->i64, i % (LANES / 2) * (uint64_t)half_stride(c), 0);
	}
	v = LLVMBuildShuffleVector(
		c->b, p->vector, LLVMGetPoison(LLVMTypeOf(p->vector)), LLVMConstVector(first, LANES), "");
	v = LLVMBuildAdd(c->b, v, LLVMConstVector(step, LANES), "");
	v = LLVMBuildICmp(c->b, LLVMIntEQ, v, p->vector, "");
	return LLVMBuildICmp(c->b, LLVMIntEQ, mask_bits(c, v), LLVMConstAllOnes(c->i32), "");
}

/* ---- one check for several accesses ----------------------------------------------------------------- */

struct def_scan {
	uint32_t reg;
	bool found;
};

static void scan_def(void *data, uint32_t r)
{
	struct def_scan *s = data;

	s->found |= r == s->reg;
}

static bool defines_register(const struct ptx_inst *in, uint32_t reg)
{
	struct def_scan s = {reg, false};

	ptx_inst_regs(in, NULL, scan_def, &s);
	return s.found;
}

/* The displacement of a plain access to shared memory by register `reg`, of `bytes` for each lane. */
static bool same_access(const struct compiler *c, const struct ptx_inst *in, uint32_t reg, unsigned bytes, int64_t *at)
{
	const struct xinst *x = &c->x->insts[c->x->first[in - c->f->insts + 1] - 1];
	const struct ptx_operand *o = &in->ops[in->op == PTX_OP_st ? 0 : 1];

	if ((in->op != PTX_OP_ld && in->op != PTX_OP_st) || x->access != ACCESS_SHARED || o->reg != reg ||
		ptx_type_bits(in->m.type[0]) / 8 * x->n != bytes)
		return false;
	*at = x->imm;
	return true;
}

/*
 * Checks at once all accesses to shared memory that follow in this block by the same register, and that all lanes of
 * the block execute.  If the check fails, one of them is invalid, or would be in a lane that is off: the interpreter
 * takes over.
 */
static bool prove_shared(struct compiler *c, struct access_plan *p)
{
	uint32_t reg = c->in->ops[p->store ? 0 : 1].reg, end = c->f->blocks[c->block].end, i, n = 0;
	int64_t lo = p->x->imm, hi = lo, at;
	LLVMBasicBlockRef bad, good;
	LLVMValueRef v, limit;

	if (p->access != ACCESS_SHARED || !p->scalar || p->stride < 0 || reg == PTX_NOREG)
		return false;
	if (c->index <= c->proven.until && c->proven.until && c->proven.reg == reg &&
		c->proven.bytes == access_bytes(p) && p->x->imm >= c->proven.lo && p->x->imm <= c->proven.hi)
		return (p->x->imm - c->proven.lo) % (int64_t)access_bytes(p) == 0;
	if (c->guard)
		return false;
	for (i = c->index; i < end && !needs_handover_at(c, i); i++) {
		const struct ptx_inst *in = &c->f->insts[i];

		if (same_access(c, in, reg, access_bytes(p), &at) && in->guard == PTX_NOREG &&
			(at - lo) % (int64_t)access_bytes(p) == 0) {
			lo = at < lo ? at : lo;
			hi = at > hi ? at : hi;
			n++;
		}
		if (defines_register(in, reg))
			break;
	}
	if (n < 2 || hi - lo > 1 << 20)
		return false;
	v = LLVMBuildAdd(c->b, p->scalar, LLVMConstInt(c->i32, (uint64_t)(lo - p->x->imm), 0), "");
	limit = limit_of_span(c, p, cached(c, CACHED_SHARED_SIZE, 0), access_span(p) + (uint64_t)(hi - lo));
	bad = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	good = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	LLVMBuildCondBr(c->b, LLVMBuildICmp(c->b, LLVMIntULT, rotate_right(c, v, p->align), limit, ""), good, bad);
	LLVMPositionBuilderAtEnd(c->b, bad);
	emit_handover(c, c->index, c->mask, COMPILED_HANDOVER);
	LLVMPositionBuilderAtEnd(c->b, good);
	c->proven.reg = reg;
	c->proven.until = i < end ? i : end - 1;
	c->proven.lo = lo;
	c->proven.hi = hi;
	c->proven.bytes = access_bytes(p);
	return true;
}

static void emit_checked(struct compiler *c, struct access_plan *p, enum move m)
{
	LLVMBasicBlockRef fast, slow, start = NULL, done;
	LLVMValueRef ok;

	if (!needs_all_lanes(c, p, m) && prove_shared(c, p) && !c->guard) {
		if (c->in->m.sem > PTX_WEAK && !p->store)
			access_charge(c);
		move_data(c, p, m);
		return;
	}
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
	if (m == MOVE_HALVES && p->access != ACCESS_SHARED)
		ok = LLVMBuildAnd(c->b, ok, halves_hold(c, p), "");
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
		access_write_element(c, p, e,
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
	p.align = (unsigned)__builtin_ctz(access_bytes(&p));
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
