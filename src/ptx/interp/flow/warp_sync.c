/*
 * Warp-wide instructions: shfl, vote, match, redux, elect, activemask and bar.warp.sync.
 *
 * The .sync forms name their members.  A split that arrives without all of them waits (x_sync); when the others have
 * come to the same instruction, it runs once for all, and each split continues.
 */
#include "ptx/interp/core.h"

#include <string.h>

/* ---- waiting for members ---------------------------------------------------------------------------- */

/* The member mask; x->aux is the index of its source, or NO_SLOT for all lanes. */
static uint32_t sync_members(const struct xinst *x, const uint8_t *regs, uint32_t lanes)
{
	if (x->aux == NO_SLOT)
		return ALL_LANES;
	return ((const uint32_t *)(regs + x->src[x->aux]))[__builtin_ctz(lanes)];
}

/* Lanes with different member masks form groups that run or wait independently. */
static void sync_groups(struct warp *w, const struct xinst *x, const uint32_t *named)
{
	uint32_t todo = w->active, waiting = 0;

	while (todo) {
		uint32_t mask = named[__builtin_ctz(todo)], lanes = 0;

		FOR_MASK(todo, i)
		lanes |= (uint32_t)(named[i] == mask) << i;
		todo &= ~lanes;
		if (mask & w->live & ~lanes) {
			warp_push(w, &(struct split){.pc = x,
					     .frame = w->frame,
					     .join = w->join,
					     .mask = lanes,
					     .state = SPLIT_SYNC});
			waiting |= lanes;
		} else {
			w->active = lanes;
			x->op(w, x);
		}
	}
	w->mask &= ~waiting;
	if (!w->mask)
		w->event |= EV_NEXT;
}

void x_sync(struct warp *w, const struct xinst *x)
{
	const uint32_t *named = x->aux == NO_SLOT ? NULL : SRC(w, x, x->aux, uint32_t);
	uint32_t mask = sync_members(x, w->regs, w->active), on = w->active, differ = 0;

	for (int i = 0; named && i < LANES; i++)
		differ |= on & lane_bit32[i] ? named[i] ^ mask : 0;
	if (differ)
		sync_groups(w, x, named);
	else if (mask & w->live & ~on)
		warp_suspend(w, x, SPLIT_SYNC, 0);
	else
		x->op(w, x);
}

/* True if a and b wait for each other. __syncwarp may be at different places; all others must be one instruction. */
static bool same_sync(const struct split *a, const struct split *b)
{
	if (b->state != SPLIT_SYNC ||
		sync_members(a->pc, a->frame->regs, a->mask) != sync_members(b->pc, b->frame->regs, b->mask))
		return false;
	return (a->pc == b->pc && a->frame == b->frame) ||
	       (a->pc->in->op == PTX_OP_bar_warp_sync && b->pc->in->op == PTX_OP_bar_warp_sync);
}

/* All lanes that wait together with s. */
static uint32_t sync_group(const struct warp *w, const struct split *s)
{
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < w->nsplits; i++)
		if (same_sync(s, &w->splits[i]))
			lanes |= w->splits[i].mask;
	return lanes;
}

/* Merges ready splits that are at the same place and have the same join. */
static void merge_splits(struct warp *w)
{
	for (uint32_t i = 0; i < w->nsplits; i++) {
		struct split *a = &w->splits[i];

		for (uint32_t k = i + 1; k < w->nsplits;) {
			struct split *b = &w->splits[k];

			if (a->state == SPLIT_READY && b->state == SPLIT_READY && a->pc == b->pc &&
				a->frame == b->frame && a->join == b->join) {
				a->mask |= b->mask;
				memmove(b, b + 1, (w->nsplits - k - 1) * sizeof(*b));
				w->nsplits--;
			} else {
				k++;
			}
		}
	}
}

static void sync_execute(struct warp *w, struct split s, uint32_t lanes)
{
	w->regs = s.frame->regs;
	w->frame = s.frame;
	w->active = lanes;
	s.pc->op(w, s.pc);
	for (uint32_t i = 0; i < w->nsplits; i++) {
		if (w->splits[i].state == SPLIT_SYNC && (w->splits[i].mask & lanes)) {
			w->splits[i].state = SPLIT_READY;
			w->splits[i].pc++;
		}
	}
	merge_splits(w);
}

bool warp_sync_resolve(struct warp *w, bool lenient)
{
	bool any = false;

	for (uint32_t i = 0; i < w->nsplits;) {
		struct split s = w->splits[i];
		uint32_t lanes;

		if (s.state != SPLIT_SYNC) {
			i++;
			continue;
		}
		lanes = sync_group(w, &s);
		if (!lenient && (sync_members(s.pc, s.frame->regs, s.mask) & w->live & ~lanes)) {
			i++;
			continue;
		}
		sync_execute(w, s, lanes);
		any = true;
		if (lenient)
			return true;
		i = 0;
	}
	return any;
}

uint32_t warp_sync_missing(struct warp *w)
{
	uint32_t missing = 0;

	for (uint32_t i = 0; i < w->nsplits; i++) {
		struct split *s = &w->splits[i];

		if (s->state == SPLIT_SYNC)
			missing |= sync_members(s->pc, s->frame->regs, s->mask) & w->live & ~sync_group(w, s);
	}
	return missing;
}

/* ---- the instructions ------------------------------------------------------------------------------- */

