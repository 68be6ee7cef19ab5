/* Addresses of local and parameter variables, and conversion between state spaces: cvta and isspacep. */
#include "ptx/interp/core.h"

void x_local_addr(struct warp *w, const struct xinst *x)
{
	uint64_t a = w->frame->local_base + (uint64_t)x->imm;

	FOR_ACTIVE(w, i)
	dst_write_lane(w, x, i, a);
}

void x_param_addr(struct warp *w, const struct xinst *x)
{
	FOR_ACTIVE(w, i)
	dst_write_lane(w, x, i, (uint64_t)(uintptr_t)frame_param(w, w->frame, i, (uint64_t)x->imm));
}

/* The generic address of offset 0 of a state space, in one lane. */
static uint64_t space_base(const struct warp *w, unsigned space, unsigned lane)
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

static void x_cvta(struct warp *w, const struct xinst *x)
{
	FOR_ACTIVE(w, i)
	{
		uint64_t v = src_read_lane(w, x, 0, i), base = space_base(w, x->in->m.space, i);

		if (x->in->m.space == PTX_SHARED_CLUSTER)
			v = x->in->m.to ? cluster_from_generic(w->block, v) : cluster_to_generic(w->block, v);
		else
			v = x->in->m.to ? v - base : v + base;
		dst_write_lane(w, x, i, v);
	}
}

static bool space_contains(const struct warp *w, unsigned space, uint64_t a)
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
		return false; /* the host keeps constants in global memory */
	default:
		return !owner && !in_local;
	}
}

static void x_isspacep(struct warp *w, const struct xinst *x)
{
	uint32_t r = 0;

	FOR_ACTIVE(w, i)
	r |= (uint32_t)space_contains(w, x->in->m.space, src_read_lane(w, x, 0, i)) << i;
	pred_store(w, x->dst, r);
}

exec_fn address_space_select(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_cvta:
		/* Addresses in these spaces are generic addresses already. */
		if (in->m.space == PTX_GLOBAL || in->m.space == PTX_CONST || in->m.space == PTX_PARAM)
			return in->m.type[0] == PTX_U64 ? x_mov64 : NULL;
		return x_cvta;
	case PTX_OP_isspacep:
		return x_isspacep;
	default:
		return NULL;
	}
}
