/* Calls and returns: each group of calling lanes gets a frame, whose join is the place to return to. */
#include "ptx/interp/core.h"

#include <string.h>

uint8_t *frame_param(struct warp *w, struct frame *f, unsigned lane, uint64_t offset)
{
	if (!f->parent && offset < f->fn->fn->param_size)
		return w->block->grid->params + offset;
	return f->params + (size_t)lane * f->fn->param_stride + offset;
}

static unsigned width_bytes(unsigned width)
{
	return width == WPRED ? 4 : 1u << width;
}

/* The address of one lane of an argument that is not a predicate. */
static uint8_t *argument_address(struct warp *w, struct frame *f, const struct call_arg *a, unsigned lane)
{
	if (a->offset != NO_SLOT)
		return frame_param(w, f, lane, a->offset);
	return f->regs + a->slot + (size_t)lane * width_bytes(a->width);
}

static void pass_argument(struct warp *w, struct frame *to, const struct call_arg *d, struct frame *from,
	const struct call_arg *s, uint32_t lanes)
{
	uint32_t n = d->size < s->size ? d->size : s->size;

	if (!n) { /* predicates have size 0; an indirect call may confuse one with another type */
		if (d->offset == NO_SLOT && s->offset == NO_SLOT && d->width == WPRED && s->width == WPRED) {
			uint32_t *p = (uint32_t *)(to->regs + d->slot);

			*p = (*p & ~lanes) | (*(const uint32_t *)(from->regs + s->slot) & lanes);
		}
		return;
	}
	FOR_MASK(lanes, i)
	memcpy(argument_address(w, to, d, i), argument_address(w, from, s, i), n);
}

/* Creates the frame of a call by `lanes`, which return to j, and passes the arguments. NULL: a fault was raised. */
static struct frame *frame_enter(
	struct warp *w, const struct call_site *s, const struct xfunc *fn, uint32_t lanes, struct join j)
{
	struct frame *f = frame_get(w->block->thread, fn);
	uint32_t n = s->nargs < fn->fn->nparams ? s->nargs : fn->fn->nparams;

	if (!f) {
		warp_fault(w, INTERP_OUT_OF_MEMORY, "no memory for a call of %s", fn->fn->name);
		return NULL;
	}
	f->parent = w->frame;
	f->site = s;
	f->join = j;
	f->local_base = (w->frame->local_base + w->frame->fn->fn->local_size + 15) & ~15ULL;
	f->stack_used = w->frame->stack_used + fn->stack_use;
	if (f->stack_used > w->block->grid->stack_size ||
		f->local_base + fn->fn->local_size > w->block->grid->calls_size) {
		warp_fault(w, INTERP_ILLEGAL_ADDRESS, "calling %s exceeds the stack of %llu bytes", fn->fn->name,
			(unsigned long long)w->block->grid->stack_size);
		frame_put(w->block->thread, f);
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++)
		pass_argument(w, f, &fn->params[i], w->frame, &s->args[i], lanes);
	if (w->block->grid->kernel->has_alloca)
		memcpy(f->stack_top, w->stack_top, sizeof(f->stack_top));
	return f;
}

static void warp_run_frame(struct warp *w, struct frame *f, uint32_t lanes)
{
	w->frame = f;
	w->regs = f->regs;
	w->join = &f->join;
	w->mask = lanes;
	w->pc = f->fn->insts;
}

static void call_all(struct warp *w, const struct call_site *s, const struct xfunc *fn)
{
	uint32_t lanes = w->active;
	struct frame *f =
		frame_enter(w, s, fn, lanes, (struct join){w->pc, w->frame, w->mask, w->mask & ~lanes, w->join});

	if (f)
		warp_run_frame(w, f, lanes);
}

/* Lanes call different functions: each group gets a frame, and all meet after the call. */
static void call_each(struct warp *w, const struct call_site *s, const uint64_t *addr)
{
	uint32_t todo = w->active, rest = w->mask & ~todo;
	struct join *j = warp_create_join(w, w->pc, w->mask, rest), *outer = j ? j : w->join;

	if (!j)
		warp_push_ready(w, w->pc, w->frame, w->join, rest);
	while (todo) {
		uint64_t to = addr[__builtin_ctz(todo)];
		uint32_t lanes = 0;
		struct frame *f;

		FOR_MASK(todo, i)
		if (addr[i] == to)
			lanes |= 1u << i;
		f = frame_enter(w, s, kernel_func_at(w->block->grid->kernel, to), lanes,
			(struct join){w->pc, w->frame, lanes, 0, outer});
		if (!f)
			return;
		warp_push_ready(w, f->fn->insts, f, &f->join, lanes);
		todo &= ~lanes;
	}
	w->mask = 0;
	w->event |= EV_NEXT;
}

static void call_indirect(struct warp *w, const struct xinst *x, const struct call_site *s)
{
	const uint64_t *addr = SRC(w, x, 0, uint64_t);
	uint64_t first = addr[__builtin_ctz(w->active)];
	bool same = true;

	FOR_ACTIVE(w, i)
	{
		if (!kernel_func_at(w->block->grid->kernel, addr[i])) {
			warp_fault(w, INTERP_INVALID_PC, "line %u: call of 0x%llx, which is not a function",
				x->in->line, (unsigned long long)addr[i]);
			return;
		}
		same &= addr[i] == first;
	}
	if (same)
		call_all(w, s, kernel_func_at(w->block->grid->kernel, first));
	else
		call_each(w, s, addr);
}

void x_call(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;

	if (--w->budget <= 0)
		w->event |= EV_BUDGET;
	if (s->builtin)
		s->builtin(w, x);
	else if (s->callee)
		call_all(w, s, s->callee);
	else
		call_indirect(w, x, s);
}

void x_ret(struct warp *w, const struct xinst *x)
{
	struct frame *f = w->frame;
	uint32_t lanes = w->active, n;

	if (!f->parent) {
		x_exit(w, x);
		return;
	}
	n = f->site->nrets < f->fn->fn->nrets ? f->site->nrets : f->fn->fn->nrets;
	for (uint32_t i = 0; i < n; i++)
		pass_argument(w, f->parent, &f->site->rets[i], f, &f->fn->rets[i], lanes);
	if (w->block->grid->kernel->has_alloca)
		FOR_MASK(lanes, i)
	w->stack_top[i] = f->stack_top[i];
	warp_leave_joins(w, w->join, &f->join, lanes);
	w->mask &= ~lanes;
	f->join.arrived |= lanes;
	if (w->mask)
		return; /* other lanes of the split have not returned yet */
	if (f->join.arrived == f->join.expected)
		warp_pass_join(w, &f->join);
	else
		w->event |= EV_NEXT;
}
