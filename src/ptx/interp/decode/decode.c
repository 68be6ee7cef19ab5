/*
 * Decodes a function: every register, constant and address gets a slot in the frame (decode_slot.c), every instruction
 * gets its exec function (decode_select.c).
 *
 * Operands that must be computed first (special registers, addresses in the local frame) become instructions before the
 * one that uses them, with a temporary as result.  Points of reconvergence get an x_join.
 */
#include "ptx/interp/checked/checked_core.h"
#include "ptx/interp/decode/decode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void decode_fail(struct decoder *d, int err, const struct ptx_inst *in, const char *fmt, ...)
{
	va_list ap;
	int n = 0;

	if (d->e->err)
		return;
	d->e->err = err;
	if (!d->e->size)
		return;
	if (in)
		n = snprintf(d->e->why, d->e->size, "line %u: ", in->line);
	if (n < 0 || (size_t)n >= d->e->size)
		return;
	va_start(ap, fmt);
	vsnprintf(d->e->why + n, d->e->size - (size_t)n, fmt, ap);
	va_end(ap);
}

/* ---- instructions ----------------------------------------------------------------------------------- */

/* Like decode_grow, but keeps the alignment of struct xinst. */
static bool reserve_inst(struct decoder *d)
{
	uint32_t cap = d->insts_cap ? d->insts_cap * 2 : 64;
	struct xinst *p;

	if (d->ninsts < d->insts_cap)
		return true;
	p = aligned_alloc(_Alignof(struct xinst), (size_t)cap * sizeof(*p));
	if (!p) {
		decode_no_memory(d);
		return false;
	}
	if (d->ninsts)
		memcpy(p, d->insts, (size_t)d->ninsts * sizeof(*p));
	free(d->insts);
	d->insts = p;
	d->insts_cap = cap;
	return true;
}

struct xinst *decode_emit(struct decoder *d, exec_fn run, const struct ptx_inst *in)
{
	struct xinst *x;

	if (!reserve_inst(d))
		return &d->dummy;
	x = &d->insts[d->ninsts++];
	memset(x, 0, sizeof(*x));
	x->run = run;
	x->in = in;
	x->guard = d->true_slot;
	x->dst = x->dst2 = NO_SLOT;
	for (unsigned i = 0; i < MAX_SRC; i++)
		x->src[i] = NO_SLOT;
	return x;
}

/* Emits an instruction that computes an operand into a temporary, of up to 64 bits. */
static uint32_t emit_temp(
	struct decoder *d, exec_fn run, const struct ptx_inst *in, unsigned width, uint32_t aux, int64_t imm)
{
	uint32_t slot = decode_temporary(d);
	struct xinst *x = decode_emit(d, run, in);

	x->dst = slot;
	x->dst_width = (uint8_t)width;
	x->aux = aux;
	x->imm = imm;
	return slot;
}

static bool offset_in_range(const struct ptx_var *v, int64_t imm)
{
	return imm >= -(1LL << 31) && imm < 1LL << 31 && v->offset < 1u << 30;
}

uint32_t decode_var(struct decoder *d, const struct ptx_inst *in, const struct ptx_var *v, int64_t imm, unsigned width)
{
	if (v->defined_by)
		v = v->defined_by;
	switch (v->space) {
	case PTX_GLOBAL:
	case PTX_CONST:
	case PTX_TEX:
		if (v->linkage == PTX_LINK_EXTERN) {
			decode_fail(d, -ENOENT, in, "%s is used, but defined nowhere", v->name);
			return 0;
		}
		return decode_relocated(d, v, imm, width);
	case PTX_SHARED:
	case PTX_SHARED_CLUSTER:
		if (v->unsized)
			return decode_relocated(d, v, imm, width);
		if (!v->placed)
			break;
		return decode_const(d, width, v->offset + (uint64_t)imm);
	case PTX_LOCAL:
		if (v->owner != d->fn || !offset_in_range(v, imm))
			break;
		return emit_temp(d, x_local_addr, in, width, 0, (int64_t)v->offset + imm);
	case PTX_PARAM:
		if (!offset_in_range(v, imm) || imm < 0 || v->offset + (uint64_t)imm > d->fn->param_frame_size)
			break;
		return emit_temp(d, x_param_addr, in, width, 0, (int64_t)v->offset + imm);
	}
	decode_fail(d, -ENOTSUP, in, "the address of %s", v->name);
	return 0;
}

