/* Implements num.h: formats, packing, unpacking and rounding of exact numbers. */
#include "ptx/interp/alu/num.h"

const struct num_format num_f16 = {5, 10, NUM_IEEE, 15, 0, 0x7fff};
const struct num_format num_bf16 = {8, 7, NUM_IEEE, 127, 0, 0x7fff};
const struct num_format num_f32 = {8, 23, NUM_IEEE, 127, 0, 0x7fffffff};
const struct num_format num_f64 = {11, 52, NUM_IEEE, 1023, 0, 0x7ff8000000000000};
const struct num_format num_tf32 = {8, 10, NUM_IEEE, 127, 13, 0x7fffffff};
const struct num_format num_e4m3 = {4, 3, NUM_NO_INF, 7, 0, 0x7f};
const struct num_format num_e5m2 = {5, 2, NUM_IEEE, 15, 0, 0x7f};
const struct num_format num_e2m1 = {2, 1, NUM_FINITE_ONLY, 1, 0, 0x7};
const struct num_format num_e2m3 = {2, 3, NUM_FINITE_ONLY, 1, 0, 0x1f};
const struct num_format num_e3m2 = {3, 2, NUM_FINITE_ONLY, 3, 0, 0x1f};

const struct num_format *num_format_of(unsigned type)
{
	switch (type) {
	case PTX_F16:
	case PTX_F16X2:
		return &num_f16;
	case PTX_BF16:
	case PTX_BF16X2:
		return &num_bf16;
	case PTX_F32:
		return &num_f32;
	case PTX_F64:
		return &num_f64;
	case PTX_TF32:
		return &num_tf32;
	case PTX_E4M3:
	case PTX_E4M3X2:
		return &num_e4m3;
	case PTX_E5M2:
	case PTX_E5M2X2:
		return &num_e5m2;
	case PTX_E2M1:
	case PTX_E2M1X2:
		return &num_e2m1;
	case PTX_E2M3:
	case PTX_E2M3X2:
		return &num_e2m3;
	case PTX_E3M2:
	case PTX_E3M2X2:
		return &num_e3m2;
	default:
		return NULL;
	}
}

static struct num num_normalise(bool sign, uint64_t sig, int exp)
{
	struct num v = {sign, NUM_ZERO, 0, 0};

	if (sig) {
		int n = __builtin_clzll(sig);

		v.cls = NUM_FINITE;
		v.sig = sig << n;
		v.exp = exp - n;
	}
	return v;
}

struct num num_int(int64_t i)
{
	return i < 0 ? num_normalise(true, -(uint64_t)i, 0) : num_normalise(false, i, 0);
}

struct num num_uint(uint64_t i)
{
	return num_normalise(false, i, 0);
}

struct num num_unpack(uint64_t bits, const struct num_format *f)
{
	uint64_t all = (1ull << f->ebits) - 1;
	uint64_t v = bits >> f->shift;
	uint64_t frac = v & ((1ull << f->mbits) - 1);
	uint64_t e = v >> f->mbits & all;
	bool sign = v >> (f->mbits + f->ebits) & 1;

	if (e == all && f->top == NUM_IEEE)
		return (struct num){sign, frac ? NUM_NAN : NUM_INF, 0, 0};
	if (e == all && f->top == NUM_NO_INF && frac == (1ull << f->mbits) - 1)
		return (struct num){sign, NUM_NAN, 0, 0};
	if (e == 0)
		return num_normalise(sign, frac, 1 - f->bias - f->mbits);
	return num_normalise(sign, frac | 1ull << f->mbits, (int)e - f->bias - f->mbits);
}

/* sig >> shift, rounded. */
static uint64_t shift_round(uint64_t sig, int shift, bool sign, unsigned rnd)
{
	uint64_t half = 1ull << 63, q, rest;
	bool up;

	if (shift > 64) {
		q = 0;
		rest = sig != 0;
	} else if (shift == 64) {
		q = 0;
		rest = sig;
	} else {
		q = shift ? sig >> shift : sig;
		rest = shift ? sig << (64 - shift) : 0;
	}
	switch (rnd) {
	case PTX_RZ:
	case PTX_RZI:
		up = false;
		break;
	case PTX_RM:
	case PTX_RMI:
		up = sign && rest;
		break;
	case PTX_RP:
	case PTX_RPI:
		up = !sign && rest;
		break;
	case PTX_RNA:
		up = rest >= half;
		break;
	default:
		up = rest > half || (rest == half && (q & 1));
		break;
	}
	return q + up;
}

