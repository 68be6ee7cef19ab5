/*
 * Samples a texture at a point: addressing, filtering and levels.
 *
 * On each axis a coordinate becomes two texel numbers and a weight in 256ths, as in the
 * hardware; a point filter uses only the first number.
 */
#include "ptx/interp/alu/half.h"
#include "ptx/interp/texture/texture.h"
#include <math.h>

#define OUTSIDE UINT32_MAX /* instead of a texel number: the border colour */

struct tex_axis {
	uint32_t i[2];
	unsigned weight; /* weight of i[1], in 256ths */
};

static uint32_t axis_address(int64_t i, uint32_t n, unsigned mode)
{
	int64_t m;

	switch (mode) {
	case TEX_WRAP:
		m = i % n;
		return (uint32_t)(m < 0 ? m + n : m);
	case TEX_MIRROR:
		m = i % (2 * (int64_t)n);
		m = m < 0 ? m + 2 * (int64_t)n : m;
		return (uint32_t)(m < n ? m : 2 * (int64_t)n - 1 - m);
	case TEX_BORDER:
		return i < 0 || i >= n ? OUTSIDE : (uint32_t)i;
	default:
		return i < 0 ? 0 : i >= n ? n - 1 : (uint32_t)i;
	}
}

/* Limits a coordinate, far outside every image, so that conversion to an integer is defined. */
static double limit_coordinate(double x)
{
	if (x != x)
		return 0;
	return x < -0x1p40 ? -0x1p40 : x > 0x1p40 ? 0x1p40 : x;
}

/* floor(x) of a limited coordinate: without SSE4.1, floor() would be a slow library call. */
static inline int64_t floor_to_int(double x)
{
	int64_t i = (int64_t)x;

	return i - ((double)i > x);
}

/* Wrap and mirror modes require normalised coordinates; without, they clamp. */
static unsigned address_mode(const struct texture *t, unsigned axis)
{
	unsigned mode = t->address[axis];

	return !t->normalized && (mode == TEX_WRAP || mode == TEX_MIRROR) ? TEX_CLAMP : mode;
}

/* The position on an axis in texels of a level with n texels. */
static double axis_position(const struct texture *t, unsigned axis, float x, uint32_t n)
{
	double p = x;

	if (!t->normalized)
		return limit_coordinate(p);
	if (address_mode(t, axis) == TEX_WRAP)
		p -= floor(p);
	return limit_coordinate(p * n);
}

static struct tex_axis axis_place(double p, uint32_t n, unsigned mode, bool linear)
{
	struct tex_axis a = {{0, 0}, 0};
	int64_t fixed;

	if (!linear) {
		a.i[0] = a.i[1] = axis_address(floor_to_int(p), n, mode);
		return a;
	}
	fixed = floor_to_int(p * 256 + 0.5) - 128;
	a.weight = (unsigned)(fixed & 255);
	a.i[0] = axis_address(fixed >> 8, n, mode);
	a.i[1] = axis_address((fixed >> 8) + 1, n, mode);
	return a;
}

static struct texel border_texel(const struct texture *t)
{
	struct texel r;

	for (int n = 0; n < 4; n++) {
		/* Only float textures have a border colour. */
		r.c[n] = n < t->channels && tex_is_float(t) ? f32_bits(t->border[n]) : 0;
	}
	return r;
}

static struct texel texel_or_border(
	const struct texture *t, const struct tex_level *l, uint32_t x, uint32_t y, uint32_t z)
{
	if (x == OUTSIDE || y == OUTSIDE || z == OUTSIDE)
		return border_texel(t);
	return tex_read(t, l, x, y, z);
}

/* The part of a weight that goes to the second of two neighbours; ties round up or down. */
static unsigned weight_part(unsigned weight, unsigned of, bool down)
{
	return (weight * of + (down ? 127 : 128)) >> 8;
}

/*
 * Weights of the eight corners in 256ths, as in the hardware: the total is split by z, each
 * part by x, and each of those by y, with rounding at each step.
 */
static void corner_weights(const struct tex_axis a[3], unsigned total, unsigned w[8])
{
	unsigned x = a[0].weight, y = a[1].weight, back = weight_part(total, a[2].weight, false);

	for (unsigned half = 0; half < 2; half++) {
		unsigned s = half ? back : total - back, right = weight_part(s, x, false), left = s - right;

		w[4 * half + 3] = weight_part(right, y, false);
		w[4 * half + 1] = right - w[4 * half + 3];
		w[4 * half + 2] = weight_part(left, y, true);
		w[4 * half] = left - w[4 * half + 2];
	}
}

static double channel_value(const struct texture *t, uint32_t c)
{
	return tex_is_float(t) ? (double)bits_f32(c) : (double)(int32_t)c;
}

/* f16 textures give f16 values; ties round away from zero. */
static float to_half(float v)
{
	uint32_t u = f32_bits(v);

	return (u & 0x7fffffff) < 0x38800000 ? f16_to_f32(f32_to_f16(v)) : bits_f32((u + 0x1000) & 0xffffe000);
}