static void note_special_register(struct decoder *d, const struct ptx_operand *o)
{
	switch (o->reg) {
	case PTX_SR_reserved_smem_offset:
	case PTX_SR_reserved_smem_offset_begin:
	case PTX_SR_reserved_smem_offset_cap:
	case PTX_SR_reserved_smem_offset_end:
		d->program->uses_reserved_shared = true;
	}
}

uint32_t decode_operand(struct decoder *d, const struct ptx_inst *in, const struct ptx_operand *o, uint8_t *width)
{
	*width = (uint8_t)slot_width(o->type);
	switch (o->kind) {
	case PTX_O_REG:
		*width = (uint8_t)slot_width(d->fn->regs[o->reg].type);
		return d->regs[o->reg];
	case PTX_O_IMM:
		return decode_const(d, *width, (uint64_t)o->imm);
	case PTX_O_SREG:
		note_special_register(d, o);
		return emit_temp(d, x_sreg, in, *width, o->reg, o->comp);
	case PTX_O_SINK:
		return decode_sink(d);
	case PTX_O_VAR:
		return decode_var(d, in, o->var, o->imm, *width);
	case PTX_O_FUNC:
		*width = W64;
		return decode_const(d, W64, interp_function_address(o->fn));
	default:
		return NO_SLOT;
	}
}

static uint32_t decode_list(struct decoder *d, const struct ptx_inst *in, const struct ptx_operand *o)
{
	uint32_t at = d->nlists;

	for (uint32_t i = 0; i < o->n; i++) {
		uint8_t width;
		uint32_t slot = decode_operand(d, in, &o->elem[i], &width), cap = d->lists_cap;

		if (!decode_grow(d, (void **)&d->lists, d->nlists, &d->lists_cap, sizeof(*d->lists)) ||
			!decode_grow(d, (void **)&d->list_widths, d->nlists, &cap, 1))
			return 0;
		d->lists[d->nlists] = slot;
		d->list_widths[d->nlists++] = width;
	}
	return at;
}

/* An address operand: [reg + imm], [var + imm] or [imm]. slot is NO_SLOT for local and parameter variables. */
struct decoded_address {
	uint32_t slot;
	uint8_t width;
	uint8_t space;
	int64_t imm;
};

static struct decoded_address decode_address(
	struct decoder *d, const struct ptx_inst *in, const struct ptx_operand *o, unsigned space)
{
	struct decoded_address a = {NO_SLOT, W64, (uint8_t)space, o->imm};

	if (o->reg != PTX_NOREG) {
		a.slot = d->regs[o->reg];
		a.width = (uint8_t)slot_width(d->fn->regs[o->reg].type);
	} else if (!o->var) {
		a.slot = decode_const(d, W64, (uint64_t)o->imm);
		a.imm = 0;
	} else if (o->var->space == PTX_LOCAL || o->var->space == PTX_PARAM) {
		if (!offset_in_range(o->var, o->imm) || (o->var->space == PTX_LOCAL && o->var->owner != d->fn))
			decode_fail(d, -ENOTSUP, in, "the address of %s", o->var->name);
		a.imm = (int64_t)o->var->offset + o->imm;
		a.space = o->var->space;
	} else {
		if (o->var->space == PTX_SHARED) {
			a.space = PTX_SHARED;
			a.width = W32;
		}
		a.slot = decode_var(d, in, o->var, 0, a.width);
	}
	return a;
}

static void x_add_displacement(struct warp *w, const struct xinst *x)
{
	uint64_t *d = DST(w, x, uint64_t);

	FOR_ACTIVE(w, i)
	d[i] = src_read_lane(w, x, 0, i) + (uint64_t)x->imm;
}

/* The second address of an instruction: xinst has only one displacement, so the sum goes to a temporary. */
static uint32_t address_temp(struct decoder *d, const struct ptx_inst *in, struct decoded_address a)
{
	uint32_t slot = decode_temporary(d);
	struct xinst *x = decode_emit(d, x_add_displacement, in);

	if (a.slot == NO_SLOT)
		decode_fail(d, -ENOTSUP, in, "%s from local or parameter memory", ptx_op_name(in->op));
	x->dst = slot;
	x->dst_width = W64;
	x->src[0] = a.slot;
	x->src_width[0] = a.width;
	x->imm = a.imm;
	return slot;
}

