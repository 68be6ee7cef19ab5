/* Control flow of a warp: splits, joins, branches and exits.  core.h has the picture. */
#include "ptx/interp/core.h"

#include <string.h>

void warp_push(struct warp *w, const struct split *s)
{
	if (s->mask)
		w->splits[w->nsplits++] = *s;
}

void warp_push_ready(struct warp *w, const struct xinst *pc, struct frame *f, struct join *j, uint32_t mask)
{
	warp_push(w, &(struct split){.pc = pc, .frame = f, .join = j, .mask = mask, .state = SPLIT_READY});
}

void warp_suspend(struct warp *w, const struct xinst *x, enum split_state state, unsigned bar)
{
	uint32_t rest = w->mask & ~w->active;

	warp_push_ready(w, w->pc, w->frame, w->join, rest);
	warp_push(w, &(struct split){.pc = x,
			     .frame = w->frame,
			     .join = w->join,
			     .mask = w->active,
			     .state = state,
			     .bar = (uint8_t)bar});
	w->mask = 0;
	w->event |= EV_NEXT;
}

/* Makes split n the running one. */
static void split_take(struct warp *w, uint32_t n)
{
	struct split s = w->splits[n];

	memmove(w->splits + n, w->splits + n + 1, (w->nsplits - n - 1) * sizeof(s));
	w->nsplits--;
	w->pc = s.pc;
	w->frame = s.frame;
	w->regs = s.frame->regs;
	w->join = s.join;
	w->mask = s.mask;
}

void warp_rotate(struct warp *w)
{
	if (!w->mask)
		return;
	memmove(w->splits + 1, w->splits, w->nsplits * sizeof(w->splits[0]));
	w->nsplits++;
	w->splits[0] = (struct split){.pc = w->pc, .frame = w->frame, .join = w->join, .mask = w->mask};
	w->mask = 0;
}

/* ---- joins ------------------------------------------------------------------------------------------ */

struct join *warp_create_join(struct warp *w, const struct xinst *pc, uint32_t expected, uint32_t arrived)
{
	struct join *j;

	if (!w->free_joins) {
		w->mixed = true;
		return NULL;
	}
	j = &w->joins[__builtin_ctzll(w->free_joins)];
	w->free_joins &= w->free_joins - 1;
	*j = (struct join){pc, w->frame, expected, arrived, w->join};
	return j;
}

/* Frees a join that expects no more lanes. The join of a call is part of its frame, which is freed with it. */
static void join_done(struct warp *w, struct join *j)
{
	if (j >= w->joins && j < w->joins + MAX_JOINS)
		w->free_joins |= 1ULL << (j - w->joins);
	else
		frame_put(w->block->thread, (struct frame *)((char *)j - offsetof(struct frame, join)));
}

/* The lanes that have arrived continue without the others. */
static void join_release(struct warp *w, struct join *j)
{
	uint32_t lanes = j->arrived;

	warp_push_ready(w, j->pc, j->frame, j->parent, lanes);
	j->expected &= ~lanes;
	j->arrived = 0;
	if (!j->expected)
		join_done(w, j);
}

void warp_leave_joins(struct warp *w, struct join *from, const struct join *end, uint32_t lanes)
{
	struct join *next;

	for (struct join *j = from; j != end; j = next) {
		next = j->parent;
		j->expected &= ~lanes;
		if (j->expected == j->arrived)
			join_release(w, j);
	}
}

/* Merges ready splits that are at the same place and have the same join into the running one. */
static void absorb_splits(struct warp *w, const struct xinst *x)
{
	for (uint32_t i = 0; i < w->nsplits;) {
		struct split *s = &w->splits[i];

		if (s->state == SPLIT_READY && (s->pc == x || s->pc == x + 1) && s->frame == w->frame &&
			s->join == w->join) {
			w->mask |= s->mask;
			memmove(s, s + 1, (w->nsplits - i - 1) * sizeof(*s));
			w->nsplits--;
		} else {
			i++;
		}
	}
}

