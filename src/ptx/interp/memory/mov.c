/* Moving values: mov, packing and unpacking, special registers, cvta and isspacep. */
#include "ptx/interp/core.h"

#include <string.h>
#include <time.h>

void x_nop(struct warp *w, const struct xinst *x)
{
	(void)w;
	(void)x;
}

static void mov16(struct warp *w, const struct xinst *x)
{
	const uint16_t *a = SRC(w, x, 0, uint16_t);
	uint16_t *d = DST(w, x, uint16_t);

	MAP(w, d, uint16_t, a[i]);
}

static void mov32(struct warp *w, const struct xinst *x)
{
	const uint32_t *a = SRC(w, x, 0, uint32_t);
	uint32_t *d = DST(w, x, uint32_t);

	MAP(w, d, uint32_t, a[i]);
}

static void mov64(struct warp *w, const struct xinst *x)
{
	const uint64_t *a = SRC(w, x, 0, uint64_t);
	uint64_t *d = DST(w, x, uint64_t);

	MAP(w, d, uint64_t, a[i]);
}

static void mov128(struct warp *w, const struct xinst *x)
{
	const uint64_t *a = SRC(w, x, 0, uint64_t);
	uint64_t *d = DST(w, x, uint64_t);

	FOR_ACTIVE(w, i)
	{
		d[2 * i] = a[2 * i];
		d[2 * i + 1] = a[2 * i + 1];
	}
}

static void mov_pred(struct warp *w, const struct xinst *x)
{
	pred_store(w, x->dst, pred_src(w, x, 0));
}

/* ---- {a, b} to and from one register ---------------------------------------------------------------- */

static uint64_t get(const uint8_t *slot, unsigned width, unsigned lane)
{
	switch (width) {
	case W16:
		return ((const uint16_t *)slot)[lane];
	case W32:
		return ((const uint32_t *)slot)[lane];
	default:
		return ((const uint64_t *)slot)[lane];
	}
}

static void put(uint8_t *slot, unsigned width, unsigned lane, uint64_t v)
{
	switch (width) {
	case W16:
		((uint16_t *)slot)[lane] = (uint16_t)v;
		break;
	case W32:
		((uint32_t *)slot)[lane] = (uint32_t)v;
		break;
	default:
		((uint64_t *)slot)[lane] = v;
	}
}

/* A register's lane as bytes: elements are pieces of it. Little-endian, as the layout of slots already says.
 */
static unsigned slot_bytes(unsigned width)
{
	return 1u << width;
}

static void pack(struct warp *w, const struct xinst *x)
{
	unsigned n = x->in->ops[1].n, total = slot_bytes(x->dst_width), size = total / n;
	uint8_t *d = w->regs + x->dst;

	FOR_ACTIVE(w, i)
	{
		uint8_t bytes[16];

		for (unsigned e = 0; e < n; e++) {
			uint32_t k = x->src[0] + e;
			uint64_t v = get(w->regs + x->list[k], x->list_width[k], i);

			memcpy(bytes + e * size, &v, size);
		}
		memcpy(d + i * total, bytes, total);
	}
}

static void unpack(struct warp *w, const struct xinst *x)
{
	unsigned n = x->in->ops[0].n, total = slot_bytes(x->src_width[0]), size = total / n;
	const uint8_t *a = w->regs + x->src[0];

	FOR_ACTIVE(w, i)
	{
		uint8_t bytes[16];

		memcpy(bytes, a + i * total, total);
		for (unsigned e = 0; e < n; e++) {
			uint32_t k = x->dst + e;
			uint64_t v = 0;

			memcpy(&v, bytes + e * size, size);
			put(w->regs + x->list[k], x->list_width[k], i, v);
		}
	}
}

static void pack_2x32(struct warp *w, const struct xinst *x)
{
	const uint32_t *lo = SRCV(w, x, 0, 0, uint32_t), *hi = SRCV(w, x, 0, 1, uint32_t);
	uint64_t *d = DST(w, x, uint64_t);

	MAP(w, d, uint64_t, (uint64_t)hi[i] << 32 | lo[i]);
}

static void pack_2x16(struct warp *w, const struct xinst *x)
{
	const uint16_t *lo = SRCV(w, x, 0, 0, uint16_t), *hi = SRCV(w, x, 0, 1, uint16_t);
	uint32_t *d = DST(w, x, uint32_t);

	MAP(w, d, uint32_t, (uint32_t)hi[i] << 16 | lo[i]);
}

static void unpack_2x16(struct warp *w, const struct xinst *x)
{
	const uint32_t *a = SRC(w, x, 0, uint32_t);
	uint16_t *lo = DSTV(w, x, 0, uint16_t), *hi = DSTV(w, x, 1, uint16_t);

	MAP(w, lo, uint16_t, a[i]);
	MAP(w, hi, uint16_t, a[i] >> 16);
}

static void unpack_2x32(struct warp *w, const struct xinst *x)
{
	const uint64_t *a = SRC(w, x, 0, uint64_t);
	uint32_t *lo = DSTV(w, x, 0, uint32_t), *hi = DSTV(w, x, 1, uint32_t);

	MAP(w, lo, uint32_t, a[i]);
	MAP(w, hi, uint32_t, a[i] >> 32);
}

