/* Emits the function of a kernel as LLVM IR: the prologue, then each block in order. */
#include "ptx/jit/compile/compile.h"

#include <errno.h>
#include <string.h>

static emitter *const emitters[] = {
	emit_move, emit_int, emit_bits, emit_float, emit_compare, emit_cvt, emit_memory, emit_atomic, emit_warp};

/* ---- the prologue ----------------------------------------------------------------------------------- */

static void make_types(struct compiler *c)
{
	c->i1 = int_type(c, 1);
	c->i8 = int_type(c, 8);
	c->i16 = int_type(c, 16);
	c->i32 = int_type(c, 32);
	c->i64 = int_type(c, 64);
	c->f32 = LLVMFloatTypeInContext(c->context);
	c->f64 = LLVMDoubleTypeInContext(c->context);
	c->ptr = LLVMPointerTypeInContext(c->context, 0);
	c->v1 = lanes_of(c->i1);
	c->v32 = lanes_of(c->i32);
}

static LLVMValueRef make_var(struct compiler *c, LLVMTypeRef t)
{
	LLVMValueRef v = LLVMBuildAlloca(c->b, t, "");

	/* A register that is read before it is written is 0: an undefined value could pass a check and then change. */
	LLVMBuildStore(c->b, LLVMConstNull(t), v);
	return v;
}

static void make_vars(struct compiler *c)
{
	for (uint32_t r = 0; r < c->f->nregs; r++) {
		LLVMTypeRef t;

		if (reg_form(c, r) == FORM_SLOT || c->f->shapes[r].kind == PTX_SHAPE_NONE) {
			c->vars[r] = NULL;
			if (reg_form(c, r) == FORM_SLOT)
				continue;
		}
		t = int_type(c, reg_bits(c, r));
		c->vars[r] = make_var(c, reg_form(c, r) == FORM_VECTOR ? lanes_of(t) : t);
	}
	for (uint32_t i = 0; i < c->norder; i++)
		c->pending_vars[c->order[i]] = make_var(c, c->v1);
	c->mask_var = make_var(c, c->v1);
	c->poll_var = make_var(c, c->i32);
	LLVMBuildStore(c->b, LLVMConstInt(c->i32, POLL_INTERVAL, 0), c->poll_var);
}

static void make_float_mode(struct compiler *c)
{
	static const uint32_t value[] = {0x1f80, 0x9fc0}; /* all exceptions masked; and FTZ, DAZ */

	for (int i = 0; i < 2; i++) {
		c->mxcsr[i] = make_var(c, c->i32);
		LLVMBuildStore(c->b, LLVMConstInt(c->i32, value[i], 0), c->mxcsr[i]);
	}
	emit_float_mode(c, true);
}