/* Fills in the operands of x, which is not in d->insts yet: instructions that compute operands are emitted first. */
static void decode_operands(struct decoder *d, const struct ptx_inst *in, struct xinst *x)
{
	unsigned ndest = ptx_inst_ndest(in), addresses = 0;
	uint32_t *slot;
	uint8_t *width, unused;

	for (unsigned k = 0; k < in->nops; k++) {
		const struct ptx_operand *o = &in->ops[k];
		unsigned n = k - ndest;

		if (k >= ndest && n >= MAX_SRC) {
			decode_fail(d, -ENOTSUP, in, "%s with %u operands", ptx_op_name(in->op), in->nops);
			return;
		}
		slot = k >= ndest ? &x->src[n] : k ? &x->dst2 : &x->dst;
		width = k >= ndest ? &x->src_width[n] : k ? &x->dst2_width : &x->dst_width;
		if (o->kind == PTX_O_VEC) {
			*slot = decode_list(d, in, o);
			*width = (uint8_t)slot_width(o->n ? o->elem[0].type : o->type);
		} else if (o->kind == PTX_O_ADDR) {
			struct decoded_address a = decode_address(d, in, o, addresses ? in->m.space2 : in->m.space);

			if (addresses++) {
				*slot = address_temp(d, in, a);
				*width = W64;
			} else {
				*slot = a.slot;
				*width = a.width;
				x->imm = a.imm;
				x->target = a.space;
			}
		} else {
			*slot = decode_operand(d, in, o, k ? width : &unused);
			if (!k)
				*width = unused;
		}
		if (k >= ndest && o->neg)
			x->src_not |= (uint8_t)(1u << n);
	}
}

/* The index of the source that is the member mask; -1: all lanes of the warp are members; -2: not warp-wide. */
static int member_source(const struct ptx_inst *in, const struct xinst *x)
{
	switch (in->op) {
	case PTX_OP_shfl:
		return x->src[3] != NO_SLOT ? 3 : -2;
	case PTX_OP_vote:
	case PTX_OP_vote_ballot:
		return x->src[1] != NO_SLOT ? 1 : -2;
	case PTX_OP_match:
	case PTX_OP_redux:
		return 1;
	case PTX_OP_elect:
	case PTX_OP_bar_warp_sync:
		return 0;
	case PTX_OP_mma:
	case PTX_OP_movmatrix:
	case PTX_OP_ldmatrix:
	case PTX_OP_stmatrix:
	case PTX_OP_wmma_load_a:
	case PTX_OP_wmma_load_b:
	case PTX_OP_wmma_load_c:
	case PTX_OP_wmma_store_d:
	case PTX_OP_wmma_mma:
		return -1;
	default:
		return -2;
	}
}

static void fail_unsupported(struct decoder *d, const struct ptx_inst *in)
{
	char types[64] = "", name[64];
	size_t n = 0;

	snprintf(name, sizeof(name), "%s", ptx_op_name(in->op));
	for (char *c = name; *c; c++)
		*c = *c == '_' ? '.' : *c;
	for (unsigned i = 0; i < in->m.ntypes && n < sizeof(types); i++)
		n += (size_t)snprintf(types + n, sizeof(types) - n, ".%s", ptx_type_name(in->m.type[i]));
	decode_fail(d, -ENOTSUP, in, "%s%s in this form is not supported by the interpreter", name, types);
}

static void decode_plain(struct decoder *d, const struct ptx_inst *in)
{
	struct xinst x = {.guard = 0}, *at;
	int members;

	x.dst = x.dst2 = NO_SLOT;
	for (unsigned i = 0; i < MAX_SRC; i++)
		x.src[i] = NO_SLOT;
	x.in = in;
	decode_operands(d, in, &x);
	if (d->e->err)
		return;
	x.run = decode_select(d, in, &x);
	if (!x.run || !decode_fragments_valid(d, in, &x)) {
		fail_unsupported(d, in);
		return;
	}
	members = member_source(in, &x);
	if (members != -2) {
		x.op = x.run;
		x.run = x_sync;
		x.aux = members == -1 ? NO_SLOT : (uint32_t)members;
	}
	at = decode_emit(d, x.run, in);
	x.guard = at->guard;
	*at = x;
	if (d->origins)
		checked_wrap(d, at);
}

void decode_guard(struct decoder *d, const struct ptx_inst *in, struct xinst *x)
{
	if (in->guard == PTX_NOREG)
		return;
	x->guard = d->regs[in->guard];
	x->guard_xor = in->guard_not ? ALL_LANES : 0;
}

