/* Surface instructions: suld, sust and sured. x counts bytes in the .b forms, texels in the .p forms. */
#include "ptx/interp/alu/half.h"
#include "ptx/interp/texture/tex_exec.h"

static unsigned vector_size(const struct ptx_inst *in)
{
	return in->m.vec ? in->m.vec : 1;
}

static int64_t clamp_int64(int64_t v, int64_t top)
{
	return v < 0 ? 0 : v > top ? top : v;
}

/*
 * The address of the n bytes that lane i accesses.  NULL outside the surface: loads give 0, stores do nothing; with
 * .trap a fault was raised.
 */
static uint8_t *surface_bytes(struct warp *w, const struct xinst *x, const struct texture *t, unsigned src, unsigned op,
	unsigned i, unsigned n, unsigned scale)
{
	const struct tex_geometry g = tex_geometry(x->in->m.geom);
	const struct tex_level *l = &t->level[0];
	int64_t c[3] = {0, 0, 0};
	uint32_t layer = g.layered ? tex_word(w, x, src, op, 0, i) : 0;
	uint8_t *p;

	for (unsigned k = 0; k < g.dims; k++)
		c[k] = (int32_t)tex_word(w, x, src, op, g.layered + k, i);
	c[0] *= scale;
	p = surf_at(t, c[0], c[1], c[2], layer, n);
	if (p && c[0] % n == 0)
		return p;
	if (p) {
		warp_fault(w, INTERP_MISALIGNED_ADDRESS, "surface access at byte %lld is not aligned to %u",
			(long long)c[0], n);
		return NULL;
	}
	if (x->in->m.bound == PTX_BOUND_CLAMP) {
		c[0] = clamp_int64(c[0], (int64_t)l->width * tex_texel_size(t) - n);
		c[1] = clamp_int64(c[1], l->height ? (int64_t)l->height - 1 : 0);
		c[2] = clamp_int64(c[2], l->depth ? (int64_t)l->depth - 1 : 0);
		layer = (uint32_t)clamp_int64((int32_t)layer, t->layers ? (int64_t)t->layers - 1 : 0);
		return surf_at(t, c[0], c[1], c[2], layer, n);
	}
	if (x->in->m.bound != PTX_BOUND_ZERO)
		warp_fault(w, INTERP_TRAP, "surface access outside the surface: x %lld, y %lld, z %lld, layer %u",
			(long long)c[0], (long long)c[1], (long long)c[2], layer);
	return NULL;
}

static void x_suld(struct warp *w, const struct xinst *x)
{
	const unsigned vec = vector_size(x->in), size = ptx_type_bits(x->in->m.type[0]) / 8;
	const bool list = x->in->ops[0].kind == PTX_O_VEC;
	const uint64_t *handles = SRC(w, x, 0, uint64_t);
	const struct texture *t = NULL;
	uint64_t handle = 0, v[LANES][4] = {{0}};

	FOR_ACTIVE(w, i)
	{
		const uint8_t *p;

		if (!tex_lookup(w, handles[i], &handle, &t))
			return;
		p = surface_bytes(w, x, t, 1, 2, i, vec * size, 1);
		for (unsigned e = 0; p && e < vec && e < 4; e++)
			memcpy(&v[i][e], p + e * size, size);
	}
	FOR_ACTIVE(w, i)
	for (unsigned e = 0; e < vec && e < 4; e++)
		slot_write_lane(w->regs + (list ? x->list[x->dst + e] : x->dst),
			list ? x->list_width[x->dst + e] : x->dst_width, i, v[i][e]);
}

/* Element e of the value to store. */
static uint64_t stored_value(const struct warp *w, const struct xinst *x, unsigned e, unsigned i)
{
	bool list = x->in->ops[2].kind == PTX_O_VEC;
	unsigned at = x->src[2] + e;

	return slot_read_lane(
		w->regs + (list ? x->list[at] : x->src[2]), list ? x->list_width[at] : x->src_width[2], i);
}

static void x_sust(struct warp *w, const struct xinst *x)
{
	const unsigned vec = vector_size(x->in), size = ptx_type_bits(x->in->m.type[0]) / 8;
	const uint64_t *handles = SRC(w, x, 0, uint64_t);
	const struct texture *t = NULL;
	uint64_t handle = 0;

	FOR_ACTIVE(w, i)
	{
		uint8_t *p;

		if (!tex_lookup(w, handles[i], &handle, &t))
			return;
		p = surface_bytes(w, x, t, 1, 1, i, vec * size, 1);
		for (unsigned e = 0; p && e < vec && e < 4; e++) {
			uint64_t v = stored_value(w, x, e, i);

			memcpy(p + e * size, &v, size);
		}
	}
}

