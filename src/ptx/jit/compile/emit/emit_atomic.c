/*
 * atom and red on 32 and 64 bits, in shared and global memory: one lane after the other, the lowest first.
 *
 * One host thread runs a block, so that shared memory needs no atomic instructions.  A reduction of all lanes to one
 * address is computed in registers first.
 */
#include "ptx/jit/compile/emit/access.h"

#include <stdlib.h>

struct atomic_kind {
	uint8_t op; /* enum ptx_aop */
	bool is_signed;
	LLVMAtomicRMWBinOp rmw;
	const char *reduce; /* NULL: the order matters */
	uint64_t neutral;
};

static const struct atomic_kind kinds[] = {
	{PTX_A_ADD, false, LLVMAtomicRMWBinOpAdd, "llvm.vector.reduce.add", 0},
	{PTX_A_EXCH, false, LLVMAtomicRMWBinOpXchg, NULL, 0},
	{PTX_A_AND, false, LLVMAtomicRMWBinOpAnd, "llvm.vector.reduce.and", UINT64_MAX},
	{PTX_A_OR, false, LLVMAtomicRMWBinOpOr, "llvm.vector.reduce.or", 0},
	{PTX_A_XOR, false, LLVMAtomicRMWBinOpXor, "llvm.vector.reduce.xor", 0},
	{PTX_A_MIN, false, LLVMAtomicRMWBinOpUMin, "llvm.vector.reduce.umin", UINT64_MAX},
	{PTX_A_MAX, false, LLVMAtomicRMWBinOpUMax, "llvm.vector.reduce.umax", 0},
	{PTX_A_MIN, true, LLVMAtomicRMWBinOpMin, NULL, 0},
	{PTX_A_MAX, true, LLVMAtomicRMWBinOpMax, NULL, 0},
};

static const struct atomic_kind *find_kind(const struct ptx_inst *in)
{
	bool is_signed = in->m.type[0] == PTX_S32 || in->m.type[0] == PTX_S64;
	bool ordered = in->m.op == PTX_A_MIN || in->m.op == PTX_A_MAX;

	if (ptx_type_kind(in->m.type[0]) == PTX_KIND_FLOAT)
		return NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].op == in->m.op && kinds[i].is_signed == (ordered && is_signed))
			return &kinds[i];
	return NULL;
}

/* The new value of shared memory that holds `old`. */
static LLVMValueRef kind_apply(struct compiler *c, const struct atomic_kind *k, LLVMValueRef old, LLVMValueRef v)
{
	switch (k->rmw) {
	case LLVMAtomicRMWBinOpAdd:
		return LLVMBuildAdd(c->b, old, v, "");
	case LLVMAtomicRMWBinOpAnd:
		return LLVMBuildAnd(c->b, old, v, "");
	case LLVMAtomicRMWBinOpOr:
		return LLVMBuildOr(c->b, old, v, "");
	case LLVMAtomicRMWBinOpXor:
		return LLVMBuildXor(c->b, old, v, "");
	case LLVMAtomicRMWBinOpUMin:
		return binary(c, "llvm.umin", old, v);
	case LLVMAtomicRMWBinOpUMax:
		return binary(c, "llvm.umax", old, v);
	case LLVMAtomicRMWBinOpMin:
		return binary(c, "llvm.smin", old, v);
	case LLVMAtomicRMWBinOpMax:
		return binary(c, "llvm.smax", old, v);
	default:
		return v;
	}
}

/* Changes memory at one address; returns the old value. */
static LLVMValueRef memory_change(
	struct compiler *c, const struct access_plan *p, const struct atomic_kind *k, LLVMValueRef at, LLVMValueRef v)
{
	LLVMValueRef old, store;

	if (p->access != ACCESS_SHARED)
		return LLVMBuildAtomicRMW(c->b, k->rmw, at, v, LLVMAtomicOrderingSequentiallyConsistent, 0);
	old = LLVMBuildLoad2(c->b, LLVMTypeOf(v), at, "");
	LLVMSetAlignment(old, p->bytes);
	store = LLVMBuildStore(c->b, kind_apply(c, k, old, v), at);
	LLVMSetAlignment(store, p->bytes);
	return old;
}

