/*
 * half.h - conversion of f16 and bf16 bits to f32 and back, in code that vectorises.
 *
 * Sums and products of f16 are computed in f32 and rounded to f16: f32 has enough bits
 * that rounding twice is harmless.  Where it has not (fused multiply-add, and bf16, which
 * has the exponent range of f32), the first step is computed in f64 and rounded to odd:
 * truncated, with the last bit set if the result is inexact, so that the final rounding
 * sees the correct side of a tie.
 */
#pragma once

#include "ptx/interp/alu/num.h"

#define NAN_HALF 0x7fff

static inline float f16_to_f32(uint32_t h)
{
	uint32_t sign = (h & 0x8000) << 16, m = h & 0x7fff;
	uint32_t normal = (m << 13) + (112u << 23);
	uint32_t small = f32_bits((float)(int32_t)m * 0x1p-24f);
	uint32_t big = (m << 13) + (224u << 23);

	return bits_f32(sign | (m < 0x400 ? small : m < 0x7c00 ? normal : big));
}

/* To nearest even; a NaN becomes 0x7fff. */
static inline uint16_t f32_to_f16(float f)
{
	uint32_t u = f32_bits(f), a = u & 0x7fffffff, sign = u >> 16 & 0x8000;
	uint32_t normal = (a - (112u << 23) + 0xfff + (a >> 13 & 1)) >> 13;
	uint32_t small = f32_bits(bits_f32(a) + 0.5f) - 0x3f000000; /* near 0.5 the last bit of f32 is 2^-24 */
	uint32_t r = a < 0x38800000 ? small : a < 0x47800000 ? normal : 0x7c00;

	return (uint16_t)(a > 0x7f800000 ? NAN_HALF : r | sign);
}

static inline float bf16_to_f32(uint32_t h)
{
	return bits_f32(h << 16);
}

static inline uint16_t f32_to_bf16(float f)
{
	uint32_t u = f32_bits(f);

	return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? NAN_HALF : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* a + b, rounded to odd. */
static inline double sum_to_odd(double a, double b)
{
	double s = a + b, bb = s - a, err = (a - (s - bb)) + (b - bb);
	uint64_t u = f64_bits(s);
	bool inexact = err != 0 && err == err && s - s == 0;
	bool beyond = (err < 0) != (s < 0);

	u = inexact ? (u - beyond) | 1 : u;
	return bits_f64(u);
}

static inline float f64_to_odd(double d)
{
	float f = (float)d;
	double back = f, mag = d < 0 ? -d : d, bmag = back < 0 ? -back : back;
	uint32_t u = f32_bits(f);

	u = bmag > mag ? u - 1 : u;
	u = back == d || d != d ? u : u | 1;
	return bits_f32(u);
}

/* a * b + c of f16 or bf16 values, for a final rounding to that type. */
static inline float half_fma(float a, float b, float c)
{
	return f64_to_odd(sum_to_odd((double)a * b, c));
}

/* a * b of bf16 values, likewise: in f32 the product may be subnormal. */
static inline float half_mul(float a, float b)
{
	return f64_to_odd((double)a * b);
}