static void set_attribute(struct compiler *c, const char *name, const char *value)
{
	LLVMAddAttributeAtIndex(c->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(c->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

static void make_function(struct compiler *c)
{
	LLVMTypeRef params[] = {c->ptr, c->i32};
	unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);

	c->fn = LLVMAddFunction(c->module, "kernel", LLVMFunctionType(c->i32, params, 2, 0));
	LLVMAddAttributeAtIndex(c->fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
		LLVMCreateEnumAttribute(c->context, nounwind, 0));
	set_attribute(c, "target-cpu", c->request->cpu);
	set_attribute(c, "target-features", c->request->features);
	set_attribute(c, "prefer-vector-width", "512");
	if (c->flushes)
		set_attribute(c, "denormal-fp-math-f32", "preserve-sign,preserve-sign");
	c->warp = LLVMGetParam(c->fn, 0);
	LLVMPositionBuilderAtEnd(c->b, LLVMAppendBasicBlockInContext(c->context, c->fn, "entry"));
}

static void load_pointers(struct compiler *c)
{
	LLVMValueRef frame = field_load(c, c->b, c->ptr, c->warp, offsetof(struct warp, root)), fn;

	c->regs = field_load(c, c->b, c->ptr, frame, offsetof(struct frame, regs));
	fn = field_load(c, c->b, c->ptr, frame, offsetof(struct frame, fn));
	c->insts = field_load(c, c->b, c->ptr, fn, offsetof(struct xfunc, insts));
	c->helpers = field_load(c, c->b, c->ptr, c->warp, offsetof(struct warp, helpers));
	c->sites = field_load(c, c->b, c->ptr,
		field_load(c, c->b, c->ptr, field_load(c, c->b, c->ptr, c->warp, offsetof(struct warp, block)),
			offsetof(struct block, thread)),
		offsetof(struct grid_thread, sites));
}

/* The live lanes: at the kernel's start the full variant has all, and keeps them if none may exit before others. */
static void load_live(struct compiler *c)
{
	LLVMValueRef mask = field_load(c, c->b, c->i32, c->warp, offsetof(struct warp, mask));
	LLVMValueRef all = LLVMConstInt(c->i32, ALL_LANES, 0), start;

	c->live_var = LLVMBuildAlloca(c->b, c->v1, "");
	if (c->request->variant != JIT_ANY && !c->partial_exit) {
		mask = all;
	} else if (c->request->variant != JIT_ANY) {
		start = LLVMBuildICmp(c->b, LLVMIntEQ, LLVMGetParam(c->fn, 1), LLVMConstNull(c->i32), "");
		mask = LLVMBuildSelect(c->b, start, all, mask, "");
	}
	LLVMBuildStore(c->b, LLVMBuildBitCast(c->b, mask, c->v1, ""), c->live_var);
}

static bool is_float_arithmetic(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_add:
	case PTX_OP_sub:
	case PTX_OP_mul:
	case PTX_OP_mad:
	case PTX_OP_fma:
	case PTX_OP_div:
	case PTX_OP_min:
	case PTX_OP_max:
	case PTX_OP_setp:
		return true;
	default:
		return false;
	}
}

/* ---- blocks ----------------------------------------------------------------------------------------- */

/* True if the results of an instruction are scalars, so that it is computed with those. */
struct form_scan {
	const struct compiler *c;
	bool vector;
};

static void scan_form(void *data, uint32_t r)
{
	struct form_scan *s = data;

	s->vector |= reg_form(s->c, r) == FORM_VECTOR || reg_form(s->c, r) == FORM_SLOT;
}

static void scan_source_form(void *data, uint32_t r)
{
	struct form_scan *s = data;

	s->vector |= reg_form(s->c, r) != FORM_SCALAR;
}

static bool computes_scalars(const struct compiler *c, const struct ptx_inst *in)
{
	struct form_scan results = {c, false}, sources = {c, false}, varying = {c, false};

	ptx_inst_regs(in, NULL, scan_form, &results);
	ptx_inst_regs(in, scan_form, NULL, &sources);
	ptx_inst_regs(in, scan_source_form, NULL, &varying);
	return ptx_inst_ndest(in) && ((!results.vector && !sources.vector) || !varying.vector);
}

static LLVMValueRef read_guard(struct compiler *c, const struct ptx_inst *in)
{
	LLVMValueRef g;

	if (in->guard == PTX_NOREG)
		return NULL;
	g = reg_form(c, in->guard) == FORM_VECTOR ? reg_vector(c, in->guard) : reg_scalar(c, in->guard);
	return in->guard_not ? LLVMBuildNot(c->b, g, "") : g;
}

static bool is_terminator(const struct ptx_inst *in)
{
	return in->op == PTX_OP_bra || in->op == PTX_OP_brx_idx || in->op == PTX_OP_ret || in->op == PTX_OP_exit ||
	       in->op == PTX_OP_trap;
}

/* __syncthreads where no lanes can be elsewhere: it needs no counting if all warps come to one. */
static bool is_plain_barrier(const struct compiler *c, const struct ptx_inst *in)
{
	return (in->op == PTX_OP_bar_sync || in->op == PTX_OP_barrier_sync) && in->guard == PTX_NOREG &&
	       in->nops == 1 && in->ops[0].kind == PTX_O_IMM && !in->ops[0].imm && block_alone(c, c->block);
}

static void emit_instruction(struct compiler *c, uint32_t i)
{
	const struct ptx_inst *in = &c->f->insts[i];

	c->index = i;
	c->in = in;
	c->guard = read_guard(c, in);
	if (is_terminator(in))
		return;
	c->scalar = computes_scalars(c, in);
	for (size_t k = 0; k < sizeof(emitters) / sizeof(emitters[0]); k++)
		if (emitters[k](c, in))
			return;
	if (!needs_handover(c)) {
		emit_fallback(c, NO_SLOT, 0, 0);
		return;
	}
	emit_handover(c, i, c->mask, is_plain_barrier(c, in) ? COMPILED_BARRIER : COMPILED_HANDOVER);
	c->guard = NULL;
	add_entry(c, i + 1, false);
}

static bool is_indexed_target(const struct compiler *c, uint32_t b)
{
	const struct ptx_block *k = &c->f->blocks[b];

	for (uint32_t i = 0; i < k->npred; i++)
		if (c->f->insts[c->f->blocks[k->pred[i]].end - 1].op == PTX_OP_brx_idx)
			return true;
	return false;
}

static void emit_block(struct compiler *c, uint32_t b)
{
	const struct ptx_block *k = &c->f->blocks[b];

	emit_block_start(c, b);
	c->proven.until = 0;
	if (is_indexed_target(c, b) || (c->loop_of[b] == b && c->loops[b].spins))
		add_entry(c, k->first, true);
	for (uint32_t i = k->first; i < k->end && !c->err; i++)
		emit_instruction(c, i);
	if (!c->err)
		emit_block_end(c, b);
}

static void emit_dispatch(struct compiler *c, LLVMBasicBlockRef dispatch)
{
	LLVMBasicBlockRef start = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	LLVMValueRef s;

	LLVMPositionBuilderAtEnd(c->b, start);
	if (!block_alone(c, 0))
		LLVMBuildStore(c->b, LLVMBuildLoad2(c->b, c->v1, c->live_var, ""), c->pending_vars[0]);
	LLVMBuildBr(c->b, c->starts[0]);
	LLVMPositionBuilderAtEnd(c->b, dispatch);
	s = LLVMBuildSwitch(c->b, LLVMGetParam(c->fn, 1), start, c->nentries);
	for (uint32_t i = 1; i < c->nentries; i++)
		LLVMAddCase(s, LLVMConstInt(c->i32, i, 0), c->entry_blocks[i]);
}

/* An exit under a condition, while lanes wait elsewhere, or in a function that is called. */
static bool has_partial_exit(const struct compiler *c)
{
	for (uint32_t i = 0; i < c->norder; i++) {
		const struct ptx_block *k = &c->f->blocks[c->order[i]];
		const struct ptx_inst *in = &c->f->insts[k->end - 1];
		bool exits = in->op == PTX_OP_ret || in->op == PTX_OP_exit;

		for (uint32_t n = k->first; n < k->end; n++)
			if (c->f->insts[n].op == PTX_OP_call)
				return true;
		for (uint32_t n = 0; n < k->nsucc; n++)
			exits |= block_only_exits(c, k->succ[n]);
		if (exits && (in->guard != PTX_NOREG || !block_alone(c, c->order[i])))
			return true;
	}
	return false;
}

static void note_spinning_loops(struct compiler *c)
{
	for (uint32_t i = 0; i < c->norder; i++) {
		const struct ptx_block *k = &c->f->blocks[c->order[i]];
		bool spins = false;

		for (uint32_t n = k->first; n < k->end; n++)
			spins |= may_wait(&c->f->insts[n]);
		for (uint32_t l = c->loop_of[c->order[i]]; spins && l != NO_BLOCK; l = c->loops[l].parent)
			c->loops[l].spins = true;
	}
}

/* The mode of most instructions is that of the kernel. */
static bool prefers_flushing(const struct compiler *c)
{
	uint32_t with = 0, without = 0;

	for (uint32_t i = 0; i < c->f->ninsts; i++) {
		const struct ptx_mods *m = &c->f->insts[i].m;

		if (m->type[0] == PTX_F32 && m->ftz)
			with++;
		else if (m->type[0] == PTX_F64 || (m->type[0] == PTX_F32 && is_float_arithmetic(&c->f->insts[i])))
			without++;
	}
	return with > without;
}

int compile_emit(struct compiler *c)
{
	LLVMBasicBlockRef prologue, dispatch;

	make_types(c);
	c->partial_exit = has_partial_exit(c);
	c->flushes = prefers_flushing(c);
	note_spinning_loops(c);
	make_function(c);
	make_vars(c);
	make_float_mode(c);
	load_pointers(c);
	load_live(c);
	prologue = LLVMGetInsertBlock(c->b);
	dispatch = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	for (uint32_t i = 0; i < c->norder; i++)
		c->starts[c->order[i]] = LLVMAppendBasicBlockInContext(c->context, c->fn, "");
	LLVMPositionBuilderAtEnd(c->prologue, prologue);
	c->entries[0] = 0;
	c->nentries = 1;
	for (uint32_t i = 0; i < c->norder && !c->err; i++)
		emit_block(c, c->order[i]);
	emit_dispatch(c, dispatch);
	LLVMBuildBr(c->prologue, dispatch);
	return c->err;
}