/*
 * A vector in memory, whose lanes a loop reads or writes.  It is stored in pieces of 32 bytes: a load of a part of a
 * 64-byte store has to wait for it on some processors.  Volatile, so that LLVM does not join them.
 */
static LLVMValueRef vector_spill(struct compiler *c, LLVMValueRef v)
{
	LLVMValueRef a = LLVMBuildAlloca(c->prologue, LLVMTypeOf(v), ""), at[LANES], part;
	unsigned n = 256 / value_bits(v);

	for (unsigned i = 0; i < LANES; i += n) {
		for (unsigned k = 0; k < n; k++)
			at[k] = LLVMConstInt(c->i32, i + k, 0);
		part = LLVMBuildShuffleVector(c->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(at, n), "");
		part = LLVMBuildStore(c->b, part, field_pointer(c, c->b, a, (uint64_t)i * value_bits(v) / 8));
		LLVMSetAlignment(part, 32);
		LLVMSetVolatile(part, 1);
	}
	return a;
}

static LLVMValueRef lane_pointer(struct compiler *c, LLVMValueRef array, unsigned bits, LLVMValueRef lane)
{
	return LLVMBuildGEP2(c->b, int_type(c, bits), array, &lane, 1, "");
}

/* For each active lane. Returns the array of old values, or NULL for red. */
static LLVMValueRef emit_loop(struct compiler *c, const struct access_plan *p, const struct atomic_kind *k,
	LLVMValueRef offsets, LLVMValueRef values, bool result)
{
	LLVMValueRef base = p->access == ACCESS_SHARED ? cached(c, CACHED_SHARED, 0) : NULL, m, next, lane, old;
	LLVMValueRef at = vector_spill(c, offsets), from = vector_spill(c, values),
		     to = result ? vector_spill(c, values) : NULL;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(c->b), loop, done;
	unsigned at_bits = value_bits(offsets), bits = p->bytes * 8;
	LLVMValueRef start = mask_bits(c, p->mask);

	loop = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	done = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	LLVMBuildBr(c->b, loop); /* some lane is active */
	LLVMPositionBuilderAtEnd(c->b, loop);
	m = LLVMBuildPhi(c->b, c->i32, "");
	lane = intrinsic(c, "llvm.cttz", &c->i32, 1, (LLVMValueRef[]){m, LLVMConstInt(c->i1, 0, 0)}, 2);
	lane = LLVMBuildAnd(c->b, lane, LLVMConstInt(c->i32, LANES - 1, 0), "");
	lane = LLVMBuildZExt(c->b, lane, c->i64, "");
	old = memory_change(c, p, k,
		access_pointer(
			c, base, LLVMBuildLoad2(c->b, int_type(c, at_bits), lane_pointer(c, at, at_bits, lane), "")),
		LLVMBuildLoad2(c->b, int_type(c, bits), lane_pointer(c, from, bits, lane), ""));
	if (to)
		LLVMBuildStore(c->b, old, lane_pointer(c, to, bits, lane));
	next = LLVMBuildAnd(c->b, m, LLVMBuildSub(c->b, m, LLVMConstInt(c->i32, 1, 0), ""), "");
	LLVMBuildCondBr(c->b, LLVMBuildICmp(c->b, LLVMIntNE, next, LLVMConstNull(c->i32), ""), loop, done);
	LLVMAddIncoming(m, (LLVMValueRef[]){start, next}, (LLVMBasicBlockRef[]){before, loop}, 2);
	LLVMPositionBuilderAtEnd(c->b, done);
	return to;
}

static LLVMValueRef lane_offset_vector(struct compiler *c, const struct access_plan *p)
{
	if (p->vector)
		return p->vector;
	return LLVMBuildAdd(c->b, splat(c, p->scalar), lane_offsets(c, LLVMTypeOf(p->scalar), (uint64_t)p->stride), "");
}

