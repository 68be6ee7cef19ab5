/*
 * The sixteen barriers of a block: bar.sync, bar.arrive, bar.red and barrier.*.
 *
 * Arrivals are counted by lane, so that barriers work in divergent code.  For a barrier with a number of threads
 * (always whole warps), a warp counts as 32 once all its live lanes have arrived.
 */
#include "ptx/interp/core.h"

#include <string.h>

static bool barrier_complete(const struct block *b, const struct barrier *bar)
{
	uint32_t n = 0;

	if (!bar->count) {
		for (uint32_t i = 0; i < b->nwarps; i++)
			if (b->warps[i].live & ~bar->arrived[i])
				return false;
		return true;
	}
	for (uint32_t i = 0; i < b->nwarps; i++) {
		uint32_t at = bar->arrived[i];

		if (at)
			n += b->warps[i].live & ~at ? (uint32_t)__builtin_popcount(at) : LANES;
	}
	return n >= bar->count;
}

/* Stores the result of bar.red in the lanes that waited. */
static void barrier_store_result(struct split *s, const struct barrier *bar)
{
	const struct xinst *x = s->pc;
	uint32_t *d = (uint32_t *)(s->frame->regs + x->dst);
	bool r;

	if (x->dst_width == WPRED) {
		r = x->in->m.op == PTX_A_AND ? bar->popc == bar->threads : bar->popc > 0;
		*d = r ? *d | s->mask : *d & ~s->mask;
	} else {
		FOR_MASK(s->mask, i)
		d[i] = bar->popc;
	}
}

static void barrier_release(struct block *b, unsigned id)
{
	struct barrier *bar = &b->bars[id];

	for (uint32_t i = 0; i < b->nwarps; i++) {
		struct warp *w = &b->warps[i];

		for (uint32_t k = 0; k < w->nsplits; k++) {
			struct split *s = &w->splits[k];

			if (s->state != SPLIT_BAR || s->bar != id)
				continue;
			if (s->pc->in->op == PTX_OP_bar_red || s->pc->in->op == PTX_OP_barrier_red)
				barrier_store_result(s, bar);
			s->state = SPLIT_READY;
			s->pc++;
		}
	}
	memset(bar, 0, sizeof(*bar));
	checked_barrier(b);
}

void block_bars_update(struct block *b)
{
	FOR_MASK(b->bars_used, i)
	if (barrier_complete(b, &b->bars[i]))
		barrier_release(b, i);
	cluster_bar_update(b);
}

static uint32_t barrier_operand(const struct warp *w, const struct xinst *x, unsigned n)
{
	if (n >= MAX_SRC || x->src[n] == NO_SLOT)
		return 0;
	return SRC(w, x, n, uint32_t)[__builtin_ctz(w->active)];
}

void x_bar(struct warp *w, const struct xinst *x)
{
	uint32_t id = barrier_operand(w, x, 0), count = barrier_operand(w, x, 1), p;
	struct block *b = w->block;
	struct barrier *bar;
	unsigned op = x->in->op;

	if (id >= MAX_BARS || count > MAX_WARPS * LANES) {
		warp_fault(w, INTERP_ILLEGAL_INSTRUCTION, "line %u: barrier %u of %u threads", x->in->line, id, count);
		return;
	}
	bar = &b->bars[id];
	b->bars_used |= 1u << id;
	bar->count = count;
	bar->arrived[w->number] |= w->active;
	if (op == PTX_OP_bar_red || op == PTX_OP_barrier_red) {
		p = pred_src(w, x, 2) & w->active;
		bar->popc += (uint32_t)__builtin_popcount(p);
		bar->threads += (uint32_t)__builtin_popcount(w->active);
	}
	if (op != PTX_OP_bar_arrive && op != PTX_OP_barrier_arrive)
		warp_suspend(w, x, SPLIT_BAR, id);
	if (barrier_complete(b, bar))
		barrier_release(b, id);
}
