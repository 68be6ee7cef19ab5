/* Decodes branches and calls, with their arguments. */
#include "ptx/interp/decode/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The number of the instruction where lanes that diverge at instruction i meet again; NO_SLOT: nowhere. */
static uint32_t reconvergence_point(const struct decoder *d, uint32_t i)
{
	uint32_t at = d->fn->blocks[d->fn->block_of[i]].ipdom;

	return at == PTX_NOREG ? NO_SLOT : d->fn->blocks[at].first;
}

/* target and aux are instruction numbers until resolve_targets. */
void decode_bra(struct decoder *d, uint32_t i)
{
	const struct ptx_inst *in = &d->fn->insts[i];
	struct xinst *x = decode_emit(d, in->ops[0].reg <= i ? x_bra_back : x_bra, in);

	x->target = in->ops[0].reg;
	x->aux = reconvergence_point(d, i);
}

void decode_brx(struct decoder *d, uint32_t i)
{
	const struct ptx_inst *in = &d->fn->insts[i];
	const struct ptx_operand *labels = &in->ops[1];
	uint32_t *targets = calloc(labels->n + 1u, sizeof(*targets)), slot;
	struct xinst *x;
	uint8_t width;

	if (!targets) {
		decode_fail(d, -ENOMEM, in, "out of memory");
		return;
	}
	for (uint32_t k = 0; k < labels->n; k++)
		targets[k] = labels->elem[k].reg;
	slot = decode_operand(d, in, &in->ops[0], &width);
	x = decode_emit(d, x_brx, in);
	x->src[0] = slot;
	x->src_width[0] = width;
	x->target = labels->n;
	x->data = targets;
	x->aux = reconvergence_point(d, i);
}

/* ---- calls ------------------------------------------------------------------------------------------ */

static bool decode_arg(struct decoder *d, const struct ptx_inst *in, const struct ptx_operand *o, struct call_arg *a)
{
	const struct ptx_var *v = o->var;

	if (o->kind == PTX_O_VAR && v->space == PTX_PARAM && v->reg == PTX_NOREG) {
		if (v->offset > d->fn->param_frame_size || v->size > d->fn->param_frame_size - v->offset)
			return false;
		*a = (struct call_arg){.offset = (uint32_t)v->offset, .slot = NO_SLOT, .size = (uint32_t)v->size};
		return true;
	}
	a->offset = NO_SLOT;
	a->slot = decode_operand(d, in, o, &a->width);
	a->size = a->width == WPRED ? 0 : 1u << a->width;
	return a->slot != NO_SLOT;
}

static struct call_arg *decode_args(
	struct decoder *d, const struct ptx_inst *in, const struct ptx_operand *o, uint32_t *n)
{
	uint32_t count = o->kind == PTX_O_VEC ? o->n : o->kind == PTX_O_NONE ? 0 : 1;
	struct call_arg *args = calloc(count + 1u, sizeof(*args));

	if (!args) {
		decode_fail(d, -ENOMEM, in, "out of memory");
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		if (!decode_arg(d, in, o->kind == PTX_O_VEC ? &o->elem[i] : o, &args[i]))
			decode_fail(d, -ENOTSUP, in, "argument %u of this call", i);
	*n = count;
	return args;
}

static void resolve_callee(struct decoder *d, const struct ptx_inst *in, struct call_site *s)
{
	struct ptx_function *f;

	if (in->ops[0].kind != PTX_O_FUNC)
		return;
	f = ptx_function_definition(in->ops[0].fn);
	if (f->is_defined) {
		s->callee = program_func(d->program, f);
		if (!s->callee)
			decode_fail(d, -ENOMEM, in, "out of memory");
		return;
	}
	s->builtin = builtin_find(f->name);
	if (!s->builtin)
		decode_fail(d, -ENOENT, in, "%s is called, but defined nowhere", f->name);
}

void decode_call(struct decoder *d, const struct ptx_inst *in)
{
	static const struct ptx_operand nothing = {.kind = PTX_O_NONE};
	struct call_site *s = calloc(1, sizeof(*s));
	struct xinst *x;
	uint32_t slot = NO_SLOT;
	uint8_t width = W64;

	if (!s) {
		decode_fail(d, -ENOMEM, in, "out of memory");
		return;
	}
	s->next = d->func->calls;
	d->func->calls = s;
	s->rets = decode_args(d, in, in->nops > 1 ? &in->ops[1] : &nothing, &s->nrets);
	s->args = decode_args(d, in, in->nops > 2 ? &in->ops[2] : &nothing, &s->nargs);
	resolve_callee(d, in, s);
	if (in->ops[0].kind != PTX_O_FUNC) {
		slot = decode_operand(d, in, &in->ops[0], &width);
		if (width != W64)
			decode_fail(d, -ENOTSUP, in, "a call through a register of this type");
	}
	x = decode_emit(d, x_call, in);
	x->src[0] = slot;
	x->src_width[0] = width;
	x->data = s;
	decode_guard(d, in, x);
	decode_emit(d, x_join, in);
}

/* The places of the function's own parameters or results. */
static struct call_arg *decode_own_params(struct decoder *d, struct ptx_var **vars, uint32_t n)
{
	struct call_arg *a = calloc(n + 1u, sizeof(*a));

	if (!a) {
		decode_fail(d, -ENOMEM, NULL, "out of memory");
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct ptx_var *v = vars[i];

		if (v->reg != PTX_NOREG && v->reg < d->fn->nregs) {
			a[i].offset = NO_SLOT;
			a[i].slot = d->regs[v->reg];
			a[i].width = (uint8_t)slot_width(d->fn->regs[v->reg].type);
			a[i].size = a[i].width == WPRED ? 0 : 1u << a[i].width;
		} else if (v->offset > d->fn->param_frame_size || v->size > d->fn->param_frame_size - v->offset) {
			decode_fail(d, -EINVAL, NULL, "%s: parameter %s has no place", d->fn->name, v->name);
		} else {
			a[i].offset = (uint32_t)v->offset;
			a[i].size = (uint32_t)v->size;
		}
	}
	return a;
}

void decode_signature(struct decoder *d)
{
	d->func->params = decode_own_params(d, d->fn->params, d->fn->nparams);
	d->func->rets = decode_own_params(d, d->fn->rets, d->fn->nrets);
}
