#include "exact.h"
#include <math.h>

const struct format F16 = {5, 10, 0x7fff};
const struct format BF16 = {8, 7, 0x7fff};
const struct format F32 = {8, 23, 0x7fffffff};
const struct format F64 = {11, 52, 0};
const struct format TF32 = {8, 10, 0};

static const quad infinity = __builtin_infq();

static quad pow2(int e)
{
	quad r = 1, b = e < 0 ? (quad)0.5 : 2;

	for (int n = e < 0 ? -e : e; n; n >>= 1, b *= b)
		if (n & 1)
			r *= b;
	return r;
}

static quad absolute(quad v)
{
	return v < 0 ? -v : v;
}

static int bias(const struct format *f)
{
	return (1 << (f->ebits - 1)) - 1;
}

bool bits_nan(const struct format *f, uint64_t bits)
{
	uint64_t top = ((1ull << f->ebits) - 1) << f->mbits;

	return (bits & (top | ((1ull << f->mbits) - 1))) > top;
}

uint64_t flush(const struct format *f, uint64_t bits)
{
	uint64_t top = ((1ull << f->ebits) - 1) << f->mbits;

	return bits & top ? bits : bits & 1ull << (f->ebits + f->mbits);
}

struct exact exact_of(const struct format *f, uint64_t bits)
{
	int all = (1 << f->ebits) - 1, e = (int)(bits >> f->mbits) & all;
	uint64_t frac = bits & ((1ull << f->mbits) - 1);
	bool sign = bits >> (f->ebits + f->mbits) & 1;
	struct exact r = {0, 0, bits_nan(f, bits), false};

	if (r.nan)
		return r;
	if (e == all)
		r.v = infinity;
	else if (e == 0)
		r.v = (quad)frac * pow2(1 - bias(f) - f->mbits);
	else
		r.v = (quad)(frac | 1ull << f->mbits) * pow2(e - bias(f) - f->mbits);
	r.negative_zero = sign && r.v == 0;
	r.v = sign ? -r.v : r.v;
	return r;
}

struct exact exact_int(bool negative, uint64_t magnitude)
{
	return (struct exact){negative ? -(quad)magnitude : (quad)magnitude, 0, false, false};
}

bool exact_is_inf(struct exact a)
{
	return !a.nan && absolute(a.v) == infinity;
}

static bool negative(struct exact a)
{
	return a.v < 0 || a.negative_zero;
}

struct exact exact_neg(struct exact a)
{
	a.negative_zero = a.v == 0 && !a.negative_zero && !a.nan;
	a.v = -a.v;
	a.rest = -a.rest;
	return a;
}

struct exact exact_add(struct exact a, struct exact b, enum mode m)
{
	struct exact r = {a.v + b.v, 0, a.nan || b.nan, false};
	quad part = r.v - a.v, lost;

	if (exact_is_inf(a) && exact_is_inf(b) && a.v != b.v)
		r.nan = true;
	if (r.nan || absolute(r.v) == infinity)
		return r;
	lost = (a.v - (r.v - part)) + (b.v - part);
	r.rest = lost > 0 ? 1 : lost < 0 ? -1 : 0;
	/* x - x is +0, or -0 when rounding down; -0 + -0 is -0. */
	if (r.v == 0)
		r.negative_zero = negative(a) && negative(b) ? true : negative(a) != negative(b) && m == RM;
	return r;
}

struct exact exact_mul(struct exact a, struct exact b)
{
	struct exact r = {a.v * b.v, 0, a.nan || b.nan, false};

	if ((exact_is_inf(a) && b.v == 0) || (exact_is_inf(b) && a.v == 0))
		r.nan = true;
	r.negative_zero = !r.nan && r.v == 0 && negative(a) != negative(b);
	return r;
}

struct exact exact_div(struct exact a, struct exact b)
{
	struct exact r = {0, 0, a.nan || b.nan, false};
	bool sign = negative(a) != negative(b);

	if ((exact_is_inf(a) && exact_is_inf(b)) || (a.v == 0 && b.v == 0))
		r.nan = true;
	if (r.nan)
		return r;
	r.v = b.v == 0 ? (sign ? -infinity : infinity) : a.v / b.v;
	r.negative_zero = r.v == 0 && sign;
	return r;
}

/* Newton's method; an exact root, if there is one, has at most 64 bits. */
struct exact exact_sqrt(struct exact a)
{
	struct exact r = a;
	quad x, shortened;

	if (a.nan || a.v == 0 || a.v == infinity)
		return r;
	if (a.v < 0) {
		r.nan = true;
		return r;
	}
	x = (quad)sqrtl((long double)a.v);
	for (int i = 0; i < 4; i++)
		x = (x + a.v / x) / 2;
	shortened = (quad)(long double)x;
	r.v = shortened * shortened == a.v ? shortened : x;
	return r;
}

/* Rounds n + part, where 0 <= part < 1 and the true value lies slightly to the side of that (rest). */
static quad round_up(quad n, quad part, int rest, bool sign, enum mode m)
{
	bool any = part > 0 || rest != 0, odd = n / 2 != (quad)(uint64_t)(n / 2);
	int half = part > (quad)0.5 ? 1 : part < (quad)0.5 ? -1 : rest;

	switch (m) {
	case RZ:
		return n;
	case RM:
		return any && sign ? n + 1 : n;
	case RP:
		return any && !sign ? n + 1 : n;
	case RNA:
		return half >= 0 ? n + 1 : n;
	default:
		return half > 0 || (half == 0 && odd) ? n + 1 : n;
	}
}

uint64_t exact_round(const struct format *f, struct exact a, enum mode m)
{
	uint64_t sign = (uint64_t)negative(a) << (f->ebits + f->mbits), inf = ((1ull << f->ebits) - 1) << f->mbits, r;
	quad v = absolute(a.v), n, part;
	int e = 1 - bias(f), rest = a.v < 0 ? -a.rest : a.rest;

	if (a.nan)
		return f->nan ? f->nan : inf | 1ull << (f->mbits - 1);
	if (v == infinity)
		return sign | inf;
	if (v == 0)
		return sign;
	while (v >= pow2(e + 1))
		e++;
	if (v == pow2(e) && rest < 0 && e > 1 - bias(f)) /* the true value has a smaller exponent */
		e--;
	v /= pow2(e - f->mbits);
	n = (quad)(uint64_t)v;
	part = v - n;
	if (part == 0 && rest < 0) { /* from below */
		n -= 1;
		part = (quad)1 - pow2(-60);
		rest = 0;
	}
	r = (uint64_t)round_up(n, part, rest, negative(a), m);
	r += (uint64_t)(e + bias(f) - 1) << f->mbits;
	if (r < inf)
		return sign | r;
	if (m == RZ || (m == RM && !sign) || (m == RP && sign))
		return sign | (inf - 1);
	return sign | inf;
}

struct exact exact_integral(struct exact a, enum mode m)
{
	quad v = absolute(a.v), n;
	bool sign = negative(a);

	if (a.nan || v >= pow2(64))
		return a;
	n = (quad)(uint64_t)v;
	a.v = round_up(n, v - n, 0, sign, m);
	a.negative_zero = a.v == 0 && sign;
	a.v = sign ? -a.v : a.v;
	return a;
}
