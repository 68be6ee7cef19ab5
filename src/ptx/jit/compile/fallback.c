/*
 * Execution by the interpreter's exec functions, and returning to the interpreter.
 *
 * Slots are shared by registers that are never live at the same time in one lane, so when lanes wait at several places,
 * the slot of a register is written only in the lanes for which the register is live.
 */
#include "ptx/jit/compile/compile.h"

#include <stdlib.h>
#include <string.h>

/* ---- registers and their slots ---------------------------------------------------------------------- */

static LLVMValueRef slot_pointer(struct compiler *c, uint32_t slot)
{
	return field_pointer(c, c->b, c->regs, slot);
}

static LLVMValueRef slot_load(struct compiler *c, uint32_t slot, LLVMTypeRef t)
{
	LLVMValueRef v = LLVMBuildLoad2(c->b, t, slot_pointer(c, slot), "");

	LLVMSetAlignment(v, 64);
	return v;
}

static void slot_store(struct compiler *c, uint32_t slot, LLVMValueRef v)
{
	LLVMSetAlignment(LLVMBuildStore(c->b, v, slot_pointer(c, slot)), 64);
}

void store_register(struct compiler *c, uint32_t reg, LLVMValueRef lanes)
{
	struct ptx_operand o = {.kind = PTX_O_REG, .type = c->f->regs[reg].type, .reg = reg};
	bool predicate = reg_bits(c, reg) == 1, scalar = c->scalar;
	uint32_t slot = c->x->slots[reg];
	LLVMValueRef v;

	if (reg_form(c, reg) == FORM_SLOT)
		return;
	c->scalar = false;
	v = c->lazy_nan[reg] ? src_operand(c, &o) : reg_vector(c, reg);
	c->scalar = scalar;
	if (lanes)
		v = LLVMBuildSelect(c->b, lanes, v,
			predicate ? LLVMBuildBitCast(c->b, slot_load(c, slot, c->i32), c->v1, "")
				  : slot_load(c, slot, LLVMTypeOf(v)),
			"");
	slot_store(c, slot, predicate ? mask_bits(c, v) : v);
}

static LLVMValueRef load_vector(struct compiler *c, uint32_t reg)
{
	if (reg_bits(c, reg) == 1)
		return LLVMBuildBitCast(c->b, slot_load(c, c->x->slots[reg], c->i32), c->v1, "");
	return slot_load(c, c->x->slots[reg], lanes_of(int_type(c, reg_bits(c, reg))));
}

/* The value of a register's variable from its slot; uniform and affine registers are right in the lanes of the mask. */
static LLVMValueRef load_value(struct compiler *c, uint32_t reg, LLVMValueRef mask)
{
	LLVMTypeRef t = int_type(c, reg_bits(c, reg));
	LLVMValueRef v = load_vector(c, reg);

	switch (reg_form(c, reg)) {
	case FORM_VECTOR:
		return v;
	case FORM_AFFINE:
		return first_lane(
			c, LLVMBuildSub(c->b, v, lane_offsets(c, t, (uint64_t)c->f->shapes[reg].stride), ""), mask);
	default:
		return first_lane(c, v, mask);
	}
}

void load_register(struct compiler *c, uint32_t reg)
{
	if (reg_form(c, reg) != FORM_SLOT)
		LLVMBuildStore(c->b, load_value(c, reg, c->mask), c->vars[reg]);
}

/* ---- exec functions --------------------------------------------------------------------------------- */

static void store_source(void *data, uint32_t reg)
{
	store_register(data, reg, NULL);
}

/* reg_write applies the guard again, which is right: the exec function has left the other lanes alone. */
static void load_result(void *data, uint32_t reg)
{
	struct compiler *c = data;

	if (reg_form(c, reg) != FORM_SLOT)
		reg_write(c, reg, load_value(c, reg, active_mask(c)));
}

static LLVMValueRef inst_pointer(struct compiler *c, uint32_t at)
{
	return field_pointer(c, c->b, c->insts, (uint64_t)at * sizeof(struct xinst));
}

static void execute_decoded(struct compiler *c, uint32_t at)
{
	LLVMValueRef x = inst_pointer(c, at), fn = field_load(c, c->b, c->ptr, x, offsetof(struct xinst, run));
	LLVMTypeRef types[] = {c->ptr, c->ptr};

	emit_float_mode(c, false);
	LLVMBuildCall2(c->b, LLVMFunctionType(LLVMVoidTypeInContext(c->context), types, 2, 0), fn,
		(LLVMValueRef[]){c->warp, x}, 2, "");
	emit_float_mode(c, true);
}