/* True if a later instruction reads the old value. */
static bool is_result_used(const struct compiler *c)
{
	const struct ptx_operand *o = &c->in->ops[0];
	uint64_t *live;
	bool used;

	if (c->in->op != PTX_OP_atom || o->kind != PTX_O_REG)
		return false;
	if (c->index + 1 == c->f->blocks[c->block].end)
		return set_has(c->f->blocks[c->block].live_out, o->reg);
	live = calloc(c->reg_words + 1u, sizeof(*live));
	if (!live)
		return true;
	live_before(c, c->index + 1, live);
	used = set_has(live, o->reg);
	free(live);
	return used;
}

static void emit_change(struct compiler *c, const struct access_plan *p, const struct atomic_kind *k, LLVMValueRef v)
{
	bool result = is_result_used(c);
	LLVMValueRef base = p->access == ACCESS_SHARED ? cached(c, CACHED_SHARED, 0) : NULL, old;
	LLVMTypeRef t = int_type(c, p->bytes * 8);

	access_charge(c);
	if (!result && p->scalar && !p->stride && k->reduce) {
		v = LLVMBuildSelect(c->b, p->mask, v, constant(c, LLVMTypeOf(v), k->neutral), "");
		memory_change(c, p, k, access_pointer(c, base, p->scalar), unary(c, k->reduce, v));
		return;
	}
	old = emit_loop(c, p, k, lane_offset_vector(c, p), v, result);
	if (old)
		dst(c, 0, LLVMBuildLoad2(c->b, lanes_of(t), old, ""));
}

static bool is_supported(const struct compiler *c, const struct ptx_inst *in, const struct ptx_operand *value)
{
	unsigned bits = ptx_type_bits(in->m.type[0]);

	return !in->m.vec && (bits == 32 || bits == 64) && (value->kind == PTX_O_REG || value->kind == PTX_O_IMM) &&
	       (in->op == PTX_OP_red || in->ops[0].kind != PTX_O_REG || reg_form(c, in->ops[0].reg) == FORM_VECTOR);
}

bool emit_atomic(struct compiler *c, const struct ptx_inst *in)
{
	struct access_plan p = {.x = decoded(c, c->index), .store = true, .site = NO_SLOT, .n = 1};
	const struct ptx_operand *address = &in->ops[in->op == PTX_OP_red ? 0 : 1], *value = address + 1;
	struct access_plan *plan = &p;
	const struct atomic_kind *k;
	LLVMBasicBlockRef some, fast, slow, done;
	LLVMValueRef v;

	if ((in->op != PTX_OP_atom && in->op != PTX_OP_red) || !is_supported(c, in, value) || !(k = find_kind(in)))
		return false;
	p.access = p.x->target == PTX_SHARED ? ACCESS_SHARED : ACCESS_GLOBAL;
	if ((p.x->target != PTX_SHARED && p.x->target != PTX_GLOBAL) || p.x->src[0] == NO_SLOT)
		return false;
	p.bytes = ptx_type_bits(in->m.type[0]) / 8;
	p.align = (unsigned)__builtin_ctz(p.bytes);
	if (!access_address(c, &p, address, p.access == ACCESS_SHARED ? 32 : 64) || p.stride % p.bytes)
		return false;
	c->scalar = false;
	p.mask = active_mask(c);
	some = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	fast = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	slow = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	done = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	LLVMBuildCondBr(c->b, mask_any(c, p.mask), some, done);
	LLVMPositionBuilderAtEnd(c->b, some);
	v = src_operand(c, value);
	LLVMBuildCondBr(c->b, access_check(c, plan), fast, slow);
	LLVMPositionBuilderAtEnd(c->b, slow);
	emit_fallback(c, p.site, p.align, access_span(&p));
	LLVMBuildBr(c->b, done);
	LLVMPositionBuilderAtEnd(c->b, fast);
	emit_change(c, &p, k, v);
	LLVMBuildBr(c->b, done);
	LLVMPositionBuilderAtEnd(c->b, done);
	return true;
}