/* Converts a 32-bit value to the format of a channel; integers saturate. */
static uint32_t to_channel(const struct texture *t, unsigned type, uint32_t v)
{
	bool is_float = type == PTX_F32, is_signed = type == PTX_S32 || type == PTX_B32;
	int64_t n = is_signed ? (int64_t)(int32_t)v : (int64_t)v;

	switch (t->format) {
	case TEX_F32:
	case TEX_U32:
	case TEX_S32:
		return v;
	case TEX_F16:
		return f32_to_f16(bits_f32(v));
	case TEX_U8:
		return (uint32_t)(is_float ? num_to_uint(num_unpack(v, &num_f32), PTX_RNI, 8)
					   : (uint64_t)clamp_int64(n, 255));
	case TEX_U16:
		return (uint32_t)(is_float ? num_to_uint(num_unpack(v, &num_f32), PTX_RNI, 16)
					   : (uint64_t)clamp_int64(n, 65535));
	case TEX_S8:
		return (uint32_t)(n < -128 ? -128 : n > 127 ? 127 : n);
	default:
		return (uint32_t)(n < -32768 ? -32768 : n > 32767 ? 32767 : n);
	}
}

static void x_sust_formatted(struct warp *w, const struct xinst *x)
{
	const unsigned vec = vector_size(x->in);
	const uint64_t *handles = SRC(w, x, 0, uint64_t);
	const struct texture *t = NULL;
	uint64_t handle = 0;

	FOR_ACTIVE(w, i)
	{
		unsigned size, channel;
		uint8_t *p;

		if (!tex_lookup(w, handles[i], &handle, &t))
			return;
		size = tex_texel_size(t);
		channel = size / t->channels;
		p = surface_bytes(w, x, t, 1, 1, i, size, size);
		for (unsigned e = 0; p && e < vec && e < t->channels; e++) {
			uint32_t v = to_channel(t, x->in->m.type[0], (uint32_t)stored_value(w, x, e, i));

			memcpy(p + e * channel, &v, channel);
		}
	}
}

/* ---- reductions: atomic, because other threads may access the same texel ---- */

static uint64_t reduce_value(unsigned op, unsigned type, uint64_t old, uint64_t v)
{
	bool wide = ptx_type_bits(type) == 64, sign = type == PTX_S32 || type == PTX_S64;
	bool less = sign ? (wide ? (int64_t)v < (int64_t)old : (int32_t)v < (int32_t)old)
			 : (wide ? v < old : (uint32_t)v < (uint32_t)old);

	switch (op) {
	case PTX_A_ADD:
		return old + v;
	case PTX_A_MIN:
		return less ? v : old;
	case PTX_A_MAX:
		return less ? old : v;
	case PTX_A_AND:
		return old & v;
	default:
		return old | v;
	}
}

static void reduce_memory(uint8_t *p, unsigned op, unsigned type, uint64_t v)
{
	if (ptx_type_bits(type) == 64) {
		uint64_t old = __atomic_load_n((uint64_t *)p, __ATOMIC_RELAXED);

		while (!__atomic_compare_exchange_n(
			(uint64_t *)p, &old, reduce_value(op, type, old, v), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
	} else {
		uint32_t old = __atomic_load_n((uint32_t *)p, __ATOMIC_RELAXED);

		while (!__atomic_compare_exchange_n((uint32_t *)p, &old, (uint32_t)reduce_value(op, type, old, v), true,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
	}
}

static void x_sured(struct warp *w, const struct xinst *x)
{
	const unsigned type = x->in->m.type[0], size = ptx_type_bits(type) / 8;
	/* .b32 with .add, .min or .max is sured.p. */
	const bool formatted = type == PTX_B32 && x->in->m.op <= PTX_A_MAX;
	const uint64_t *handles = SRC(w, x, 0, uint64_t);
	const struct texture *t = NULL;
	uint64_t handle = 0;

	FOR_ACTIVE(w, i)
	{
		uint8_t *p;

		if (!tex_lookup(w, handles[i], &handle, &t))
			return;
		p = surface_bytes(w, x, t, 1, 1, i, size, formatted ? tex_texel_size(t) : 1);
		if (p)
			reduce_memory(p, x->in->m.op, type, stored_value(w, x, 0, i));
	}
}

exec_fn surf_choose(const struct ptx_inst *in)
{
	struct tex_geometry g = tex_geometry(in->m.geom);

	if (!g.dims || g.cube)
		return NULL;
	switch (in->op) {
	case PTX_OP_suld:
		return x_suld;
	case PTX_OP_sust:
		return x_sust;
	case PTX_OP_sust_p:
		return x_sust_formatted;
	case PTX_OP_sured:
		return x_sured;
	default:
		return NULL;
	}
}

exec_fn tex_select(const struct ptx_inst *in)
{
	exec_fn fn = tex_choose(in);

	return fn ? fn : surf_choose(in);
}
