/*
 * texture.h - the description of a texture, surface or sampler, and the functions that read one.
 *
 * struct texture describes texels in the host's memory.  The driver fills it in when it
 * creates a handle and returns it from interp_host.texture; it must not change while a
 * launch uses it.
 *
 *	level 0   level 1		a level: `depth` slices (a 3D image), or `layers`
 *	+------+  +---+			slices (an array; six a cube), each `slice` bytes
 *	|######|  |###|			apart, of `height` rows, each `pitch` bytes apart
 *	|######|  +---+
 *	+------+
 *
 * Enumerators have CUDA's numbers, so that a driver can copy fields.  The description is
 * trusted; coordinates come from kernels and may have any value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tex_format { /* CUarray_format */
	TEX_U8 = 1,
	TEX_U16 = 2,
	TEX_U32 = 3,
	TEX_S8 = 8,
	TEX_S16 = 9,
	TEX_S32 = 10,
	TEX_F16 = 16,
	TEX_F32 = 32
};
enum tex_address { TEX_WRAP, TEX_CLAMP, TEX_MIRROR, TEX_BORDER }; /* CUaddress_mode */
enum tex_filter { TEX_POINT, TEX_LINEAR };                        /* CUfilter_mode */

#define TEX_MAX_LEVELS 16

struct tex_level {
	uint8_t *base;
	uint32_t width, height, depth; /* in texels; 0: no such dimension */
	size_t pitch, slice;           /* bytes */
};

struct texture {
	struct tex_level level[TEX_MAX_LEVELS];
	uint32_t levels;  /* at least 1 */
	uint32_t layers;  /* slices of an array, six for each cube; 0: not layered */
	uint8_t format;   /* enum tex_format, of a channel */
	uint8_t channels; /* 1, 2 or 4 */
	bool cube;

	/* Sampling; surfaces ignore these. */
	uint8_t filter, mip_filter; /* enum tex_filter */
	uint8_t address[3];         /* enum tex_address for x, y, z */
	bool normalized;            /* coordinates are 0..1, not 0..width */
	bool read_float;            /* integers of 8 and 16 bits are converted to 0..1 or -1..1 */
	bool srgb;                  /* with 8 bits and read_float: colours are gamma-encoded */
	bool seamless;              /* cube: filter across edges */
	float border[4];
	float mip_bias, min_lod, max_lod;
};

/* A texel, or an interpolation of several: the bits of f32 if tex_is_float, else integers. */
struct texel {
	uint32_t c[4];
};

unsigned tex_texel_size(const struct texture *t); /* bytes */
bool tex_is_float(const struct texture *t);       /* reading gives floats, not integers */
/*
 * True if reading interpolates between texels.  CUDA documents this for floats only, but also does it for integers of 8
 * and 16 bits: NVIDIA's kernel in ffmpeg's scale_cuda relies on it.
 */
bool tex_is_linear(const struct texture *t);

/* The texel at (x, y, slice) of a level, which must lie inside. */
struct texel tex_read(const struct texture *t, const struct tex_level *l, uint32_t x, uint32_t y, uint32_t slice);

/* Read at coordinates as the instruction has them. dims: 1, 2 or 3; layer: 0 unless an array. */
struct texel tex_sample(const struct texture *t, unsigned dims, uint32_t layer, const float *xyz, float lod);
struct texel tex_fetch(const struct texture *t, unsigned dims, uint32_t layer, const int32_t *xyz, int32_t lod);
struct texel tex_sample_cube(const struct texture *t, uint32_t layer, const float *xyz, float lod);
/* Component comp (0..3) of the four texels that a linear filter would use: from lower left, anticlockwise. */
struct texel tex_gather(const struct texture *t, uint32_t layer, const float *xy, unsigned comp);
struct texel tex_gather_cube(const struct texture *t, uint32_t layer, const float *xyz, unsigned comp);
/* The level of detail for the derivatives of the coordinates with respect to screen x and y. */
float tex_lod(const struct texture *t, unsigned dims, const float *dx, const float *dy);

/* The address of n bytes of a surface, x in bytes; NULL: outside. */
uint8_t *surf_at(const struct texture *t, int64_t x, int64_t y, int64_t z, uint32_t layer, unsigned n);
