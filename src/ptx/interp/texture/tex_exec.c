/* tex, tld4, txq and suq, one lane at a time; tex_plain.c samples a whole warp at once in common cases. */
#include "ptx/interp/alu/half.h"
#include "ptx/interp/texture/tex_exec.h"

struct tex_geometry tex_geometry(unsigned geom)
{
	switch (geom) {
	case PTX_1D:
		return (struct tex_geometry){1, false, false};
	case PTX_2D:
		return (struct tex_geometry){2, false, false};
	case PTX_3D:
		return (struct tex_geometry){3, false, false};
	case PTX_A1D:
		return (struct tex_geometry){1, true, false};
	case PTX_A2D:
		return (struct tex_geometry){2, true, false};
	case PTX_CUBE:
		return (struct tex_geometry){3, false, true};
	case PTX_ACUBE:
		return (struct tex_geometry){3, true, true};
	default:
		return (struct tex_geometry){0, false, false};
	}
}

uint32_t tex_word(const struct warp *w, const struct xinst *x, unsigned n, unsigned op, unsigned e, unsigned i)
{
	const struct ptx_operand *o = &x->in->ops[op];

	if (o->kind != PTX_O_VEC)
		return e == 0 ? SRC(w, x, n, uint32_t)[i] : 0;
	return e < o->n ? SRCV(w, x, n, e, uint32_t)[i] : 0;
}

const struct texture *tex_lookup(struct warp *w, uint64_t want, uint64_t *handle, const struct texture **t)
{
	if (*t && *handle == want)
		return *t;
	*handle = want;
	*t = warp_texture(w, want);
	if (!*t)
		warp_fault(w, INTERP_ILLEGAL_ADDRESS, "no texture or surface has the handle 0x%llx",
			(unsigned long long)want);
	return *t;
}

/* The coordinates of a lane. */
struct tex_place {
	uint32_t layer;
	union {
		float f[4];
		int32_t s[4];
	};
};

static struct tex_place lane_place(const struct warp *w, const struct xinst *x, struct tex_geometry g, unsigned i)
{
	struct tex_place p = {0};
	unsigned from = g.layered;

	if (g.layered)
		p.layer = tex_word(w, x, TEX_SRC_COORDS, TEX_OP_COORDS, 0, i);
	for (unsigned k = 0; k < g.dims; k++)
		p.s[k] = (int32_t)tex_word(w, x, TEX_SRC_COORDS, TEX_OP_COORDS, from + k, i);
	return p;
}

static float lane_lod(const struct warp *w, const struct xinst *x, const struct texture *t, unsigned dims, unsigned i)
{
	float dx[3], dy[3];

	if (x->in->m.lod == PTX_LOD_LEVEL)
		return bits_f32(SRC(w, x, TEX_SRC_EXTRA, uint32_t)[i]);
	if (x->in->m.lod != PTX_LOD_GRAD)
		return 0;
	for (unsigned k = 0; k < dims; k++) {
		dx[k] = bits_f32(tex_word(w, x, TEX_SRC_EXTRA, TEX_OP_COORDS + 1, k, i));
		dy[k] = bits_f32(tex_word(w, x, TEX_SRC_EXTRA + 1, TEX_OP_COORDS + 2, k, i));
	}
	return tex_lod(t, dims, dx, dy);
}

static inline struct texel sample_lane(
	const struct warp *w, const struct xinst *x, const struct texture *t, struct tex_geometry g, unsigned i)
{
	struct tex_place p = lane_place(w, x, g, i);

	if (x->in->op == PTX_OP_tld4) {
		unsigned comp = x->in->m.comp ? x->in->m.comp - 1 : 0;

		return g.cube ? tex_gather_cube(t, p.layer, p.f, comp) : tex_gather(t, p.layer, p.f, comp);
	}
	if (x->in->m.type[1] == PTX_S32) {
		int32_t lod = x->in->m.lod == PTX_LOD_LEVEL ? SRC(w, x, TEX_SRC_EXTRA, int32_t)[i] : 0;

		return tex_fetch(t, g.dims, p.layer, p.s, lod);
	}
	if (g.cube)
		return tex_sample_cube(t, p.layer, p.f, lane_lod(w, x, t, 3, i));
	return tex_sample(t, g.dims, p.layer, p.f, lane_lod(w, x, t, g.dims, i));
}

static uint32_t result_word(const struct xinst *x, const struct texel *v, unsigned e)
{
	if (x->in->m.type[0] == PTX_F16X2)
		return f32_to_f16(bits_f32(v->c[2 * e])) | (uint32_t)f32_to_f16(bits_f32(v->c[2 * e + 1])) << 16;
	return v->c[e];
}