/*
 * Diverged lanes may meet before their join: if one side can leave early, the post-dominator lies at the function's
 * end. A split that reaches a merge point therefore lets splits with the same join that are behind it in the code run
 * first. Once lanes of the warp were found waiting for each other (reconverge_off), no split may be held back.
 */
static void let_others_catch_up(struct warp *w, const struct xinst *x)
{
	const struct split *behind = NULL;
	struct split self;

	for (uint32_t i = 0; i < w->nsplits; i++) {
		struct split *s = &w->splits[i];

		if (s->state == SPLIT_READY && s->frame == w->frame && s->join == w->join && s->pc < x &&
			(!behind || s->pc < behind->pc))
			behind = s;
	}
	if (!behind)
		return;
	self = (struct split){.pc = x, .frame = w->frame, .join = w->join, .mask = w->mask};
	split_take(w, (uint32_t)(behind - w->splits));
	warp_push(w, &self);
}

/* The x_join instruction then runs again, for the enclosing join. */
void warp_pass_join(struct warp *w, struct join *j)
{
	w->mask = j->arrived;
	w->pc = j->pc;
	w->frame = j->frame;
	w->regs = j->frame->regs;
	w->join = j->parent;
	join_done(w, j);
}

void x_join(struct warp *w, const struct xinst *x)
{
	struct join *j = w->join;

	if (!j || j->pc != x || j->frame != w->frame) {
		if (w->nsplits) {
			absorb_splits(w, x);
			if (!w->reconverge_off)
				let_others_catch_up(w, x);
		}
		if (w->block->code && warp_enterable(w))
			w->event |= EV_NEXT;
		return;
	}
	j->arrived |= w->mask;
	if (j->arrived == j->expected) {
		warp_pass_join(w, j);
	} else {
		w->mask = 0;
		w->event |= EV_NEXT;
	}
}

/* Releases a join at which one of these lanes waits; false: there is none. */
static bool release_join_with(struct warp *w, uint32_t want)
{
	for (uint32_t i = w->nsplits; i-- > 0;) {
		for (struct join *j = w->splits[i].join; j; j = j->parent) {
			if (j->arrived & want) {
				w->mixed = true;
				join_release(w, j);
				return true;
			}
		}
	}
	return false;
}

bool warp_release_waiting(struct warp *w)
{
	return release_join_with(w, ALL_LANES) || warp_sync_resolve(w, true);
}

/* ---- choosing the running split --------------------------------------------------------------------- */

static bool take_ready_split(struct warp *w)
{
	for (uint32_t i = w->nsplits; i-- > 0;) {
		if (w->splits[i].state == SPLIT_READY) {
			split_take(w, i);
			return true;
		}
	}
	return false;
}

bool warp_take_split(struct warp *w)
{
	uint32_t missing;

	for (;;) {
		warp_sync_resolve(w, false);
		if (take_ready_split(w))
			return true;
		/* Lanes wait for members of a shfl.sync. Release those at a join: they may be on their way. */
		missing = warp_sync_missing(w);
		if (!missing)
			return false;
		if (release_join_with(w, missing))
			continue;
		for (uint32_t i = 0; i < w->nsplits; i++)
			if (w->splits[i].state == SPLIT_BAR && (w->splits[i].mask & missing))
				return false; /* the missing lanes will come after the barrier */
		if (!warp_sync_resolve(w, true))
			return false;
	}
}

void warp_start(struct warp *w, uint32_t lanes)
{
	w->root = NULL;
	w->free_joins = ~0ULL >> (64 - MAX_JOINS);
	w->nsplits = 0;
	w->event = 0;
	w->budget = BRANCH_BUDGET;
	w->spins = w->stalled = 0;
	w->reconverge_off = false;
	w->mixed = w->waits = false;
	w->cc = 0;
	w->live = lanes;
	w->cluster_arrived = w->cluster_passed = 0;
	w->mask = 0;
	w->join = NULL;
}

