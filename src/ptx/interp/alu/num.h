/*
 * num.h - exact numbers in software, for any binary float format and any rounding mode.
 *
 *	bits --num_unpack--> struct num --num_pack--> bits of another format
 *	integer --num_int-->     |     --num_to_int--> integer, saturated
 *
 * A struct num is sign * sig * 2^exp with the top bit of sig set; the lowest bit may be
 * sticky.  That is enough to round once, correctly, to every format of PTX.  Slow and
 * simple: the ALU has vector code for common conversions and uses this for all others.
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

/* The special values of a format. */
enum num_top { NUM_IEEE, NUM_NO_INF /* e4m3: only all ones is a NaN */, NUM_FINITE_ONLY /* e2m1, e2m3, e3m2 */ };

struct num_format {
	uint8_t ebits, mbits;
	uint8_t top;
	int bias;
	uint8_t shift;          /* position of the lowest bit of the value in its word (tf32: 13) */
	uint64_t canonical_nan; /* the NaN that arithmetic gives */
};

extern const struct num_format num_f16, num_bf16, num_f32, num_f64, num_tf32, num_e4m3, num_e5m2, num_e2m1, num_e2m3,
	num_e3m2;
/* The format of a type, of a packed type that of its element. NULL: no float with sign, exponent and fraction. */
const struct num_format *num_format_of(unsigned type);

enum { NUM_FTZ = 1, NUM_SATFINITE = 2 };

struct num num_unpack(uint64_t bits, const struct num_format *f);
struct num num_int(int64_t v);
struct num num_uint(uint64_t v);
/* rnd: PTX_RN, RZ, RM, RP or RNA; flags: NUM_FTZ flushes the result, NUM_SATFINITE clamps it */
uint64_t num_pack(struct num v, const struct num_format *f, unsigned rnd, unsigned flags);
/* Rounds to an integer of `bits` bits and saturates. rnd: PTX_RNI, RZI, RMI or RPI. A NaN gives 0. */
int64_t num_to_sint(struct num v, unsigned rnd, unsigned bits);
uint64_t num_to_uint(struct num v, unsigned rnd, unsigned bits);
/* Rounds to an integral value in the same format. */
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
