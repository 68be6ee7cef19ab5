/* Special registers: %tid, %ctaid, %clock64 ... (x_sreg). */
#include "ptx/interp/core.h"

#include <time.h>

static uint64_t realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cycle_counter(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return realtime_ns();
#endif
}

/* Special registers with the same value in all lanes. */
static uint64_t sreg_uniform_value(const struct warp *w, unsigned sreg, unsigned comp)
{
	const struct block *b = w->block;
	const struct grid *g = b->grid;
	uint64_t workspace = (uint64_t)(uintptr_t)g->workspace, reserved = g->shared_size - RESERVED_SHARED;
	unsigned c = comp < 3 ? comp : 0;

	switch (sreg) {
	case PTX_SR_ntid:
		return comp < 3 ? w->launch->block[c] : 1;
	case PTX_SR_ctaid:
		return comp < 3 ? b->ctaid[c] : 0;
	case PTX_SR_nctaid:
		return comp < 3 ? w->launch->grid[c] : 1;
	case PTX_SR_clusterid:
		return comp < 3 ? b->ctaid[c] / g->cluster[c] : 0;
	case PTX_SR_nclusterid:
		return comp < 3 ? w->launch->grid[c] / g->cluster[c] : 1;
	case PTX_SR_cluster_ctaid:
		return comp < 3 ? b->ctaid[c] % g->cluster[c] : 0;
	case PTX_SR_cluster_nctaid:
		return comp < 3 ? g->cluster[c] : 1;
	case PTX_SR_cluster_ctarank:
		return b->rank;
	case PTX_SR_cluster_nctarank:
		return g->cluster_size;
	case PTX_SR_is_explicit_cluster:
		return g->cluster_size > 1;
	case PTX_SR_warpid:
		return w->number;
	case PTX_SR_nwarpid:
		return 64;
	case PTX_SR_smid:
		return b->thread->number;
	case PTX_SR_nsmid:
		return w->launch->host->threads;
	case PTX_SR_gridid:
		return w->launch->grid_id;
	case PTX_SR_clock:
	case PTX_SR_clock64:
		return cycle_counter();
	case PTX_SR_clock_hi:
		return cycle_counter() >> 32;
	case PTX_SR_globaltimer:
	case PTX_SR_globaltimer_lo:
		return realtime_ns();
	case PTX_SR_globaltimer_hi:
		return realtime_ns() >> 32;
	case PTX_SR_dynamic_smem_size:
		return w->launch->shared;
	case PTX_SR_total_smem_size:
	case PTX_SR_aggr_smem_size:
		return g->shared_size;
	case PTX_SR_envreg:
		return comp == 1 ? workspace >> 32 : comp == 2 ? (uint32_t)workspace : 0;
	case PTX_SR_reserved_smem_offset:
	case PTX_SR_reserved_smem_offset_begin:
		return reserved;
	case PTX_SR_reserved_smem_offset_cap:
	case PTX_SR_reserved_smem_offset_end:
		return g->shared_size;
	default:
		return 0;
	}
}

static uint32_t sreg_lane_value(const struct warp *w, unsigned sreg, unsigned comp, unsigned lane)
{
	switch (sreg) {
	case PTX_SR_tid:
		return comp < 3 ? w->tid[comp][lane] : 0;
	case PTX_SR_laneid:
		return lane;
	case PTX_SR_lanemask_eq:
		return 1u << lane;
	case PTX_SR_lanemask_lt:
		return (1u << lane) - 1;
	case PTX_SR_lanemask_le:
		return (2u << lane) - 1;
	case PTX_SR_lanemask_gt:
		return ~((2u << lane) - 1);
	default: /* lanemask_ge */
		return ~((1u << lane) - 1);
	}
}

static bool sreg_varies(unsigned sreg)
{
	return sreg == PTX_SR_tid || sreg == PTX_SR_laneid ||
	       (sreg >= PTX_SR_lanemask_eq && sreg <= PTX_SR_lanemask_lt);
}

static void write_all_lanes(struct warp *w, const struct xinst *x, uint64_t v)
{
	uint16_t *d16 = DST(w, x, uint16_t);
	uint32_t *d32 = DST(w, x, uint32_t);
	uint64_t *d64 = DST(w, x, uint64_t);

	switch (x->dst_width) {
	case WPRED:
		pred_store(w, x->dst, v ? ALL_LANES : 0);
		break;
	case W16:
		MAP(w, d16, uint16_t, v);
		break;
	case W32:
		MAP(w, d32, uint32_t, v);
		break;
	default:
		MAP(w, d64, uint64_t, v);
	}
}

void x_sreg(struct warp *w, const struct xinst *x)
{
	unsigned sreg = x->aux, comp = (unsigned)x->imm;

	if (!sreg_varies(sreg)) {
		write_all_lanes(w, x, sreg_uniform_value(w, sreg, comp));
	} else if (sreg == PTX_SR_tid && comp < 3 && x->dst_width == W32) {
		const uint32_t *t = w->tid[comp];
		uint32_t *d = DST(w, x, uint32_t);

		MAP(w, d, uint32_t, t[i]);
	} else {
		FOR_ACTIVE(w, i)
		dst_write_lane(w, x, i, sreg_lane_value(w, sreg, comp, i));
	}
}