static void decode_inst(struct decoder *d, uint32_t i)
{
	const struct ptx_inst *in = &d->fn->insts[i];

	d->temps_used = 0;
	switch (in->op) {
	case PTX_OP_bra:
		decode_bra(d, i);
		break;
	case PTX_OP_brx_idx:
		decode_brx(d, i);
		break;
	case PTX_OP_call:
		decode_call(d, in);
		return; /* decode_call has set the guard: the last instruction is an x_join */
	case PTX_OP_mov:
		if (in->ops[1].kind == PTX_O_SREG && in->ops[0].kind == PTX_O_REG) {
			struct xinst *x = decode_emit(d, x_sreg, in);

			note_special_register(d, &in->ops[1]);
			x->dst = decode_operand(d, in, &in->ops[0], &x->dst_width);
			x->aux = in->ops[1].reg;
			x->imm = in->ops[1].comp;
			break;
		}
		/* fall through */
	default:
		decode_plain(d, in);
	}
	if (!d->e->err)
		decode_guard(d, in, &d->insts[d->ninsts - 1]);
}

static void mark_joins(struct decoder *d)
{
	for (uint32_t b = 0; b < d->fn->nblocks; b++) {
		const struct ptx_block *k = &d->fn->blocks[b];

		if (k->npred > 1)
			d->join_at[k->first] = true;
		if (k->nsucc > 1 && k->ipdom != PTX_NOREG)
			d->join_at[d->fn->blocks[k->ipdom].first] = true;
	}
}

/* Turns instruction numbers into addresses and numbers of decoded instructions, now that d->insts no longer moves. */
static void resolve_targets(struct decoder *d)
{
	const uint32_t *map = d->map;

	for (uint32_t i = 0; i < d->ninsts; i++) {
		struct xinst *x = &d->insts[i];
		uint32_t *targets;

		x->list = d->lists;
		x->list_width = d->list_widths;
		if (x->run == x_bra || x->run == x_bra_back) {
			x->data = d->insts + map[x->target];
			x->aux = x->aux == NO_SLOT ? NO_SLOT : map[x->aux];
		} else if (x->run == x_brx) {
			targets = (uint32_t *)(uintptr_t)x->data;
			for (uint32_t k = 0; k < x->target; k++)
				targets[k] = map[targets[k]];
			x->aux = x->aux == NO_SLOT ? NO_SLOT : map[x->aux];
		}
	}
}

/* Moves the results to x, also after an error: func_clear frees them. */
static void decoder_finish(struct decoder *d, struct xfunc *x)
{
	x->insts = d->insts;
	x->ninsts = d->ninsts;
	x->consts = d->consts;
	x->consts_size = d->consts_size;
	x->frame_size = d->regs_size + d->consts_size;
	x->relocs = d->relocs;
	x->nrelocs = d->nrelocs;
	x->lists = d->lists;
	x->list_widths = d->list_widths;
	x->param_stride = (uint32_t)((d->fn->param_frame_size + 15) & ~15ULL);
	x->stack_use = (uint32_t)(d->fn->local_size + d->fn->param_frame_size + 16);
	x->slots = d->regs;
	x->first = d->map;
	x->join_at = d->join_at;
	free(d->known);
}

int decode_function(struct interp_program *p, struct xfunc *x, struct decode_error *e)
{
	struct ptx_function *f = x->fn;
	struct decoder d = {.program = p, .fn = f, .func = x, .e = e};

	if (f->param_frame_size > MAX_PARAMS || f->local_size > MAX_LOCAL) {
		decode_fail(&d, -ENOTSUP, NULL, "%s needs too much local or parameter memory", f->name);
		return e->err;
	}
	d.regs = calloc(f->nregs + 1u, sizeof(*d.regs));
	d.map = calloc(f->ninsts + 1u, sizeof(*d.map));
	d.join_at = calloc(f->ninsts + 1u, sizeof(*d.join_at));
	if (p->checked)
		d.origins = calloc(f->nregs + 1u, sizeof(*d.origins));
	if (!d.regs || !d.map || !d.join_at || (p->checked && (!d.origins || !checked_origins(f, d.origins))))
		decode_no_memory(&d);
	else
		decode_registers(&d);
	if (!e->err) {
		d.true_slot = decode_const(&d, WPRED, 1);
		mark_joins(&d);
		decode_signature(&d);
	}
	for (uint32_t i = 0; i < f->ninsts && !e->err; i++) {
		d.map[i] = d.ninsts;
		if (d.join_at[i])
			decode_emit(&d, x_join, &f->insts[i]);
		decode_inst(&d, i);
	}
	if (!e->err) {
		d.map[f->ninsts] = d.ninsts;
		resolve_targets(&d);
	}
	decoder_finish(&d, x);
	free(d.origins);
	return e->err;
}
