/*
 * Runs warps, blocks, and a grid thread's share of a grid.
 *
 * A warp runs until it ends, waits, or has spent its budget; a block runs until all its warps have ended or only
 * spin. A grid thread takes the grid's blocks in order.  When all its blocks spin, it starts one more, so that blocks
 * that wait for later ones (at a grid-wide barrier) eventually find them running.
 */
#include "ptx/interp/core.h"

#include <fenv.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SPIN_ROUNDS = 64,    /* rounds in which all blocks of a grid thread spin until it starts one more */
	MAX_RESIDENT = 256,  /* resident blocks of a grid thread, unless the launch is cooperative */
	STUCK_ROUNDS = 64,   /* rounds in which a block spins until its waiting lanes are released */
	CHECK_INTERVAL = 16, /* blocks that a grid thread starts between two checks whether the grid is over */
	SLEEP_AFTER = 4096,  /* rounds until a spinning grid thread sleeps between rounds */
	SLEEP_NS = 50 * 1000,
};

void warp_fault(struct warp *w, enum interp_fault fault, const char *fmt, ...)
{
	struct grid *g = w->block->grid;
	int none = 0;
	va_list ap;

	w->event |= EV_FAULT;
	pthread_mutex_lock(&g->lock);
	if (atomic_compare_exchange_strong(&g->fault, &none, (int)fault)) {
		va_start(ap, fmt);
		vsnprintf(g->launch->message, sizeof(g->launch->message), fmt, ap);
		va_end(ap);
	}
	pthread_mutex_unlock(&g->lock);
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool grid_over(struct grid *g)
{
	int none = 0;

	if (atomic_load_explicit(&g->fault, memory_order_relaxed))
		return true;
	if (atomic_load_explicit(&g->asserted, memory_order_relaxed))
		atomic_compare_exchange_strong(&g->fault, &none, INTERP_ASSERT);
	else if (g->launch->stop && atomic_load_explicit(g->launch->stop, memory_order_relaxed))
		atomic_compare_exchange_strong(&g->fault, &none, INTERP_STOPPED);
	else if (g->launch->deadline && monotonic_ns() > g->launch->deadline)
		atomic_compare_exchange_strong(&g->fault, &none, INTERP_TIMEOUT);
	else
		return false;
	return true;
}

/* ---- a warp ----------------------------------------------------------------------------------------- */

static inline void warp_execute(struct warp *w)
{
	const struct xinst *x = w->pc++;
	uint32_t on = w->mask & (*(const uint32_t *)(w->regs + x->guard) ^ x->guard_xor);

	if (!on)
		return;
	w->active = on;
	x->run(w, x);
}

static void warp_dispatch(struct warp *w)
{
	do
		warp_execute(w);
	while (!w->event);
}

/* Alternates between compiled code and single instructions, as long as compiled code can be entered again. */
static void warp_dispatch_compiled(struct warp *w)
{
	while (warp_enterable(w)) {
		if (!warp_run_compiled(w))
			return;
		warp_execute(w);
		if (w->event)
			return;
	}
	warp_dispatch(w);
}

/* Refills the budget and gives other splits a turn; a warp that stalls repeatedly gets its waiting lanes released. */
static enum run_state warp_budget_spent(struct warp *w)
{
	bool spinning = w->spins * SPIN_COST >= BRANCH_BUDGET / 2;

	w->budget = BRANCH_BUDGET;
	w->spins = 0;
	w->stalled += spinning ? SPIN_STALL : 1;
	warp_rotate(w);
	if (w->stalled >= STALL_LIMIT) {
		w->stalled = 0;
		w->reconverge_off = true;
		warp_release_waiting(w);
	}
	if (grid_over(w->block->grid))
		return RUN_FAULT;
	return spinning ? RUN_SPINNING : RUN_PROGRESS;
}

static enum run_state warp_run(struct warp *w)
{
	enum run_state r = RUN_BLOCKED;

	for (;;) {
		if (!w->mask && !warp_take_split(w))
			return w->live ? r : RUN_DONE;
		w->event = 0;
		if (w->block->code)
			warp_dispatch_compiled(w);
		else
			warp_dispatch(w);
		r = RUN_PROGRESS;
		if (w->event & EV_FAULT)
			return RUN_FAULT;
		if (w->waits)
			return RUN_WAITS;
		if (w->event & EV_BUDGET)
			return warp_budget_spent(w);
	}
}

/* ---- a block ---------------------------------------------------------------------------------------- */

/*
 * A warp takes its registers when it first runs and returns them when it ends.  In blocks without barriers one frame
 * then serves all warps in turn, and stays in the cache.
 */
static enum run_state warp_run_turn(struct warp *w)
{
	enum run_state r;

	if (!w->root && !warp_enter(w))
		return RUN_FAULT;
	r = warp_run(w);
	if (r == RUN_DONE) {
		frame_put(w->block->thread, w->root);
		w->root = NULL;
	}
	return r;
}

/*
 * Some warps of compiled code wait at a barrier for all threads.  If all live warps do, they pass it; otherwise the
 * barrier counts them, as it counts the lanes of interpreted warps.
 */
static void block_pass_barrier(struct block *b, bool all)
{
	for (uint32_t i = 0; i < b->nwarps; i++) {
		struct warp *w = &b->warps[i];
		const struct xinst *x;

		if (!w->waits)
			continue;
		x = w->pc++;
		w->waits = false;
		if (all)
			continue;
		w->active = w->mask;
		x->run(w, x);
	}
}

/* Gives every live warp a turn. */
static enum run_state block_round(struct block *b)
{
	bool spinning = false, progress = false;
	uint32_t waiting = 0, others = 0;

	for (uint32_t i = 0; i < b->nwarps; i++) {
		if (!b->warps[i].live)
			continue;
		switch (warp_run_turn(&b->warps[i])) {
		case RUN_FAULT:
			return RUN_FAULT;
		case RUN_SPINNING:
			spinning = true;
			others++;
			break;
		case RUN_BLOCKED:
			others++;
			break;
		case RUN_WAITS:
			waiting++;
			break;
		case RUN_DONE:
			progress = true;
			break;
		default:
			progress = true;
			others++;
		}
	}
	if (!b->live)
		return RUN_DONE;
	if (waiting) {
		block_pass_barrier(b, !others);
		progress = true;
	}
	return progress ? RUN_PROGRESS : spinning ? RUN_SPINNING : RUN_BLOCKED;
}

static bool block_release_waiting(struct block *b)
{
	bool any = false;

	for (uint32_t i = 0; i < b->nwarps; i++)
		if (b->warps[i].live)
			any |= warp_release_waiting(&b->warps[i]);
	return any;
}

enum run_state block_run(struct block *b)
{
	for (;;) {
		enum run_state r = block_round(b);

		switch (r) {
		case RUN_PROGRESS:
			b->idle = 0;
			if (b->thread->nresident > 1)
				return r;
			break;
		case RUN_SPINNING:
			if (++b->idle % STUCK_ROUNDS == 0)
				block_release_waiting(b);
			return r;
		case RUN_BLOCKED:
			if (block_release_waiting(b))
				break;
			if (cluster_bar_waits(b))
				return RUN_SPINNING;
			warp_fault(&b->warps[0], INTERP_TIMEOUT, "all threads of block (%u,%u,%u) wait at barriers",
				b->ctaid[0], b->ctaid[1], b->ctaid[2]);
			return RUN_FAULT;
		default:
			return r;
		}
	}
}

/* ---- frames ----------------------------------------------------------------------------------------- */

#define ROUND64(n) (((n) + 63) & ~(size_t)63)

struct frame *frame_get(struct grid_thread *k, const struct xfunc *fn)
{
	struct frame *f = k->free_frames[fn->index];
	size_t params = (size_t)fn->param_stride * LANES, head = ROUND64(sizeof(*f)), regs = ROUND64(fn->frame_size);

	if (f) {
		k->free_frames[fn->index] = f->next;
		return f;
	}
	f = aligned_alloc(64, head + regs + ROUND64(params));
	if (!f)
		return NULL;
	memset(f, 0, head + regs + params);
	f->fn = fn;
	f->regs = (uint8_t *)f + head;
	f->params = params ? f->regs + regs : NULL;
	memcpy(f->regs + fn->frame_size - fn->consts_size, k->grid->consts[fn->index], fn->consts_size);
	f->next_all = k->frames;
	k->frames = f;
	return f;
}

void frame_put(struct grid_thread *k, struct frame *f)
{
	f->next = k->free_frames[f->fn->index];
	k->free_frames[f->fn->index] = f;
}

/* ---- blocks: creation, start and end ---------------------------------------------------------------- */

static void block_destroy(struct block *b)
{
	if (!b)
		return;
	checked_block_destroy(b);
	free(b->warps);
	free(b->shared);
	free(b->local);
	free(b);
}

static struct block *block_create(struct grid_thread *k)
{
	struct grid *g = k->grid;
	size_t local = g->local_size * LANES * g->nwarps;
	struct block *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->grid = g;
	b->thread = k;
	b->nwarps = g->nwarps;
	b->warps = aligned_alloc(64, ROUND64(g->nwarps * sizeof(struct warp)));
	b->shared = aligned_alloc(1024, (g->shared_size + 1023) & ~(size_t)1023);
	b->local = local ? malloc(local) : NULL;
	if (!b->warps || !b->shared || (local && !b->local) || !checked_block_create(b)) {
		block_destroy(b);
		return NULL;
	}
	memset(b->warps, 0, g->nwarps * sizeof(struct warp));
	memset(b->shared, 0, g->shared_size);
	for (uint32_t i = 0; i < b->nwarps; i++) {
		struct warp *w = &b->warps[i];

		w->launch = g->launch;
		w->block = b;
		w->helpers = &compiled_helpers;
		w->number = i;
		w->local = b->local ? b->local + g->local_size * LANES * i : NULL;
		for (uint32_t lane = 0; lane < LANES; lane++) {
			uint32_t t = i * LANES + lane, x = g->launch->block[0], y = g->launch->block[1];

			w->tid[0][lane] = t % x;
			w->tid[1][lane] = t / x % y;
			w->tid[2][lane] = t / x / y;
		}
	}
	return b;
}

/* The code for a block that begins; NULL: interpret. */
static const struct jit_code *block_code(struct grid_thread *k)
{
	const struct jit_code *code = jit_launch_code(&k->grid->jit);

	if (!code || k->sites)
		return code;
	/* A launch has one variant, whose code is set once: the sites belong to no other code. */
	k->sites = calloc(code->nsites + 1u, sizeof(*k->sites));
	k->nsites = k->sites ? code->nsites : 0;
	return k->sites ? code : NULL;
}

/* Resets a block for block `number` of the grid; numbers run cluster by cluster. */
static void block_begin(struct block *b, uint64_t number)
{
	const struct grid *g = b->grid;
	uint64_t cluster = number / g->cluster_size;
	uint32_t rank = b->rank = (uint32_t)(number % g->cluster_size);

	for (int i = 0; i < 3; i++) {
		uint32_t n = g->cluster[i], clusters = g->launch->grid[i] / n;

		b->ctaid[i] = (uint32_t)(cluster % clusters) * n + rank % n;
		cluster /= clusters;
		rank /= n;
	}
	b->peer = b;
	b->at_cluster_bar = false;
	b->live = g->nthreads;
	b->idle = 0;
	b->code = block_code(b->thread);
	b->thread->warps[b->code != NULL] += b->nwarps;
	FOR_MASK(b->bars_used, n)
	memset(&b->bars[n], 0, sizeof(b->bars[n]));
	b->bars_used = 0;
	checked_block_begin(b);
	for (uint32_t i = 0; i < b->nwarps; i++) {
		uint32_t n = g->nthreads - i * LANES;

		warp_start(&b->warps[i], n >= LANES ? ALL_LANES : (1u << n) - 1);
	}
}

static struct block *grid_thread_start_block(struct grid_thread *k, uint64_t number)
{
	struct block *b = k->free_blocks;
	int none = 0;

	if (b)
		k->free_blocks = b->next;
	else
		b = block_create(k);
	if (!b) {
		atomic_compare_exchange_strong(&k->grid->fault, &none, INTERP_OUT_OF_MEMORY);
		return NULL;
	}
	block_begin(b, number);
	b->next = NULL;
	*k->resident_end = b;
	k->resident_end = &b->next;
	k->nresident++;
	return b;
}

/* Starts the blocks of the next cluster (one block, without clusters); false: none is left, or the grid is over. */
static bool grid_thread_start_cluster(struct grid_thread *k)
{
	struct grid *g = k->grid;
	uint64_t n = atomic_fetch_add(&g->next, g->cluster_size);
	struct block *first, *b;

	/* Short blocks never spend a budget, which would check for the end of the grid. */
	if (n >= g->nblocks || (++k->blocks_begun % CHECK_INTERVAL == 0 && grid_over(g)))
		return false;
	first = grid_thread_start_block(k, n);
	for (uint32_t i = 1; first && i < g->cluster_size; i++) {
		b = grid_thread_start_block(k, n + i);
		if (!b)
			return false;
		b->peer = first->peer;
		first->peer = b;
	}
	return first;
}

static void grid_thread_end_block(struct grid_thread *k, struct block **at)
{
	struct block *b = *at;

	cluster_leave(b);
	*at = b->next;
	if (k->resident_end == &b->next)
		k->resident_end = at;
	k->nresident--;
	b->next = k->free_blocks;
	k->free_blocks = b;
}

/* ---- grid threads ----------------------------------------------------------------------------------- */

/* Gives every resident block a turn. */
static enum run_state grid_thread_round(struct grid_thread *k)
{
	enum run_state r = RUN_SPINNING;
	struct block **at = &k->resident;

	while (*at) {
		switch (block_run(*at)) {
		case RUN_DONE:
			grid_thread_end_block(k, at);
			r = RUN_PROGRESS;
			continue;
		case RUN_FAULT:
			return RUN_FAULT;
		case RUN_PROGRESS:
			r = RUN_PROGRESS;
			break;
		default:
			break;
		}
		at = &(*at)->next;
	}
	return r;
}

static void grid_thread_pause(uint32_t rounds)
{
	struct timespec t = {.tv_nsec = SLEEP_NS};

	if (rounds > SLEEP_AFTER)
		nanosleep(&t, NULL);
	else
		sched_yield();
}

static void grid_thread_loop(struct grid_thread *k)
{
	struct grid *g = k->grid;
	bool cooperative = g->launch->cooperative;
	uint32_t rounds = 0, max = cooperative ? UINT32_MAX : MAX_RESIDENT;

	while (!atomic_load_explicit(&g->fault, memory_order_relaxed)) {
		enum run_state r;

		if (!k->resident && !grid_thread_start_cluster(k))
			return;
		r = grid_thread_round(k);
		if (r == RUN_FAULT)
			return;
		if (r == RUN_PROGRESS) {
			rounds = 0;
			continue;
		}
		rounds++;
		if (grid_over(g))
			return;
		if ((cooperative || rounds >= SPIN_ROUNDS) && k->nresident < max && grid_thread_start_cluster(k))
			rounds = 0;
		else
			grid_thread_pause(rounds);
	}
}

static void block_list_destroy(struct block *b)
{
	struct block *next;

	for (; b; b = next) {
		next = b->next;
		block_destroy(b);
	}
}

void grid_thread_run(void *data, uint64_t number)
{
	struct grid *g = data;
	struct grid_thread k = {.grid = g, .number = (uint32_t)number};
	int none = 0;
	struct frame *next;
	fenv_t callers;

	/* The floating-point environment of the thread may be the application's. */
	fegetenv(&callers);
	fesetenv(FE_DFL_ENV);
	k.resident_end = &k.resident;
	k.free_frames = calloc(g->kernel->program->nfuncs, sizeof(*k.free_frames));
	if (k.free_frames)
		grid_thread_loop(&k);
	else
		atomic_compare_exchange_strong(&g->fault, &none, INTERP_OUT_OF_MEMORY);
	block_list_destroy(k.resident);
	block_list_destroy(k.free_blocks);
	for (struct frame *f = k.frames; f; f = next) {
		next = f->next_all;
		free(f);
	}
	for (int i = 0; i < 2; i++)
		atomic_fetch_add_explicit(&g->jit.warps[i], k.warps[i], memory_order_relaxed);
	free(k.free_frames);
	free(k.sites);
	fesetenv(&callers);
}
