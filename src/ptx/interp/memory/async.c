/*
 * Fences, asynchronous copies, mbarriers and cache hints; also selects the instructions of cluster.c.
 *
 * An asynchronous copy completes with its instruction, so that waiting for it does nothing.  An mbarrier is a 64-bit
 * word of shared memory, with a layout of our own:
 *
 *	63 phase | 62..40 pending bytes, biased | 39..20 arrivals per phase | 19..0 pending arrivals
 *
 * One thread runs a block and its cluster, so that plain accesses suffice.
 */
#include "ptx/interp/core.h"

#include <string.h>
#include <time.h>

#define COUNT_MASK 0xfffffULL
#define TX_ONE     (1ULL << 40)
#define TX_BIAS    (1ULL << 22)
#define TX_MASK    0x7fffffULL
#define PHASE      (1ULL << 63)

static void full_fence(void)
{
#ifdef __SANITIZE_THREAD__
	/* ThreadSanitizer does not support fences. */
	static _Atomic int fence;

	atomic_fetch_add(&fence, 0);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void x_fence(struct warp *w, const struct xinst *x)
{
	(void)x;
	full_fence();
	warp_spin(w);
}

static void x_nanosleep(struct warp *w, const struct xinst *x)
{
	(void)x;
	warp_spin(w);
	w->budget = 0; /* let others run at the next chance */
}

/* cp.async [shared], [global], size {, bytes to read}; the rest is zero. The second address is source 1, without a
 * displacement. */
static void x_cp_async(struct warp *w, const struct xinst *x)
{
	uint64_t to[LANES], from[LANES], size = (uint64_t)x->in->ops[2].imm;
	struct xinst second = *x;

	second.imm = 0;
	if (mem_resolve(w, x, 0, x->target, size, to) == ADDRESSES_FAULT)
		return;
	if (mem_resolve(w, &second, 1, x->in->m.space2, size, from) == ADDRESSES_FAULT)
		return;
	FOR_ACTIVE(w, i)
	{
		uint64_t n = x->src[3] == NO_SLOT ? size : SRC(w, x, 3, uint32_t)[i];
		uint8_t bytes[16] = {0};

		memcpy(bytes, (const void *)(uintptr_t)from[i], n < size ? n : size);
		memcpy((void *)(uintptr_t)to[i], bytes, size);
	}
}

/* ---- mbarrier --------------------------------------------------------------------------------------- */

/* Starts the next phase if neither arrivals nor bytes are pending. */
static uint64_t mbar_settle(uint64_t v)
{
	uint64_t expected = v >> 20 & COUNT_MASK;

	if ((v & COUNT_MASK) || (v >> 40 & TX_MASK) != TX_BIAS)
		return v;
	return ((v & PHASE) ^ PHASE) | TX_BIAS << 40 | expected << 20 | expected;
}

static void x_mbar_init(struct warp *w, const struct xinst *x)
{
	const uint32_t *count = SRC(w, x, 1, uint32_t);
	uint64_t a[LANES];

	if (mem_resolve(w, x, 0, x->target, 8, a) == ADDRESSES_FAULT)
		return;
	FOR_ACTIVE(w, i)
	{
		uint64_t n = count[i] & COUNT_MASK;

		*(uint64_t *)(uintptr_t)a[i] = TX_BIAS << 40 | n << 20 | n;
	}
}

static void x_mbar_inval(struct warp *w, const struct xinst *x)
{
	uint64_t a[LANES];

	if (mem_resolve(w, x, 0, x->target, 8, a) == ADDRESSES_FAULT)
		return;
	FOR_ACTIVE(w, i)
	*(uint64_t *)(uintptr_t)a[i] = 0;
}

static uint64_t mbar_arrive(uint64_t v, unsigned op, uint32_t count)
{
	uint64_t missing = v & COUNT_MASK, n = count < missing ? count : missing;

	if (op == PTX_OP_mbarrier_arrive_expect_tx)
		return mbar_settle(v + count * TX_ONE - (missing ? 1 : 0));
	if (op == PTX_OP_mbarrier_expect_tx)
		return v + count * TX_ONE;
	if (op == PTX_OP_mbarrier_complete_tx)
		return mbar_settle(v - count * TX_ONE);
	if (op == PTX_OP_mbarrier_arrive_drop)
		v -= n << 20;
	return mbar_settle(v - n);
}

/* All operations that change the counts; source 1 is the count, 1 if absent. */
static void x_mbar_arrive(struct warp *w, const struct xinst *x)
{
	uint64_t a[LANES];

	if (mem_resolve(w, x, 0, x->target, 8, a) == ADDRESSES_FAULT)
		return;
	warp_spin(w);
	FOR_ACTIVE(w, i)
	{
		uint64_t *p = (uint64_t *)(uintptr_t)a[i], old = *p;
		uint32_t n = x->src[1] == NO_SLOT ? 1 : SRC(w, x, 1, uint32_t)[i];

		*p = mbar_arrive(old, x->in->op, n);
		if (x->dst != NO_SLOT)
			DST(w, x, uint64_t)[i] = old;
	}
}

static void x_mbar_test(struct warp *w, const struct xinst *x)
{
	bool parity = x->in->op == PTX_OP_mbarrier_test_wait_parity || x->in->op == PTX_OP_mbarrier_try_wait_parity;
	uint64_t a[LANES];
	uint32_t done = 0;

	if (mem_resolve(w, x, 0, x->target, 8, a) == ADDRESSES_FAULT)
		return;
	FOR_ACTIVE(w, i)
	{
		uint64_t phase = *(const uint64_t *)(uintptr_t)a[i] >> 63, asked;

		asked = parity ? SRC(w, x, 1, uint32_t)[i] & 1 : SRC(w, x, 1, uint64_t)[i] >> 63;
		done |= (uint32_t)(phase != asked) << i;
	}
	pred_store(w, x->dst, done);
	if (done != w->active)
		warp_spin(w);
}

static void x_mbar_pending(struct warp *w, const struct xinst *x)
{
	const uint64_t *a = SRC(w, x, 0, uint64_t);
	uint32_t *d = DST(w, x, uint32_t);

	MAP(w, d, uint32_t, a[i] & COUNT_MASK);
}

/* cp.async.mbarrier.arrive: the copies are complete, so arrive now.  Without .noinc the instruction also adds a pending
 * arrival, so that there is nothing to do. */
static void x_mbar_async(struct warp *w, const struct xinst *x)
{
	uint64_t a[LANES];

	if (mem_resolve(w, x, 0, x->target, 8, a) == ADDRESSES_FAULT)
		return;
	FOR_ACTIVE(w, i)
	{
		uint64_t *p = (uint64_t *)(uintptr_t)a[i];

		if (x->in->m.word)
			*p = mbar_arrive(*p, PTX_OP_mbarrier_arrive, 1);
	}
}

static void x_zero(struct warp *w, const struct xinst *x)
{
	uint64_t *d = DST(w, x, uint64_t);

	MAP(w, d, uint64_t, 0);
}

exec_fn async_select(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_membar:
	case PTX_OP_fence:
	case PTX_OP_fence_proxy:
		return x_fence;
	case PTX_OP_nanosleep:
		return x_nanosleep;
	case PTX_OP_cp_async:
		return in->ops[2].kind == PTX_O_IMM &&
				       (in->ops[2].imm == 4 || in->ops[2].imm == 8 || in->ops[2].imm == 16)
			       ? x_cp_async
			       : NULL;
	case PTX_OP_cp_async_commit_group:
	case PTX_OP_cp_async_wait_group:
	case PTX_OP_cp_async_wait_all:
	case PTX_OP_prefetch:
	case PTX_OP_prefetchu:
	case PTX_OP_applypriority:
	case PTX_OP_discard: /* the discarded data may keep its value */
	case PTX_OP_griddepcontrol_launch_dependents:
	case PTX_OP_griddepcontrol_wait:
	case PTX_OP_pmevent:
	case PTX_OP_setmaxnreg:
		return x_nop;
	case PTX_OP_createpolicy:
		return x_zero;
	case PTX_OP_cp_async_mbarrier_arrive:
		return x_mbar_async;
	case PTX_OP_mbarrier_init:
		return x_mbar_init;
	case PTX_OP_mbarrier_inval:
		return x_mbar_inval;
	case PTX_OP_mbarrier_arrive:
	case PTX_OP_mbarrier_arrive_drop:
	case PTX_OP_mbarrier_arrive_expect_tx:
	case PTX_OP_mbarrier_expect_tx:
	case PTX_OP_mbarrier_complete_tx:
		return x_mbar_arrive;
	case PTX_OP_mbarrier_test_wait:
	case PTX_OP_mbarrier_test_wait_parity:
	case PTX_OP_mbarrier_try_wait:
	case PTX_OP_mbarrier_try_wait_parity:
		return x_mbar_test;
	case PTX_OP_mbarrier_pending_count:
		return x_mbar_pending;
	case PTX_OP_barrier_cluster_arrive:
		return x_cluster_arrive;
	case PTX_OP_barrier_cluster_wait:
		return x_cluster_wait;
	case PTX_OP_mapa:
		return x_mapa;
	case PTX_OP_getctarank:
		return x_ctarank;
	default:
		return NULL;
	}
}
