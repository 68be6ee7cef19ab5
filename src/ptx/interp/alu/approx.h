/*
 * approx.h - ex2, lg2 and tanh for one lane, in f64 and without branches.
 *
 * PTX requires about 22 correct bits; these have 28 or more before the final rounding.
 * Results may be more accurate than those of the hardware.
 */
#pragma once

#include "ptx/interp/alu/num.h"

/* The Taylor series of 2^r from degree 7 down; p is the sum of the higher terms. The coefficients are ln2^k / k!. */
static inline double exp2_series(double p, double r)
{
	p = p * r + 1.5252733804059841e-05;
	p = p * r + 1.5403530393381606e-04;
	p = p * r + 1.3333558146428443e-03;
	p = p * r + 9.6181291076284772e-03;
	p = p * r + 5.5504108664821580e-02;
	p = p * r + 2.4022650695910071e-01;
	p = p * r + 6.9314718055994531e-01;
	p = p * r + 1.0;
	return p;
}

/* 2^a = 2^n * 2^r with a = n + r, n an integer and |r| <= 1/2. */
static inline float approx_ex2(float a)
{
	double x = a < -200.0f ? -200.0 : a > 200.0f ? 200.0 : (double)a;
	double shifted = x + 0x1.8p52, r = x - (shifted - 0x1.8p52), p;
	uint64_t n = f64_bits(shifted) << 52; /* the integer, moved into the exponent */

	p = exp2_series(1.3215486790144309e-06, r);
	p = bits_f64(f64_bits(p) + n);
	return a != a ? bits_f32(0x7fffffff) : (float)p;
}

/*
 * log2 of a: a = 2^n * m with m in [sqrt(1/2), sqrt(2)); with s = (m - 1) / (m + 1),
 * ln m = 2 (s + s^3/3 + s^5/5 + ...).
 */
static inline float approx_lg2(float a)
{
	uint64_t u = f64_bits((double)a), top = u - 0x3fe6a09e667f3bcdull;
	int32_t n = (int32_t)((int64_t)top >> 52);
	double m = bits_f64(u - ((uint64_t)(int64_t)n << 52)), s = (m - 1) / (m + 1), q = s * s, p, r;

	p = 1.0 / 13;
	p = p * q + 1.0 / 11;
	p = p * q + 1.0 / 9;
	p = p * q + 1.0 / 7;
	p = p * q + 1.0 / 5;
	p = p * q + 1.0 / 3;
	p = p * q + 1.0;
	r = n + p * s * 2.8853900817779268; /* 2 / ln 2 */
	r = a == 0 ? -__builtin_inf() : a == __builtin_inff() ? __builtin_inf() : r;
	return a < 0 || a != a ? bits_f32(0x7fffffff) : (float)r;
}

/* tanh a = (t - 1) / (t + 1) with t = 2^(2a / ln2); near 0 its series, since the difference loses bits. */
static inline float approx_tanh(float a)
{
	double x = a > 10.0f ? 10.0 : a < -10.0f ? -10.0 : (double)a, q = x * x;
	double y = x * 2.8853900817779268, shifted = y + 0x1.8p52, r = y - (shifted - 0x1.8p52), p, series;
	uint64_t n = f64_bits(shifted) << 52;

	p = exp2_series(1.0178086009239699e-07 * r + 1.3215486790144309e-06, r);
	p = bits_f64(f64_bits(p) + n);
	p = (p - 1) / (p + 1);
	series = x * (1 - q * (1.0 / 3 - q * (2.0 / 15 - q * (17.0 / 315 - q * (62.0 / 2835)))));
	p = q < 0.01 ? series : p;
	return a != a ? bits_f32(0x7fffffff) : (float)p;
}