/* Inactive lanes give 0, as on a GPU: some programs add up the values of such lanes. */
static void x_shfl(struct warp *w, const struct xinst *x)
{
	const uint32_t *a = SRC(w, x, 0, uint32_t), *b = SRC(w, x, 1, uint32_t), *c = SRC(w, x, 2, uint32_t);
	uint32_t *d = DST(w, x, uint32_t), from[LANES], ok = 0;

	for (unsigned i = 0; i < LANES; i++)
		from[i] = w->active & lane_bit32[i] ? a[i] : 0;
	FOR_ACTIVE(w, i)
	{
		int segment = (int)(c[i] >> 8 & 31), lane = (int)i, step = (int)(b[i] & 31), j = lane;
		int limit = (lane & segment) | ((int)(c[i] & 31) & ~segment);
		bool in = false;

		switch (x->in->m.mode) {
		case PTX_SHFL_UP:
			j = lane - step;
			in = j >= limit;
			break;
		case PTX_SHFL_DOWN:
			j = lane + step;
			in = j <= limit;
			break;
		case PTX_SHFL_BFLY:
			j = lane ^ step;
			in = j <= limit;
			break;
		default:
			j = (lane & segment) | (step & ~segment);
			in = j <= limit;
		}
		d[i] = from[in ? j : lane];
		ok |= (uint32_t)in << i;
	}
	if (x->dst2 != NO_SLOT)
		pred_store(w, x->dst2, ok);
}

static void x_vote(struct warp *w, const struct xinst *x)
{
	uint32_t p = pred_src(w, x, 0) & w->active;
	bool all = p == w->active, any = p != 0, r;

	r = x->in->m.mode == PTX_VOTE_ALL ? all : x->in->m.mode == PTX_VOTE_ANY ? any : all || !any;
	pred_store(w, x->dst, r ? ALL_LANES : 0);
}

static void x_ballot(struct warp *w, const struct xinst *x)
{
	uint32_t p = pred_src(w, x, 0) & w->active, *d = DST(w, x, uint32_t);

	MAP(w, d, uint32_t, p);
}

static void x_match(struct warp *w, const struct xinst *x)
{
	uint32_t same[LANES] = {0}, *d = DST(w, x, uint32_t);
	bool all;

	FOR_ACTIVE(w, i)
	FOR_ACTIVE(w, j)
	same[i] |= (uint32_t)(src_read_lane(w, x, 0, i) == src_read_lane(w, x, 0, j)) << j;
	all = same[__builtin_ctz(w->active)] == w->active;
	FOR_ACTIVE(w, i)
	d[i] = x->in->m.mode == PTX_VOTE_ANY ? same[i] : all ? w->active : 0;
	if (x->dst2 != NO_SLOT)
		pred_store(w, x->dst2, all ? ALL_LANES : 0);
}

static uint32_t redux_combine(const struct ptx_mods *m, uint32_t a, uint32_t b)
{
	bool is_signed = m->type[0] == PTX_S32;

	switch (m->op) {
	case PTX_A_ADD:
		return a + b;
	case PTX_A_MIN:
		return (is_signed ? (int32_t)a < (int32_t)b : a < b) ? a : b;
	case PTX_A_MAX:
		return (is_signed ? (int32_t)a > (int32_t)b : a > b) ? a : b;
	case PTX_A_AND:
		return a & b;
	case PTX_A_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

static void x_redux(struct warp *w, const struct xinst *x)
{
	const uint32_t *a = SRC(w, x, 0, uint32_t);
	uint32_t *d = DST(w, x, uint32_t), r = a[__builtin_ctz(w->active)];

	FOR_MASK(w->active & (w->active - 1), i)
	r = redux_combine(&x->in->m, r, a[i]);
	MAP(w, d, uint32_t, r);
}

/* Floats: NaNs are ignored; with .NaN they win. */
static void x_redux_f32(struct warp *w, const struct xinst *x)
{
	const float *a = SRC(w, x, 0, float);
	bool max = x->in->m.op == PTX_A_MAX, wrong = false;
	float *d = DST(w, x, float), r = __builtin_nanf("");

	FOR_ACTIVE(w, i)
	{
		float v = x->in->m.word ? __builtin_fabsf(a[i]) : a[i]; /* .abs */

		wrong |= v != v;
		r = max ? number_max_f32(r, v) : number_min_f32(r, v);
	}
	if (r != r || (wrong && x->in->m.nan))
		memcpy(&r, &(uint32_t){0x7fffffff}, sizeof(r));
	MAP(w, d, float, r);
}

static void x_elect(struct warp *w, const struct xinst *x)
{
	uint32_t leader = (uint32_t)__builtin_ctz(w->active), *d = DST(w, x, uint32_t);

	MAP(w, d, uint32_t, leader);
	if (x->dst2 != NO_SLOT)
		pred_store(w, x->dst2, 1u << leader);
}

static void x_activemask(struct warp *w, const struct xinst *x)
{
	uint32_t on = w->active, *d = DST(w, x, uint32_t);

	MAP(w, d, uint32_t, on);
}

exec_fn warp_sync_select(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_shfl:
		return x_shfl;
	case PTX_OP_vote:
		return x_vote;
	case PTX_OP_vote_ballot:
		return x_ballot;
	case PTX_OP_match:
		return x_match;
	case PTX_OP_redux:
		return in->m.type[0] == PTX_F32 ? x_redux_f32 : x_redux;
	case PTX_OP_elect:
		return x_elect;
	case PTX_OP_activemask:
		return x_activemask;
	case PTX_OP_bar_warp_sync:
		return x_nop;
	default:
		return NULL;
	}
}