static void execute_access(struct compiler *c, uint32_t at, uint32_t site, unsigned align, uint64_t span)
{
	LLVMValueRef args[] = {c->warp, inst_pointer(c, at), LLVMConstInt(c->i32, site, 0),
		LLVMConstInt(c->i32, align, 0), LLVMConstInt(c->i64, span, 0)};

	call_helper(c, offsetof(struct compiled_helpers, access), LLVMVoidTypeInContext(c->context), args, 5);
}

static LLVMBasicBlockRef new_block(struct compiler *c)
{
	return LLVMAppendBasicBlockInContext(c->context, c->fn, "");
}

static void check_fault(struct compiler *c)
{
	LLVMValueRef e = field_load(c, c->b, c->i32, c->warp, offsetof(struct warp, event));
	LLVMBasicBlockRef bad = new_block(c), good = new_block(c);

	e = LLVMBuildAnd(c->b, e, LLVMConstInt(c->i32, EV_FAULT, 0), "");
	LLVMBuildCondBr(c->b, LLVMBuildICmp(c->b, LLVMIntNE, e, LLVMConstNull(c->i32), ""), bad, good);
	LLVMPositionBuilderAtEnd(c->b, bad);
	emit_return(c, COMPILED_FAULT);
	LLVMPositionBuilderAtEnd(c->b, good);
}

void emit_fallback(struct compiler *c, uint32_t site, unsigned align, uint64_t span)
{
	uint32_t at = c->x->first[c->index] + c->x->join_at[c->index], end = c->x->first[c->index + 1];
	LLVMValueRef active = active_mask(c);
	LLVMBasicBlockRef run = NULL, skip = NULL;

	if (c->guard) {
		run = new_block(c);
		skip = new_block(c);
		LLVMBuildCondBr(c->b, mask_any(c, active), run, skip);
		LLVMPositionBuilderAtEnd(c->b, run);
	}
	ptx_inst_regs(c->in, store_source, NULL, c);
	field_store(c, mask_bits(c, active), c->warp, offsetof(struct warp, active));
	for (; at < end; at++)
		if (at + 1 == end && site != NO_SLOT)
			execute_access(c, at, site, align, span);
		else
			execute_decoded(c, at);
	check_fault(c);
	ptx_inst_regs(c->in, NULL, load_result, c);
	if (skip) {
		LLVMBuildBr(c->b, skip);
		LLVMPositionBuilderAtEnd(c->b, skip);
	}
}

/* ---- liveness --------------------------------------------------------------------------------------- */

struct live_scan {
	uint64_t *set;
	bool guarded;
};

static void scan_def(void *data, uint32_t r)
{
	struct live_scan *s = data;

	if (!s->guarded)
		s->set[r / 64] &= ~(UINT64_C(1) << r % 64);
}

static void scan_use(void *data, uint32_t r)
{
	struct live_scan *s = data;

	s->set[r / 64] |= UINT64_C(1) << r % 64;
}

void live_before(const struct compiler *c, uint32_t index, uint64_t *set)
{
	const struct ptx_block *k = &c->f->blocks[c->f->block_of[index]];
	struct live_scan s = {set, false};

	memcpy(set, k->live_out, c->reg_words * 8);
	for (uint32_t i = k->end; i-- > index;) {
		const struct ptx_inst *in = &c->f->insts[i];

		s.guarded = in->guard != PTX_NOREG;
		ptx_inst_regs(in, NULL, scan_def, &s);
		ptx_inst_regs(in, scan_use, NULL, &s);
	}
}

/* ---- returning -------------------------------------------------------------------------------------- */

void emit_return(struct compiler *c, unsigned status)
{
	emit_float_mode(c, false);
	LLVMBuildRet(c->b, LLVMConstInt(c->i32, status, 0));
}

/* The lanes for which a register is live: those of `mask`, if it is in `here`, and those of pending blocks. */
static LLVMValueRef live_lanes(struct compiler *c, uint32_t reg, LLVMValueRef mask, const uint64_t *here)
{
	const uint64_t *p = block_pending(c, c->block);
	LLVMValueRef lanes = set_has(here, reg) ? mask : NULL;

	for (uint32_t w = 0; w < c->words; w++) {
		for (uint64_t bits = p[w]; bits; bits &= bits - 1) {
			uint32_t b = w * 64 + (uint32_t)__builtin_ctzll(bits);
			LLVMValueRef v;

			if (!set_has(c->f->blocks[b].live_in, reg))
				continue;
			v = LLVMBuildLoad2(c->b, c->v1, c->pending_vars[b], "");
			lanes = lanes ? LLVMBuildOr(c->b, lanes, v, "") : v;
		}
	}
	return lanes;
}

