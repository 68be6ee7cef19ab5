/*
 * num.h - exact numbers in software: any binary float format, any rounding.
 *
 *	bits --num_unpack--> struct num --num_pack--> bits of another format
 *	integer --num_int-->     |     --num_to_int--> integer, saturated
 *
 * A struct num is sign * sig * 2^exp with the top bit of sig set; the lowest
 * bit may stand for "and something more" (sticky).  That is enough to round
 * once, correctly, to every format PTX has.  Slow and simple: the ALU has
 * vector code for the common conversions and comes here for the rest.
 */
#pragma once

#include "ptx/ptx.h"
#include <string.h>

enum num_class { NUM_ZERO, NUM_FINITE, NUM_INF, NUM_NAN };

struct num {
	bool sign;
	uint8_t cls;
	int exp;
	uint64_t sig;
};

/* Where a format keeps its largest values. */
enum num_top { NUM_IEEE, NUM_NO_INF /* e4m3: all ones is the NaN */, NUM_FINITE_ONLY /* e2m1 and kin */ };

struct num_format {
	uint8_t ebits, mbits;
	uint8_t top;
	int bias;
	uint8_t shift;          /* the value lies this far up in its word (tf32: 13) */
	uint64_t canonical_nan; /* what arithmetic answers for a NaN */
};

extern const struct num_format num_f16, num_bf16, num_f32, num_f64, num_tf32, num_e4m3, num_e5m2, num_e2m1, num_e2m3,
	num_e3m2;
/* NULL: not a float format with sign, exponent and fraction. A packed type answers for its element. */
const struct num_format *num_format_of(unsigned type);

enum { NUM_FTZ = 1, NUM_SATFINITE = 2 };

struct num num_unpack(uint64_t bits, const struct num_format *f);
struct num num_int(int64_t v);
struct num num_uint(uint64_t v);
/* rnd: PTX_RN, RZ, RM, RP or RNA; flags: NUM_FTZ flushes the result, NUM_SATFINITE clamps it */
uint64_t num_pack(struct num v, const struct num_format *f, unsigned rnd, unsigned flags);
/* Rounds to an integer of that many bits and saturates. rnd: PTX_RNI, RZI, RMI, RPI. NaN gives 0. */
int64_t num_to_sint(struct num v, unsigned rnd, unsigned bits);
uint64_t num_to_uint(struct num v, unsigned rnd, unsigned bits);
/* To an integral value in the same format. */
uint64_t num_round_integral(uint64_t bits, const struct num_format *f, unsigned rnd);

static inline uint32_t f32_bits(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof u);
	return u;
}

static inline float bits_f32(uint32_t u)
{
	float x;

	memcpy(&x, &u, sizeof x);
	return x;
}

static inline uint64_t f64_bits(double x)
{
	uint64_t u;

	memcpy(&u, &x, sizeof u);
	return u;
}

static inline double bits_f64(uint64_t u)
{
	double x;

	memcpy(&x, &u, sizeof x);
	return x;
}

/* The value in double, exact for every format up to f64. */
static inline double num_value(uint64_t bits, const struct num_format *f)
{
	return bits_f64(num_pack(num_unpack(bits, f), &num_f64, PTX_RN, 0));
}
