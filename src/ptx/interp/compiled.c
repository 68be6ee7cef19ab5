/* Runs compiled code in a warp, and the functions that such code calls. */
#include "ptx/interp/compiled.h"
#include "ptx/interp/core.h"

static void helper_exit(struct warp *w, uint32_t lanes)
{
	warp_exit(w, lanes);
}

static void helper_push(struct warp *w, uint32_t at, uint32_t lanes)
{
	if (!lanes)
		return;
	w->mixed = true;
	warp_push_ready(w, w->root->fn->insts + at, w->root, NULL, lanes);
}

static bool helper_over(struct warp *w)
{
	return grid_over(w->block->grid);
}

static void helper_access(struct warp *w, const struct xinst *x, uint32_t site, uint32_t align, uint64_t span)
{
	struct grid_thread *k = w->block->thread;
	const struct range *r = &k->ranges[0];
	uint64_t size, unit = UINT64_C(1) << align;

	x->run(w, x);
	if (w->event & EV_FAULT)
		return;
	size = r->end - r->base;
	if (size < span || (r->base & (unit - 1)))
		return;
	k->sites[site] = (struct access_site){r->base, ((size - span) >> align) + 1};
}

const struct compiled_helpers compiled_helpers = {
	.exit = helper_exit, .push = helper_push, .over = helper_over, .access = helper_access};

/* ---- running ---------------------------------------------------------------------------------------- */

bool warp_enterable(const struct warp *w)
{
	const struct jit_code *code = w->block->code;
	const struct xfunc *f;

	if (!code || w->nsplits || w->join || w->frame != w->root || w->mixed)
		return false;
	f = w->root->fn;
	return code->entry_of[w->pc - f->insts] != JIT_NO_ENTRY;
}

bool warp_run_compiled(struct warp *w)
{
	const struct jit_code *code = w->block->code;
	uint32_t entry = code->entry_of[w->pc - w->root->fn->insts];

	switch (code->run(w, entry)) {
	case COMPILED_EXITED:
		warp_exit(w, w->live);
		return false;
	case COMPILED_HANDOVER:
		return true;
	case COMPILED_BARRIER:
		w->waits = true;
		return false;
	case COMPILED_BUDGET:
		w->event |= EV_BUDGET;
		return false;
	default:
		w->event |= EV_FAULT;
		return false;
	}
}
