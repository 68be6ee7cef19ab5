/* Reads a texel: converts its format to f32 or 32-bit integers. */
#include "ptx/interp/alu/half.h"
#include "ptx/interp/texture/texture.h"
#include <math.h>

static unsigned channel_size(unsigned format)
{
	switch (format) {
	case TEX_U8:
	case TEX_S8:
		return 1;
	case TEX_U16:
	case TEX_S16:
	case TEX_F16:
		return 2;
	default:
		return 4;
	}
}

unsigned tex_texel_size(const struct texture *t)
{
	return channel_size(t->format) * t->channels;
}

bool tex_is_float(const struct texture *t)
{
	switch (t->format) {
	case TEX_F16:
	case TEX_F32:
		return true;
	case TEX_U32:
	case TEX_S32:
		return false;
	default:
		return t->read_float;
	}
}

bool tex_is_linear(const struct texture *t)
{
	return t->filter == TEX_LINEAR && t->format != TEX_U32 && t->format != TEX_S32;
}

/* The hardware uses a table with about eight significant bits; its exact values are not known. */
static float srgb_to_linear(float v)
{
	float linear = v <= 0.04045f ? v / 12.92f : powf((v + 0.055f) / 1.055f, 2.4f);

	return bits_f32((f32_bits(linear) + 0x8000) & 0xffff0000);
}

/* A signed normalised value; the two lowest integers both give -1. */
static float snorm_to_float(int v, int top)
{
	return v < -top ? -1.0f : (float)v / (float)top;
}

static uint32_t read_channel(const struct texture *t, const uint8_t *p, unsigned n)
{
	uint16_t h;
	uint32_t u;
	float f;

	switch (t->format) {
	case TEX_U8:
		f = (float)p[n] / 255.0f;
		return !t->read_float ? p[n] : f32_bits(t->srgb && n < 3 ? srgb_to_linear(f) : f);
	case TEX_S8:
		return t->read_float ? f32_bits(snorm_to_float((int8_t)p[n], 127)) : (uint32_t)(int8_t)p[n];
	case TEX_U16:
		memcpy(&h, p + 2 * n, 2);
		return t->read_float ? f32_bits((float)h / 65535.0f) : h;
	case TEX_S16:
		memcpy(&h, p + 2 * n, 2);
		return t->read_float ? f32_bits(snorm_to_float((int16_t)h, 32767)) : (uint32_t)(int16_t)h;
	case TEX_F16:
		memcpy(&h, p + 2 * n, 2);
		return f32_bits(f16_to_f32(h));
	default:
		memcpy(&u, p + 4 * n, 4);
		return u;
	}
}

struct texel tex_read(const struct texture *t, const struct tex_level *l, uint32_t x, uint32_t y, uint32_t slice)
{
	const uint8_t *p = l->base + slice * l->slice + y * l->pitch + (size_t)x * tex_texel_size(t);
	struct texel r = {{0, 0, 0, 0}};

	for (unsigned n = 0; n < t->channels && n < 4; n++)
		r.c[n] = read_channel(t, p, n);
	return r;
}

uint8_t *surf_at(const struct texture *t, int64_t x, int64_t y, int64_t z, uint32_t layer, unsigned n)
{
	const struct tex_level *l = &t->level[0];
	int64_t row = (int64_t)l->width * tex_texel_size(t);
	int64_t height = l->height ? l->height : 1, depth = l->depth ? l->depth : 1;

	if (x < 0 || x + n > row || y < 0 || y >= height || z < 0 || z >= depth)
		return NULL;
	if (layer >= (t->layers ? t->layers : 1))
		return NULL;
	return l->base + (t->layers ? layer : (uint64_t)z) * l->slice + (uint64_t)y * l->pitch + (uint64_t)x;
}