/* Converts a weighted sum to the result of the texture; integers are rounded. */
static uint32_t channel_result(const struct texture *t, double sum)
{
	if (!tex_is_float(t))
		return (uint32_t)(int32_t)floor_to_int(sum + 0.5);
	return f32_bits(t->format == TEX_F16 ? to_half((float)sum) : (float)sum);
}

/* Adds the weighted corners to sum; corners of weight 0 are not read. */
static void mix_corners(
	const struct texture *t, const struct tex_level *l, const struct tex_axis a[3], unsigned total, double sum[4])
{
	unsigned weights[8];

	corner_weights(a, total, weights);
	for (unsigned corner = 0; corner < 8; corner++) {
		struct texel v;

		if (!weights[corner])
			continue;
		v = texel_or_border(t, l, a[0].i[corner & 1], a[1].i[corner >> 1 & 1], a[2].i[corner >> 2]);
		for (unsigned n = 0; n < 4; n++)
			sum[n] += weights[corner] / 256.0 * channel_value(t, v.c[n]);
	}
}

static uint32_t slice_of(const struct texture *t, uint32_t layer)
{
	if (!t->layers)
		return 0;
	return (int32_t)layer < 0 ? 0 : layer >= t->layers ? t->layers - 1 : layer;
}

/* Finds the two texels and the weight on each axis. */
static void place_axes(const struct texture *t, const struct tex_level *l, unsigned dims, uint32_t layer,
	const float *xyz, struct tex_axis a[3])
{
	const uint32_t size[3] = {l->width, l->height ? l->height : 1, l->depth ? l->depth : 1};

	memset(a, 0, 3 * sizeof *a);
	for (unsigned k = 0; k < dims; k++)
		a[k] = axis_place(axis_position(t, k, xyz[k], size[k]), size[k], address_mode(t, k), tex_is_linear(t));
	/* A 1D image is one row of a 2D image, read at its edge: with a border, half of the weight is outside. */
	if (tex_is_linear(t) && dims == 1 && !t->layers && t->address[1] == TEX_BORDER)
		a[1] = (struct tex_axis){{OUTSIDE, 0}, 128};
	if (t->layers)
		a[2] = (struct tex_axis){{slice_of(t, layer), 0}, 0};
}

static struct texel point_level(
	const struct texture *t, unsigned level, unsigned dims, uint32_t layer, const float *xyz)
{
	const struct tex_level *l = &t->level[level];
	struct tex_axis a[3];

	place_axes(t, l, dims, layer, xyz, a);
	return texel_or_border(t, l, a[0].i[0], a[1].i[0], a[2].i[0]);
}

/* A sample at the centre of a texel: no interpolation. */
static struct texel one_texel(const struct texture *t, const struct tex_level *l, const struct tex_axis a[3])
{
	struct texel r = texel_or_border(t, l, a[0].i[0], a[1].i[0], a[2].i[0]);

	for (unsigned n = 0; n < 4; n++)
		r.c[n] = f32_bits(bits_f32(r.c[n]) + 0.0f); /* a sum is never -0 */
	return r;
}

/* Interpolates within a level and, with weight `next` in 256ths, the next one. */
static struct texel linear_levels(
	const struct texture *t, unsigned level, unsigned next, unsigned dims, uint32_t layer, const float *xyz)
{
	double sum[4] = {0, 0, 0, 0};
	struct tex_axis a[3];
	struct texel r;

	place_axes(t, &t->level[level], dims, layer, xyz, a);
	if (!(next | a[0].weight | a[1].weight | a[2].weight) && t->format == TEX_F32)
		return one_texel(t, &t->level[level], a);
	mix_corners(t, &t->level[level], a, 256 - next, sum);
	if (next) {
		place_axes(t, &t->level[level + 1], dims, layer, xyz, a);
		mix_corners(t, &t->level[level + 1], a, next, sum);
	}
	for (unsigned n = 0; n < 4; n++)
		r.c[n] = channel_result(t, sum[n]);
	return r;
}

static struct texel blend_levels(struct texel a, struct texel b, unsigned next)
{
	float f = (float)next / 256;
	struct texel r;

	for (unsigned n = 0; n < 4; n++)
		r.c[n] = f32_bits(bits_f32(a.c[n]) * (1 - f) + bits_f32(b.c[n]) * f);
	return r;
}

/* Clamps the level of detail and splits it into a level and the weight of the next one, in 256ths. */
static unsigned choose_level(const struct texture *t, float lod, unsigned *next)
{
	float top = (float)(t->levels - 1), x = lod + t->mip_bias;

	*next = 0;
	if (x != x)
		x = 0;
	x = x < t->min_lod ? t->min_lod : x > t->max_lod ? t->max_lod : x;
	x = x < 0 ? 0 : x > top ? top : x;
	if (t->mip_filter != TEX_LINEAR)
		return (unsigned)floorf(x + 0.5f);
	*next = (unsigned)(x * 256) & 255;
	return (unsigned)x;
}