static void store_results(struct warp *w, const struct xinst *x, const struct texel *v)
{
	unsigned n = x->in->m.vec ? x->in->m.vec : 1, most = x->in->m.type[0] == PTX_F16X2 ? 2 : 4;

	for (unsigned e = 0; e < n && e < most; e++) {
		uint32_t *d = x->in->ops[0].kind == PTX_O_VEC ? DSTV(w, x, e, uint32_t) : DST(w, x, uint32_t);

		if (w->active == ALL_LANES && most == 4) {
			for (unsigned i = 0; i < LANES; i++)
				d[i] = v[i].c[e];
			continue;
		}
		FOR_ACTIVE(w, i)
		d[i] = result_word(x, &v[i], e);
	}
}

static bool handles_equal(const struct warp *w, const uint64_t *handles)
{
	uint64_t first = handles[__builtin_ctz(w->active)], differ = 0;

	FOR_ACTIVE(w, i)
	differ |= handles[i] ^ first;
	return !differ;
}

static void x_tex(struct warp *w, const struct xinst *x)
{
	const struct tex_geometry g = tex_geometry(x->in->m.geom);
	const uint64_t *handles = SRC(w, x, 0, uint64_t);
	const struct texture *t = NULL;
	uint64_t handle = 0;
	struct texel v[LANES];

	if (!handles_equal(w, handles) || !tex_lookup(w, handles[__builtin_ctz(w->active)], &handle, &t) ||
		!tex_plain(w, x, t, g, v)) {
		FOR_ACTIVE(w, i)
		{
			if (!tex_lookup(w, handles[i], &handle, &t))
				return;
			v[i] = sample_lane(w, x, t, g, i);
		}
	}
	store_results(w, x, v); /* after all reads: the results may overwrite the coordinates */
	if (x->dst2 != NO_SLOT)
		pred_store(w, x->dst2, ALL_LANES);
}

uint32_t tex_query(const struct texture *t, unsigned query, unsigned level)
{
	const struct tex_level *l = &t->level[level < t->levels ? level : 0];

	switch (query) {
	case PTX_Q_WIDTH:
		return l->width;
	case PTX_Q_HEIGHT:
		return l->height;
	case PTX_Q_DEPTH:
		return l->depth;
	case PTX_Q_ARRAY_SIZE:
		return t->layers;
	case PTX_Q_NUM_MIPMAP_LEVELS:
		return t->levels;
	case PTX_Q_NORMALIZED_COORDS:
		return t->normalized;
	case PTX_Q_NUM_SAMPLES:
		return 1;
	default:
		return 0;
	}
}

static void x_txq(struct warp *w, const struct xinst *x)
{
	const uint64_t *handles = SRC(w, x, 0, uint64_t);
	const uint32_t *lod = x->src[1] == NO_SLOT ? NULL : SRC(w, x, 1, uint32_t);
	const struct texture *t = NULL;
	uint32_t *d = DST(w, x, uint32_t);
	uint64_t handle = 0;

	FOR_ACTIVE(w, i)
	{
		if (!tex_lookup(w, handles[i], &handle, &t))
			return;
		d[i] = tex_query(t, x->in->m.query, lod ? lod[i] : 0);
	}
}

/* Other queries ask for values that struct texture does not have, or whose encoding is not documented. */
static bool query_supported(unsigned query)
{
	return query == PTX_Q_WIDTH || query == PTX_Q_HEIGHT || query == PTX_Q_DEPTH || query == PTX_Q_ARRAY_SIZE ||
	       query == PTX_Q_NUM_MIPMAP_LEVELS || query == PTX_Q_NORMALIZED_COORDS || query == PTX_Q_NUM_SAMPLES;
}

exec_fn tex_choose(const struct ptx_inst *in)
{
	struct tex_geometry g = tex_geometry(in->m.geom);

	switch (in->op) {
	case PTX_OP_tex:
		/* Offsets and depth comparison come after the coordinates and their level. */
		if (in->nops > TEX_OP_COORDS + 1 + (in->m.lod == PTX_LOD_GRAD ? 2 : in->m.lod == PTX_LOD_LEVEL))
			return NULL;
		return g.dims ? x_tex : NULL;
	case PTX_OP_tld4:
		return in->nops <= TEX_OP_COORDS + 1 && (g.dims == 2 || g.cube) ? x_tex : NULL;
	case PTX_OP_txq:
	case PTX_OP_suq:
		return query_supported(in->m.query) ? x_txq : NULL;
	default:
		return NULL;
	}
}