static void store_live(struct compiler *c, LLVMValueRef mask, const uint64_t *here)
{
	bool alone = block_alone(c, c->block);

	for (uint32_t r = 0; r < c->f->nregs; r++) {
		LLVMValueRef lanes;

		if (!set_has(here, r) && !reg_kept(c, c->block, r))
			continue;
		lanes = alone ? NULL : live_lanes(c, r, mask, here);
		if (alone || lanes)
			store_register(c, r, lanes);
	}
}

static void push_pending(struct compiler *c)
{
	const uint64_t *p = block_pending(c, c->block);

	for (uint32_t w = 0; w < c->words; w++) {
		for (uint64_t bits = p[w]; bits; bits &= bits - 1) {
			uint32_t b = w * 64 + (uint32_t)__builtin_ctzll(bits);
			LLVMValueRef args[] = {c->warp, LLVMConstInt(c->i32, c->x->first[c->f->blocks[b].first], 0),
				mask_bits(c, LLVMBuildLoad2(c->b, c->v1, c->pending_vars[b], ""))};

			call_helper(
				c, offsetof(struct compiled_helpers, push), LLVMVoidTypeInContext(c->context), args, 3);
		}
	}
}

/* Tells the warp and its block of lanes that have exited since. */
static void sync_exits(struct compiler *c)
{
	LLVMValueRef live = mask_bits(c, LLVMBuildLoad2(c->b, c->v1, c->live_var, "")), gone;
	LLVMBasicBlockRef tell = new_block(c), on = new_block(c);

	if (!c->partial_exit) {
		LLVMBuildBr(c->b, on);
		LLVMDeleteBasicBlock(tell);
		LLVMPositionBuilderAtEnd(c->b, on);
		return;
	}
	gone = field_load(c, c->b, c->i32, c->warp, offsetof(struct warp, live));
	gone = LLVMBuildAnd(c->b, gone, LLVMBuildNot(c->b, live, ""), "");
	LLVMBuildCondBr(c->b, LLVMBuildICmp(c->b, LLVMIntNE, gone, LLVMConstNull(c->i32), ""), tell, on);
	LLVMPositionBuilderAtEnd(c->b, tell);
	call_helper(c, offsetof(struct compiled_helpers, exit), LLVMVoidTypeInContext(c->context),
		(LLVMValueRef[]){c->warp, gone}, 2);
	/* The helper has ended the split, which goes on. */
	field_store(c, LLVMConstNull(c->i32), c->warp, offsetof(struct warp, event));
	LLVMBuildBr(c->b, on);
	LLVMPositionBuilderAtEnd(c->b, on);
}

void emit_handover(struct compiler *c, uint32_t index, LLVMValueRef mask, unsigned status)
{
	uint64_t *here = calloc(c->reg_words + 1u, 8);
	uint32_t at = c->x->first[index] + c->x->join_at[index];

	if (!here) {
		compile_fail(c, -12, "out of memory");
		emit_return(c, COMPILED_FAULT);
		return;
	}
	live_before(c, index, here);
	store_live(c, mask, here);
	free(here);
	sync_exits(c);
	push_pending(c);
	field_store(c, mask_bits(c, mask), c->warp, offsetof(struct warp, mask));
	field_store(c, inst_pointer(c, at), c->warp, offsetof(struct warp, pc));
	emit_return(c, status);
}

/* ---- code entries ----------------------------------------------------------------------------------- */

/* reachable: the code before it continues here, too. */
void add_entry(struct compiler *c, uint32_t index, bool reachable)
{
	uint64_t *here = calloc(c->reg_words + 1u, 8);
	LLVMBasicBlockRef entry = new_block(c), on = new_block(c);

	if (!here) {
		compile_fail(c, -12, "out of memory");
		return;
	}
	live_before(c, index, here);
	if (reachable)
		LLVMBuildBr(c->b, on);
	LLVMPositionBuilderAtEnd(c->b, entry);
	c->mask = LLVMBuildLoad2(c->b, c->v1, c->live_var, "");
	LLVMBuildStore(c->b, c->mask, c->mask_var);
	for (uint32_t r = 0; r < c->f->nregs; r++)
		if (set_has(here, r))
			load_register(c, r);
	free(here);
	LLVMBuildBr(c->b, on);
	LLVMPositionBuilderAtEnd(c->b, on);
	c->entries[c->nentries] = c->x->first[index] + c->x->join_at[index];
	c->entry_blocks[c->nentries++] = entry;
	c->mask = LLVMBuildLoad2(c->b, c->v1, c->mask_var, "");
}