bool warp_enter(struct warp *w)
{
	struct frame *f = frame_get(w->block->thread, w->block->grid->kernel->entry);

	if (!f) {
		warp_fault(w, INTERP_OUT_OF_MEMORY, "no memory for a warp's registers");
		return false;
	}
	f->parent = NULL;
	f->local_base = 0;
	f->stack_used = 0;
	w->root = w->frame = f;
	w->regs = f->regs;
	if (w->block->grid->kernel->has_alloca)
		stack_start(w);
	w->mask = w->live;
	w->pc = f->fn->insts;
	return true;
}

/* ---- branches --------------------------------------------------------------------------------------- */

/* The join for lanes that diverge here and meet at instruction `at`. NULL: they use the enclosing join. */
static struct join *branch_join(struct warp *w, uint32_t at)
{
	const struct xinst *pc;

	if (at == NO_SLOT) {
		w->mixed = true;
		return NULL;
	}
	pc = w->frame->fn->insts + at;
	if (w->join && w->join->pc == pc && w->join->frame == w->frame)
		return w->join;
	return warp_create_join(w, pc, w->mask, 0);
}

/* Sends lanes to pc; if that is the join, they have arrived. */
static void send_lanes(struct warp *w, struct join *j, const struct xinst *pc, uint32_t lanes)
{
	if (j && j->pc == pc)
		j->arrived |= lanes;
	else
		warp_push_ready(w, pc, w->frame, j ? j : w->join, lanes);
}

static void branch_diverge(struct warp *w, const struct xinst *x)
{
	uint32_t taken = w->active, rest = w->mask & ~taken;
	struct join *j = branch_join(w, x->aux);
	const struct xinst *target = x->data;

	if (j && j->pc == w->pc) {
		j->arrived |= rest;
		w->pc = target;
		w->mask = taken;
	} else {
		send_lanes(w, j, target, taken);
		w->mask = rest;
	}
	if (j)
		w->join = j;
}

void x_bra(struct warp *w, const struct xinst *x)
{
	if (w->active == w->mask)
		w->pc = x->data;
	else
		branch_diverge(w, x);
}

void x_bra_back(struct warp *w, const struct xinst *x)
{
	if (--w->budget <= 0)
		w->event |= EV_BUDGET;
	x_bra(w, x);
}

void x_brx(struct warp *w, const struct xinst *x)
{
	const uint32_t *targets = x->data, *index = SRC(w, x, 0, uint32_t);
	const struct xinst *insts = w->frame->fn->insts;
	uint32_t todo = w->active, rest = w->mask & ~todo;
	struct join *j = NULL;

	if (--w->budget <= 0)
		w->event |= EV_BUDGET;
	FOR_ACTIVE(w, i)
	{
		if (index[i] >= x->target) {
			warp_fault(w, INTERP_INVALID_PC, "brx.idx: index %u of %u", index[i], x->target);
			return;
		}
	}
	while (todo) {
		uint32_t t = targets[index[__builtin_ctz(todo)]], lanes = 0;

		FOR_MASK(todo, i)
		if (targets[index[i]] == t)
			lanes |= 1u << i;
		if (lanes == w->mask) {
			w->pc = insts + t;
			return;
		}
		if (!j)
			j = branch_join(w, x->aux);
		send_lanes(w, j, insts + t, lanes);
		todo &= ~lanes;
	}
	if (rest)
		send_lanes(w, j, w->pc, rest);
	w->mask = 0;
	w->event |= EV_NEXT;
}

/* ---- exit and trap ---------------------------------------------------------------------------------- */

void warp_exit(struct warp *w, uint32_t lanes)
{
	w->live &= ~lanes;
	w->block->live -= (uint32_t)__builtin_popcount(lanes);
	warp_leave_joins(w, w->join, NULL, lanes);
	w->mask &= ~lanes;
	if (!w->mask)
		w->event |= EV_NEXT;
	block_bars_update(w->block);
}

void x_exit(struct warp *w, const struct xinst *x)
{
	(void)x;
	warp_exit(w, w->active);
}

void x_trap(struct warp *w, const struct xinst *x)
{
	warp_fault(w, INTERP_TRAP, "%s at line %u", ptx_op_name(x->in->op), x->in->line);
}
