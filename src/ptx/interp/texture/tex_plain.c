/*
 * Samples common textures for a whole warp at once: 1D and 2D images of one level, read at float coordinates that
 * clamp (or wrap, if normalised), with a point or linear filter.  The results are bit-identical to those of
 * tex_sample.c, which handles all other cases.
 */
#include "ptx/interp/texture/tex_exec.h"

#include <math.h>

#include "ptx/interp/alu/num.h"

/* One axis: the two texels of each lane, and the weight of the second in 256ths. */
struct plain_axis {
	int32_t first[LANES], second[LANES];
	uint32_t weight[LANES];
};

/* With unnormalised coordinates, all modes but BORDER clamp. */
static bool axis_is_plain(const struct texture *t, unsigned axis)
{
	unsigned mode = t->address[axis];

	return mode == TEX_CLAMP || (t->normalized ? mode == TEX_WRAP : mode != TEX_BORDER);
}

static bool is_plain(const struct ptx_inst *in, const struct texture *t, struct tex_geometry g)
{
	if (in->op != PTX_OP_tex || in->m.type[1] != PTX_F32 || in->m.type[0] == PTX_F16X2)
		return false;
	if (g.dims > 2 || g.layered || g.cube || t->layers || t->levels != 1)
		return false;
	if (tex_is_linear(t) && (t->format != TEX_F32 || (g.dims == 1 && t->address[1] == TEX_BORDER)))
		return false;
	return axis_is_plain(t, 0) && (g.dims == 1 || axis_is_plain(t, 1));
}

static const float *coordinate_lanes(const struct warp *w, const struct xinst *x, unsigned e)
{
	const struct ptx_operand *o = &x->in->ops[TEX_OP_COORDS];

	if (o->kind != PTX_O_VEC)
		return e ? NULL : SRC(w, x, TEX_SRC_COORDS, float);
	return e < o->n ? SRCV(w, x, TEX_SRC_COORDS, e, float) : NULL;
}

/* Moves a position far outside the image to just outside. The fraction stays, because it determines the weights. */
static double just_outside(double p, double n)
{
	if (p != p)
		return 0;
	p = p < -0x1p40 ? -0x1p40 : p > 0x1p40 ? 0x1p40 : p;
	return p - floor(p) + (p < 0 ? -3 : n + 2);
}

static inline double near_image(double p, double n)
{
	return p > -3 && p < n + 2 ? p : just_outside(p, n);
}

static inline int32_t index_clamped(int32_t i, int32_t n)
{
	return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static inline int32_t index_wrapped(int32_t i, int32_t n)
{
	return i < 0 ? i + n : i >= n ? i - n : i; /* the coordinate has been wrapped: i is off by one at most */
}

/* p, in texels, is near the image: p + 3 is positive, so that truncation equals floor. */
static void find_texels(const double *p, int32_t n, bool linear, bool wrap, struct plain_axis *a)
{
	for (int i = 0; i < LANES; i++) {
		int32_t fixed =
			linear ? (int32_t)((p[i] + 3) * 256 + 0.5) - 3 * 256 - 128 : ((int32_t)(p[i] + 3) - 3) * 256;
		int32_t at = fixed >> 8;

		a->weight[i] = (uint32_t)fixed & 255;
		a->first[i] = wrap ? index_wrapped(at, n) : index_clamped(at, n);
		a->second[i] = wrap ? index_wrapped(at + 1, n) : index_clamped(at + 1, n);
	}
}

static void place_axis(const struct texture *t, unsigned axis, const float *c, uint32_t n, struct plain_axis *a)
{
	bool wrap = t->normalized && t->address[axis] == TEX_WRAP;
	double p[LANES];

	for (int i = 0; i < LANES; i++) {
		double v = c[i];

		if (wrap)
			v -= floor(v);
		p[i] = near_image(t->normalized ? v * n : v, n);
	}
	find_texels(p, (int32_t)n, tex_is_linear(t), wrap && n > 1, a);
}

/* Interpolates all channels of four texels, with the weights of corner_weights (tex_sample.c) for two dimensions. */
static void mix_four_texels(
	const struct texture *t, const struct plain_axis *x, const struct plain_axis *y, unsigned i, struct texel *r)
{
	const struct tex_level *l = &t->level[0];
	const unsigned wx = x->weight[i], wy = y->weight[i], left = 256 - wx;
	const unsigned w3 = (wx * wy + 128) >> 8, w2 = (left * wy + 127) >> 8, w[4] = {left - w2, wx - w3, w2, w3};
	const uint8_t *row[2] = {l->base + (size_t)y->first[i] * l->pitch, l->base + (size_t)y->second[i] * l->pitch};
	const size_t size = 4 * t->channels;
	double sum[4] = {0, 0, 0, 0};

	for (unsigned k = 0; k < 4; k++) {
		const uint8_t *p = row[k >> 1] + (size_t)(k & 1 ? x->second[i] : x->first[i]) * size;

		for (unsigned c = 0; w[k] && c < t->channels; c++) {
			float f;

			memcpy(&f, p + 4 * c, 4);
			sum[c] += w[k] / 256.0 * (double)f;
		}
	}
	for (unsigned c = 0; c < 4; c++)
		r->c[c] = f32_bits((float)sum[c]);
}

static void read_lanes(struct warp *w, const struct texture *t, const struct plain_axis *x, const struct plain_axis *y,
	struct texel *r)
{
	const struct tex_level *l = &t->level[0];
	const bool linear = tex_is_linear(t), words = !linear && tex_texel_size(t) == 4 && t->channels == 1;

	for (unsigned i = 0; words && i < LANES; i++) { /* inactive lanes, too: their texel is inside the image */
		r[i] = (struct texel){{0, 0, 0, 0}};
		memcpy(r[i].c, l->base + (size_t)y->first[i] * l->pitch + 4 * (size_t)x->first[i], 4);
	}
	if (words)
		return;
	FOR_ACTIVE(w, i)
	{
		if (linear)
			mix_four_texels(t, x, y, i, &r[i]);
		else
			r[i] = tex_read(t, l, (uint32_t)x->first[i], (uint32_t)y->first[i], 0);
	}
}

bool tex_plain(struct warp *w, const struct xinst *x, const struct texture *t, struct tex_geometry g, struct texel *r)
{
	const float *cx = coordinate_lanes(w, x, 0), *cy = g.dims == 2 ? coordinate_lanes(w, x, 1) : NULL;
	const struct tex_level *l = &t->level[0];
	struct plain_axis ax, ay;

	if (!is_plain(x->in, t, g) || !cx || (g.dims == 2 && !cy))
		return false;
	place_axis(t, 0, cx, l->width, &ax);
	if (cy)
		place_axis(t, 1, cy, l->height ? l->height : 1, &ay);
	else
		memset(&ay, 0, sizeof(ay));
	read_lanes(w, t, &ax, &ay, r);
	return true;
}