static exec_fn select_vector(const struct ptx_inst *in)
{
	unsigned bits = ptx_type_bits(in->m.type[0]);
	const struct ptx_operand *v = in->ops[1].kind == PTX_O_VEC ? &in->ops[1] : &in->ops[0];
	bool to = v == &in->ops[1];

	if (in->ops[0].kind == PTX_O_VEC && in->ops[1].kind == PTX_O_VEC)
		return NULL;
	if (v->n != 2 && v->n != 4 && v->n != 8)
		return NULL;
	if (v->n == 2 && bits == 64)
		return to ? pack_2x32 : unpack_2x32;
	if (v->n == 2 && bits == 32)
		return to ? pack_2x16 : unpack_2x16;
	return to ? pack : unpack;
}

/* ---- special registers ------------------------------------------------------------------------------ */

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cycles(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return nanoseconds();
#endif
}

/* Values that are the same in all lanes. */
static uint64_t uniform_sreg(const struct warp *w, unsigned sreg, unsigned comp)
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
		return b->worker->number;
	case PTX_SR_nsmid:
		return w->launch->host->threads;
	case PTX_SR_gridid:
		return w->launch->grid_id;
	case PTX_SR_clock:
	case PTX_SR_clock64:
		return cycles();
	case PTX_SR_clock_hi:
		return cycles() >> 32;
	case PTX_SR_globaltimer:
	case PTX_SR_globaltimer_lo:
		return nanoseconds();
	case PTX_SR_globaltimer_hi:
		return nanoseconds() >> 32;
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

static uint32_t lane_sreg(const struct warp *w, unsigned sreg, unsigned comp, unsigned lane)
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

static bool varies(unsigned sreg)
{
	return sreg == PTX_SR_tid || sreg == PTX_SR_laneid ||
	       (sreg >= PTX_SR_lanemask_eq && sreg <= PTX_SR_lanemask_lt);
}

static void splat(struct warp *w, const struct xinst *x, uint64_t v)
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

	if (!varies(sreg)) {
		splat(w, x, uniform_sreg(w, sreg, comp));
	} else if (sreg == PTX_SR_tid && comp < 3 && x->dst_width == W32) {
		const uint32_t *t = w->tid[comp];
		uint32_t *d = DST(w, x, uint32_t);

		MAP(w, d, uint32_t, t[i]);
	} else {
		FOR_ACTIVE(w, i)
		put(w->regs + x->dst, x->dst_width, i, lane_sreg(w, sreg, comp, i));
	}
}

/* ---- addresses -------------------------------------------------------------------------------------- */

void x_local_addr(struct warp *w, const struct xinst *x)
{
	uint64_t a = w->frame->local_base + (uint64_t)x->imm;

	FOR_ACTIVE(w, i)
	put(w->regs + x->dst, x->dst_width, i, a);
}

void x_param_addr(struct warp *w, const struct xinst *x)
{
	FOR_ACTIVE(w, i)
	put(w->regs + x->dst, x->dst_width, i, (uint64_t)(uintptr_t)frame_param(w, w->frame, i, (uint64_t)x->imm));
}

/* What is added to an address of this space to make it generic, in one lane. */
static uint64_t window(const struct warp *w, unsigned space, unsigned lane)
{
	switch (space) {
	case PTX_SHARED:
		return (uint64_t)(uintptr_t)w->block->shared;
	case PTX_LOCAL:
		return lane_local(w, lane);
	default:
		return 0;
	}
}

static void cvta(struct warp *w, const struct xinst *x)
{
	const uint8_t *a = w->regs + x->src[0];

	FOR_ACTIVE(w, i)
	{
		uint64_t v = get(a, x->src_width[0], i), base = window(w, x->in->m.space, i);

		if (x->in->m.space == PTX_SHARED_CLUSTER)
			v = x->in->m.to ? cluster_from_generic(w->block, v) : cluster_to_generic(w->block, v);
		else
			v = x->in->m.to ? v - base : v + base;
		put(w->regs + x->dst, x->dst_width, i, v);
	}
}

static bool in_window(const struct warp *w, unsigned space, uint64_t a)
{
	const struct grid *g = w->block->grid;
	uint64_t local = (uint64_t)(uintptr_t)w->local, params = (uint64_t)(uintptr_t)g->params;
	const struct block *owner = cluster_owner(w->block, a);
	bool in_local = a - local < g->local_size * LANES;

	switch (space) {
	case PTX_SHARED:
		return owner == w->block;
	case PTX_SHARED_CLUSTER:
		return owner;
	case PTX_LOCAL:
		return in_local;
	case PTX_PARAM:
		return a - params < g->params_size;
	case PTX_CONST:
		return false; /* constants lie in global memory here */
	default:
		return !owner && !in_local;
	}
}

static void isspacep(struct warp *w, const struct xinst *x)
{
	uint32_t r = 0;

	FOR_ACTIVE(w, i)
	r |= (uint32_t)in_window(w, x->in->m.space, get(w->regs + x->src[0], x->src_width[0], i)) << i;
	pred_store(w, x->dst, r);
}

static exec_fn select_mov(const struct ptx_inst *in)
{
	static const exec_fn by_width[] = {mov_pred, mov16, mov32, mov64, mov128};

	if (in->ops[0].kind == PTX_O_VEC || in->ops[1].kind == PTX_O_VEC)
		return select_vector(in);
	return by_width[slot_width(in->m.type[0])];
}

exec_fn mov_select(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_mov:
		return select_mov(in);
	case PTX_OP_cvta:
		if (in->m.space == PTX_GLOBAL || in->m.space == PTX_CONST || in->m.space == PTX_PARAM)
			return in->m.type[0] == PTX_U64 ? mov64 : NULL; /* it is its own generic address */
		return cvta;
	case PTX_OP_isspacep:
		return isspacep;
	default:
		return NULL;
	}
}