/* The bit pattern of the largest finite value, without its sign. */
static uint64_t largest_finite(const struct num_format *f)
{
	uint64_t ones = (1ull << (f->ebits + f->mbits)) - 1;

	switch (f->top) {
	case NUM_IEEE:
		return ones - (1ull << f->mbits);
	case NUM_NO_INF:
		return ones - 1;
	default:
		return ones;
	}
}

static uint64_t overflow_bits(bool sign, const struct num_format *f, unsigned rnd, unsigned flags)
{
	bool down = rnd == PTX_RZ || (rnd == PTX_RM && !sign) || (rnd == PTX_RP && sign);

	if (down || flags & NUM_SATFINITE || f->top == NUM_FINITE_ONLY)
		return largest_finite(f);
	return largest_finite(f) + 1; /* infinity, or e4m3's NaN */
}

uint64_t num_pack(struct num v, const struct num_format *f, unsigned rnd, unsigned flags)
{
	uint64_t sign = (uint64_t)v.sign << (f->ebits + f->mbits), r;
	int emin = 1 - f->bias, e = v.exp + 63, shift = 63 - f->mbits;

	switch (v.cls) {
	case NUM_NAN:
		if (f->top == NUM_FINITE_ONLY)
			return largest_finite(f) << f->shift;
		return f->canonical_nan;
	case NUM_ZERO:
		return sign << f->shift;
	case NUM_INF:
		if (flags & NUM_SATFINITE || f->top == NUM_FINITE_ONLY)
			return (sign | largest_finite(f)) << f->shift;
		return (sign | (largest_finite(f) + 1)) << f->shift;
	}
	if (e < emin) {
		r = shift_round(v.sig, shift + (emin - e), v.sign, rnd);
	} else {
		r = shift_round(v.sig, shift, v.sign, rnd) - (1ull << f->mbits);
		if (e + f->bias > (1 << f->ebits))
			r = largest_finite(f) + 1;
		else
			r += (uint64_t)(e + f->bias) << f->mbits; /* a carry moves into the exponent */
	}
	if (r > largest_finite(f))
		r = overflow_bits(v.sign, f, rnd, flags);
	if (flags & NUM_FTZ && r >> f->mbits == 0)
		r = 0;
	return (sign | r) << f->shift;
}

/* The magnitude as an integer; *big if it needs more than 64 bits. */
static uint64_t num_magnitude(struct num v, unsigned rnd, bool *big)
{
	*big = v.cls == NUM_INF || (v.cls == NUM_FINITE && v.exp > 0);
	if (v.cls != NUM_FINITE || *big)
		return 0;
	if (v.exp == 0)
		return v.sig;
	return shift_round(v.sig, -v.exp, v.sign, rnd);
}

int64_t num_to_sint(struct num v, unsigned rnd, unsigned bits)
{
	uint64_t top = 1ull << (bits - 1), m;
	bool big;

	if (v.cls == NUM_NAN)
		return 0;
	m = num_magnitude(v, rnd, &big);
	if (v.sign)
		return big || m >= top ? (int64_t)-top : -(int64_t)m;
	return big || m >= top ? (int64_t)(top - 1) : (int64_t)m;
}

uint64_t num_to_uint(struct num v, unsigned rnd, unsigned bits)
{
	uint64_t top = bits == 64 ? UINT64_MAX : (1ull << bits) - 1, m;
	bool big;

	if (v.cls == NUM_NAN || v.sign)
		return 0;
	m = num_magnitude(v, rnd, &big);
	return big || m > top ? top : m;
}

uint64_t num_round_integral(uint64_t bits, const struct num_format *f, unsigned rnd)
{
	struct num v = num_unpack(bits, f);
	uint64_t m;
	bool big;

	if (v.cls != NUM_FINITE || v.exp >= 0)
		return num_pack(v, f, PTX_RN, 0);
	m = num_magnitude(v, rnd, &big);
	return num_pack(num_normalise(v.sign, m, 0), f, PTX_RN, 0);
}
