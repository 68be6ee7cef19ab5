/* Selects the exec function of an instruction, and checks that the operands are what that function needs. */
#include "ptx/interp/decode/decode.h"

#include <errno.h>

/* An access to named .param memory must lie inside the frame, and not cross the end of a kernel's arguments. */
static void check_param(struct decoder *d, const struct ptx_inst *in, const struct xinst *x, unsigned value)
{
	const struct ptx_operand *o = &in->ops[value];
	uint64_t size = (uint64_t)(ptx_type_bits(in->m.type[0]) / 8) * (o->kind == PTX_O_VEC ? o->n : 1);
	uint64_t at = (uint64_t)x->imm, end = d->fn->param_frame_size;

	if (x->target != PTX_PARAM || x->src[0] != NO_SLOT)
		return;
	if (d->fn->is_entry && at < d->fn->param_size)
		end = d->fn->param_size;
	if (x->imm < 0 || at > end || size > end - at || at % (ptx_type_bits(in->m.type[0]) / 8))
		decode_fail(d, -EINVAL, in, "%s of %llu bytes at %lld lies outside the parameters", ptx_op_name(in->op),
			(unsigned long long)size, (long long)x->imm);
	if (in->op == PTX_OP_st && d->fn->is_entry && at < d->fn->param_size)
		decode_fail(d, -EINVAL, in, "a kernel's parameters cannot be written");
}

static enum access access_kind(const struct xinst *x)
{
	bool named = x->src[0] == NO_SLOT;

	switch (x->target) {
	case PTX_SHARED_CLUSTER:
		return ACCESS_ANY;
	case PTX_SHARED:
		return !named && x->src_width[0] == W32 ? ACCESS_SHARED : ACCESS_ANY;
	case PTX_LOCAL:
		return named || x->src_width[0] == W64 ? ACCESS_LOCAL : ACCESS_ANY;
	case PTX_PARAM:
		if (named)
			return ACCESS_PARAM;
		/* fall through */
	default:
		return !named && x->src_width[0] == W64 ? ACCESS_GLOBAL : ACCESS_ANY;
	}
}

static exec_fn select_access(struct decoder *d, const struct ptx_inst *in, struct xinst *x)
{
	bool store = in->op == PTX_OP_st;
	const struct ptx_operand *o = &in->ops[store ? 1 : 0];
	unsigned width = store ? x->src_width[1] : x->dst_width;

	check_param(d, in, x, store ? 1 : 0);
	x->access = access_kind(x);
	x->n = o->kind == PTX_O_VEC ? (uint8_t)o->n : 1;
	if (o->kind == PTX_O_VEC) {
		/* All elements must have slots of one width; a sink fits any. */
		uint32_t first = store ? x->src[1] : x->dst;
		bool seen = false;

		for (uint32_t i = 0; i < o->n; i++) {
			if (o->elem[i].kind == PTX_O_SINK)
				continue;
			if (seen && d->list_widths[first + i] != width)
				return NULL;
			width = d->list_widths[first + i];
			seen = true;
		}
	}
	return store ? access_store(in, width, x) : access_load(in, width, x);
}

/* The element type of operand k if it is a matrix fragment; else PTX_NONE. */
static unsigned fragment_type(const struct ptx_inst *in, unsigned k)
{
	const struct ptx_mods *m = &in->m;

	switch (in->op) {
	case PTX_OP_mma:
		return k < 4 ? m->type[k] : PTX_NONE;
	case PTX_OP_wmma_mma: /* the types of A and B are omitted if they are f16 */
		return k >= 4 ? PTX_NONE : m->ntypes == 4 || !k ? m->type[k] : k == 3 ? m->type[1] : PTX_F16;
	case PTX_OP_wmma_store_d:
	case PTX_OP_stmatrix:
		return k == 1 ? m->type[0] : PTX_NONE;
	case PTX_OP_wmma_load_a:
	case PTX_OP_wmma_load_b:
	case PTX_OP_wmma_load_c:
	case PTX_OP_ldmatrix:
		return k == 0 ? m->type[0] : PTX_NONE;
	default:
		return PTX_NONE;
	}
}

bool decode_fragments_valid(const struct decoder *d, const struct ptx_inst *in, const struct xinst *x)
{
	unsigned ndest = ptx_inst_ndest(in);

	for (unsigned k = 0; k < in->nops; k++) {
		const struct ptx_operand *o = &in->ops[k];
		unsigned type = fragment_type(in, k), width = ptx_type_bits(type) == 64 ? W64 : W32;
		uint32_t first = k < ndest ? x->dst : x->src[k - ndest];

		if (type == PTX_NONE || o->kind == PTX_O_SINK)
			continue;
		if (o->kind != PTX_O_VEC && (k < ndest ? x->dst_width : x->src_width[k - ndest]) != width)
			return false;
		for (uint32_t i = 0; o->kind == PTX_O_VEC && i < o->n; i++)
			if (o->elem[i].kind != PTX_O_SINK && d->list_widths[first + i] != width)
				return false;
	}
	return true;
}

exec_fn decode_select(struct decoder *d, const struct ptx_inst *in, struct xinst *x)
{
	static exec_fn (*const ask[])(const struct ptx_inst *) = {mov_select, address_space_select, warp_sync_select,
		atomic_select, async_select, matrix_select, tex_select, stack_select, alu_select};
	exec_fn run;

	switch (in->op) {
	case PTX_OP_ld:
	case PTX_OP_ldu:
	case PTX_OP_st:
		return select_access(d, in, x);
	case PTX_OP_bar_sync:
	case PTX_OP_bar_arrive:
	case PTX_OP_bar_red:
	case PTX_OP_barrier_sync:
	case PTX_OP_barrier_arrive:
	case PTX_OP_barrier_red:
		return x_bar;
	case PTX_OP_ret:
		return x_ret;
	case PTX_OP_exit:
		return x_exit;
	case PTX_OP_trap:
		return x_trap;
	case PTX_OP_brkpt:
		return x_nop; /* there is no debugger */
	}
	for (size_t i = 0; i < sizeof(ask) / sizeof(ask[0]); i++) {
		run = ask[i](in);
		if (run)
			return run;
	}
	return NULL;
}
