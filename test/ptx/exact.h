/*
 * exact.h - the expected results of PTX arithmetic, computed with 113-bit numbers that are
 * long enough to be exact.  For make-tests; shares no code with the interpreter.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef __float128 quad;

struct format {
	int ebits, mbits;
	uint64_t nan; /* the NaN that arithmetic gives; 0: any */
};
extern const struct format F16, BF16, F32, F64, TF32;

enum mode { RN, RZ, RM, RP, RNA };

/* A value, and if it is not exact, on which side of it the true value lies. */
struct exact {
	quad v;
	int rest; /* -1, 0, 1 */
	bool nan, negative_zero;
};

struct exact exact_of(const struct format *f, uint64_t bits);
struct exact exact_int(bool negative, uint64_t magnitude);
bool exact_is_inf(struct exact a);
struct exact exact_add(struct exact a, struct exact b, enum mode m);
struct exact exact_neg(struct exact a);
struct exact exact_mul(struct exact a, struct exact b);
struct exact exact_div(struct exact a, struct exact b);
struct exact exact_sqrt(struct exact a);
uint64_t exact_round(const struct format *f, struct exact a, enum mode m);
/* Rounds to an integral value. */
struct exact exact_integral(struct exact a, enum mode m);
uint64_t flush(const struct format *f, uint64_t bits);
bool bits_nan(const struct format *f, uint64_t bits);