struct texel tex_sample(const struct texture *t, unsigned dims, uint32_t layer, const float *xyz, float lod)
{
	unsigned next = 0, level = t->levels > 1 ? choose_level(t, lod, &next) : 0;
	struct texel r;

	if (tex_is_linear(t))
		return linear_levels(t, level, next, dims, layer, xyz);
	r = point_level(t, level, dims, layer, xyz);
	if (next && tex_is_float(t))
		r = blend_levels(r, point_level(t, level + 1, dims, layer, xyz), next);
	return r;
}

struct texel tex_fetch(const struct texture *t, unsigned dims, uint32_t layer, const int32_t *xyz, int32_t lod)
{
	unsigned level = lod < 0 ? 0 : (uint32_t)lod >= t->levels ? t->levels - 1 : (unsigned)lod;
	const struct tex_level *l = &t->level[level];
	const uint32_t size[3] = {l->width, l->height ? l->height : 1, l->depth ? l->depth : 1};
	uint32_t i[3] = {0, 0, 0};

	if (t->layers && layer >= t->layers)
		return (struct texel){{0, 0, 0, 0}};
	for (unsigned k = 0; k < dims; k++) {
		if (xyz[k] < 0 || (uint32_t)xyz[k] >= size[k])
			return (struct texel){{0, 0, 0, 0}};
		i[k] = (uint32_t)xyz[k];
	}
	return tex_read(t, l, i[0], i[1], t->layers ? slice_of(t, layer) : i[2]);
}

float tex_lod(const struct texture *t, unsigned dims, const float *dx, const float *dy)
{
	const struct tex_level *l = &t->level[0];
	const float size[3] = {(float)l->width, (float)l->height, (float)l->depth};
	float a = 0, b = 0;

	for (unsigned k = 0; k < dims; k++) {
		float scale = t->normalized ? size[k] : 1;

		a += dx[k] * scale * dx[k] * scale;
		b += dy[k] * scale * dy[k] * scale;
	}
	return 0.5f * log2f(a > b ? a : b);
}

/* ---- cubes ---- */

/* The face of a cube (+x -x +y -y +z -z) that a direction hits, and the coordinates on it (0..1). */
static unsigned cube_face(const float *v, float *st)
{
	float ax = fabsf(v[0]), ay = fabsf(v[1]), az = fabsf(v[2]), s, t, m;
	unsigned f;

	if (ax >= ay && ax >= az) {
		f = v[0] < 0;
		s = v[0] < 0 ? v[2] : -v[2];
		t = -v[1];
		m = ax;
	} else if (ay >= az) {
		f = 2 + (v[1] < 0);
		s = v[0];
		t = v[1] < 0 ? -v[2] : v[2];
		m = ay;
	} else {
		f = 4 + (v[2] < 0);
		s = v[2] < 0 ? -v[0] : v[0];
		t = -v[1];
		m = az;
	}
	st[0] = (s / m + 1) * 0.5f;
	st[1] = (t / m + 1) * 0.5f;
	return f;
}

/* The texture with its faces as 2D images that clamp at the edges; a face is a slice of the array. */
static struct texture as_faces(const struct texture *t)
{
	struct texture flat = *t;

	flat.normalized = true;
	flat.address[0] = flat.address[1] = TEX_CLAMP;
	return flat;
}

struct texel tex_sample_cube(const struct texture *t, uint32_t layer, const float *xyz, float lod)
{
	struct texture flat = as_faces(t);
	uint32_t cubes = t->layers / 6 ? t->layers / 6 : 1;
	float st[2];
	unsigned f = cube_face(xyz, st);

	layer = (int32_t)layer < 0 ? 0 : layer >= cubes ? cubes - 1 : layer;
	return tex_sample(&flat, 2, layer * 6 + f, st, lod);
}

/* ---- tld4 ---- */

static struct texel gather_texels(const struct texture *t, uint32_t slice, const float *xy, unsigned comp)
{
	static const uint8_t order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
	const struct tex_level *l = &t->level[0];
	const uint32_t height = l->height ? l->height : 1;
	struct tex_axis x = axis_place(axis_position(t, 0, xy[0], l->width), l->width, address_mode(t, 0), true);
	struct tex_axis y = axis_place(axis_position(t, 1, xy[1], height), height, address_mode(t, 1), true);
	struct texel r;

	for (unsigned n = 0; n < 4; n++)
		r.c[n] = texel_or_border(t, l, x.i[order[n][0]], y.i[order[n][1]], slice).c[comp];
	return r;
}

struct texel tex_gather(const struct texture *t, uint32_t layer, const float *xy, unsigned comp)
{
	return gather_texels(t, slice_of(t, layer), xy, comp);
}

struct texel tex_gather_cube(const struct texture *t, uint32_t layer, const float *xyz, unsigned comp)
{
	struct texture flat = as_faces(t);
	float st[2];
	unsigned f = cube_face(xyz, st);

	return gather_texels(&flat, slice_of(t, layer * 6 + f), st, comp);
}
