/*
 * alloca, stacksave and stackrestore.
 *
 * Allocations lie in the lane's local memory, after the variables of all calls; their size is limited by the launch's
 * stack limit.  Returning from a function frees its allocations.
 */
#include "ptx/interp/core.h"

static void x_alloca(struct warp *w, const struct xinst *x)
{
	uint64_t align = x->in->nops > 2 ? (uint64_t)x->in->ops[2].imm : 8, end = w->block->grid->local_size;

	FOR_ACTIVE(w, i)
	{
		uint64_t at = (w->stack_top[i] + align - 1) & ~(align - 1), size = src_read_lane(w, x, 0, i);

		if (at > end || size > end - at) {
			/* The fault that an H200 raises for a full stack. */
			warp_fault(w, INTERP_ILLEGAL_ADDRESS, "line %u: alloca of %llu bytes exceeds the stack limit",
				x->in->line, (unsigned long long)size);
			return;
		}
		w->stack_top[i] = at + size;
		dst_write_lane(w, x, i, at);
	}
}

static void x_stacksave(struct warp *w, const struct xinst *x)
{
	FOR_ACTIVE(w, i)
	dst_write_lane(w, x, i, w->stack_top[i]);
}

static void x_stackrestore(struct warp *w, const struct xinst *x)
{
	const struct grid *g = w->block->grid;

	FOR_ACTIVE(w, i)
	{
		uint64_t top = src_read_lane(w, x, 0, i);

		if (top < g->calls_size || top > g->local_size) {
			warp_fault(w, INTERP_ILLEGAL_ADDRESS, "line %u: stackrestore of an invalid value 0x%llx",
				x->in->line, (unsigned long long)top);
			return;
		}
		w->stack_top[i] = top;
	}
}

void stack_start(struct warp *w)
{
	for (unsigned i = 0; i < LANES; i++)
		w->stack_top[i] = w->block->grid->calls_size;
}

exec_fn stack_select(const struct ptx_inst *in)
{
	uint64_t align = in->op == PTX_OP_alloca && in->nops > 2 ? (uint64_t)in->ops[2].imm : 8;

	switch (in->op) {
	case PTX_OP_alloca:
		return align && align <= 4096 && !(align & (align - 1)) ? x_alloca : NULL;
	case PTX_OP_stacksave:
		return x_stacksave;
	case PTX_OP_stackrestore:
		return x_stackrestore;
	default:
		return NULL;
	}
}
