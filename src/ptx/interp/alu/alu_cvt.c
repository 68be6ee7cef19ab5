/*
 * cvt and cvt.pack.
 *
 * cvt_any handles all conversions: it unpacks the source to an exact number and packs that
 * to the destination type.  Common conversions have kernels of their own (`fast` below),
 * which must give the same results.
 */
#include "ptx/interp/alu/alu_float.h"
#include "ptx/interp/alu/half.h"
#include <math.h>

/* ---- lanes as 64-bit words, for slots of any width ---- */

static void load_lanes(const struct warp *w, const struct xinst *x, unsigned n, u64 *v)
{
	switch (x->src_width[n]) {
	case W16:
		for (int i = 0; i < LANES; i++)
			v[i] = SRC(w, x, n, u16)[i];
		break;
	case W32:
		for (int i = 0; i < LANES; i++)
			v[i] = SRC(w, x, n, u32)[i];
		break;
	default:
		for (int i = 0; i < LANES; i++)
			v[i] = SRC(w, x, n, u64)[i];
		break;
	}
}

static void store_lanes(struct warp *w, const struct xinst *x, const u64 *v)
{
	switch (x->dst_width) {
	case W16:
		MAP(w, DST(w, x, u16), u16, v[i]);
		break;
	case W32:
		MAP(w, DST(w, x, u32), u32, v[i]);
		break;
	default:
		MAP(w, DST(w, x, u64), u64, v[i]);
		break;
	}
}

static inline bool is_signed(unsigned type)
{
	return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64;
}

static inline u64 extend_bits(u64 v, unsigned bits, bool sign)
{
	unsigned k = 64 - bits;

	return sign ? (u64)((s64)(v << k) >> k) : v << k >> k;
}

/* ---- integers ---- */

static inline u64 clamp_int(u64 v, bool from_signed, unsigned type)
{
	unsigned bits = ptx_type_bits(type);
	s64 top = (s64)(UINT64_MAX >> (64 - bits + 1)), low = -top - 1;

	if (is_signed(type)) {
		if (!from_signed)
			return v > (u64)top ? (u64)top : v;
		return (s64)v > top ? (u64)top : (s64)v < low ? (u64)low : v;
	}
	if (from_signed && (s64)v < 0)
		return 0;
	return v > UINT64_MAX >> (64 - bits) ? UINT64_MAX >> (64 - bits) : v;
}

KERNEL(cvt_int)
{
	const unsigned dtype = x->in->m.type[0], stype = x->in->m.type[1];
	const unsigned sbits = ptx_type_bits(stype), dbits = ptx_type_bits(dtype);
	const bool from = is_signed(stype), to = is_signed(dtype);
	u64 v[LANES];

	load_lanes(w, x, 0, v);
	for (int i = 0; i < LANES; i++)
		v[i] = extend_bits(v[i], sbits, from);
	if (x->in->m.sat)
		for (int i = 0; i < LANES; i++)
			v[i] = clamp_int(v[i], from, dtype);
	for (int i = 0; i < LANES; i++)
		v[i] = extend_bits(v[i], dbits, to);
	store_lanes(w, x, v);
}

/* ---- one value, any types ---- */

/* A NaN gives 0 or, if a 64-bit type is involved, an integer with only the top bit set. */
static u64 float_to_int(const struct ptx_mods *m, struct num v)
{
	unsigned bits = ptx_type_bits(m->type[0]);

	if (v.cls == NUM_NAN)
		return m->type[1] == PTX_F64 || bits == 64 ? 1ull << (bits - 1) : 0;
	if (is_signed(m->type[0]))
		return (u64)num_to_sint(v, m->rnd, bits);
	return num_to_uint(v, m->rnd, bits);
}

static struct num unit_range(struct num v)
{
	if (v.cls == NUM_NAN || v.sign)
		return num_uint(0);
	if (v.cls == NUM_INF || (v.cls == NUM_FINITE && v.exp + 63 >= 0))
		return num_uint(1);
	return v;
}

static u64 to_float(const struct ptx_mods *m, struct num v, unsigned type)
{
	unsigned flags = m->sat == PTX_SATFINITE ? NUM_SATFINITE : 0;

	if (m->ftz && type == PTX_F32)
		flags |= NUM_FTZ;
	if (m->sat == PTX_SAT)
		v = unit_range(v);
	if (m->relu && v.sign && v.cls != NUM_NAN)
		v = num_uint(0);
	return num_pack(v, num_format_of(type), m->rnd ? m->rnd : PTX_RN, flags);
}

static inline bool rounds_to_integral(unsigned rnd)
{
	return rnd >= PTX_RNI && rnd <= PTX_RPI;
}

/* Converts a NaN: from f64, and to tf32 with .rna, it keeps its sign and the upper bits of its payload. */
static u64 nan_to_nan(const struct ptx_mods *m, u64 bits)
{
	const struct num_format *df = num_format_of(m->type[0]);
	u64 sign = bits >> 63 << (df->ebits + df->mbits);
	u64 payload = (bits & 0xfffffffffffff) >> (52 - df->mbits);

	if (m->type[0] == PTX_TF32)
		return m->rnd == PTX_RNA ? bits & 0xffffe000 : 0x7fffe000;
	if (m->type[1] != PTX_F64 || m->type[0] == PTX_F64 || m->relu)
		return df->canonical_nan;
	return sign | ((1ull << df->ebits) - 1) << df->mbits | 1ull << (df->mbits - 1) | payload;
}

static u64 float_to_float(const struct ptx_mods *m, u64 bits, const struct num_format *sf)
{
	struct num v = num_unpack(rounds_to_integral(m->rnd) ? num_round_integral(bits, sf, m->rnd) : bits, sf);

	if (v.cls == NUM_NAN && m->sat != PTX_SAT)
		return nan_to_nan(m, bits);
	return to_float(m, v, m->type[0]);
}

static u64 cvt_lane(const struct ptx_mods *m, u64 bits)
{
	const struct num_format *sf = num_format_of(m->type[1]), *df = num_format_of(m->type[0]);
	bool sign = is_signed(m->type[1]);

	if (!sf) {
		bits = extend_bits(bits, ptx_type_bits(m->type[1]), sign);
		return to_float(m, sign ? num_int((s64)bits) : num_uint(bits), m->type[0]);
	}
	if (m->ftz && m->type[1] == PTX_F32)
		bits = flush_u32((u32)bits);
	if (!df)
		return extend_bits(
			float_to_int(m, num_unpack(bits, sf)), ptx_type_bits(m->type[0]), is_signed(m->type[0]));
	return float_to_float(m, bits, sf);
}

KERNEL(cvt_any)
{
	u64 v[LANES];

	load_lanes(w, x, 0, v);
	FOR_ACTIVE(w, i)
	v[i] = cvt_lane(&x->in->m, v[i]);
	store_lanes(w, x, v);
}

/* ---- pairs ---- */

/* ue8m0 is a power of two, 2^(bits - 127); 255 is the NaN. */
static struct num scale_unpack(u64 bits)
{
	if (bits == 255)
		return (struct num){.cls = NUM_NAN};
	return (struct num){.cls = NUM_FINITE, .sig = 1ull << 63, .exp = (int)bits - 127 - 63};
}

static u64 scale_pack(const struct ptx_mods *m, struct num v)
{
	int e;

	if (v.cls == NUM_NAN)
		return 255;
	if (v.cls == NUM_INF)
		return m->sat ? 254 : 255;
	if (v.cls == NUM_ZERO)
		return 0;
	e = v.exp + 63 + 127;
	if (m->rnd == PTX_RP && v.sig << 1)
		e++;
	return e < 0 ? 0 : e > 254 ? 254 : (u64)e;
}

/* Bits between the two elements of a packed type. */
static unsigned element_bits(unsigned type)
{
	return ptx_type_bits(type) / 2;
}

static struct num pair_element(unsigned type, u64 bits)
{
	bits &= (1ull << element_bits(type)) - 1;
	return type == PTX_UE8M0X2 ? scale_unpack(bits) : num_unpack(bits, num_format_of(type));
}

static u64 pair_result(const struct ptx_mods *m, struct num v)
{
	return m->type[0] == PTX_UE8M0X2 ? scale_pack(m, v) : to_float(m, v, m->type[0]);
}

/* Packs two f32; a becomes the upper element. */
KERNEL(cvt_two)
{
	const f32 *a = SRC(w, x, 0, f32), *b = SRC(w, x, 1, f32);
	const struct ptx_mods *m = &x->in->m;
	const unsigned half = element_bits(m->type[0]);
	u64 v[LANES] = {0};

	FOR_ACTIVE(w, i)
	v[i] = pair_result(m, num_unpack(f32_bits(a[i]), &num_f32)) << half |
	       pair_result(m, num_unpack(f32_bits(b[i]), &num_f32));
	store_lanes(w, x, v);
}

KERNEL(cvt_pair)
{
	const struct ptx_mods *m = &x->in->m;
	const unsigned to = element_bits(m->type[0]), from = element_bits(m->type[1]);
	u64 v[LANES];

	load_lanes(w, x, 0, v);
	FOR_ACTIVE(w, i)
	v[i] = pair_result(m, pair_element(m->type[1], v[i] >> from)) << to |
	       pair_result(m, pair_element(m->type[1], v[i]));
	store_lanes(w, x, v);
}

/* cvt.pack: saturates and packs a and b, b lowest; the bits above come from c. */
KERNEL(cvt_pack)
{
	const u32 *a = SRC(w, x, 0, u32), *b = SRC(w, x, 1, u32);
	const u32 *c = x->src[2] == NO_SLOT ? NULL : SRC(w, x, 2, u32);
	const unsigned type = x->in->m.type[0], bits = ptx_type_bits(type);
	const u32 mask = (1u << bits) - 1;
	u32 *d = DST(w, x, u32);

	FOR_ACTIVE(w, i)
	{
		u32 r = (u32)(clamp_int((u64)(s64)(s32)a[i], true, type) & mask) << bits;

		r |= (u32)clamp_int((u64)(s64)(s32)b[i], true, type) & mask;
		d[i] = r | (c && bits < 16 ? c[i] << 2 * bits : 0);
	}
}

/* ---- kernels for common forms ---- */

static inline s32 trunc_s32(f32 a)
{
	s32 r = a >= 0x1p31f ? INT32_MAX : a <= -0x1p31f ? INT32_MIN : (s32)a;

	return a != a ? 0 : r;
}

static inline u32 trunc_u32(f32 a)
{
	return a >= 0x1p32f ? UINT32_MAX : a >= 1.0f ? (u32)(s64)a : 0;
}

#define WIDTH(T) (sizeof(T) == 2 ? W16 : sizeof(T) == 4 ? W32 : W64)
/* If a slot is wider than its type, the general kernel runs. */
#define FAST(name, D, A, expr) \
	K1(name##_lanes, D, A, expr) \
	KERNEL(name) \
	{ \
		if (x->dst_width == WIDTH(D) && x->src_width[0] == WIDTH(A)) \
			name##_lanes(w, x); \
		else \
			cvt_any(w, x); \
	}
#define FAST_INT(name, D, A) \
	K1(name##_lanes, D, A, (D)a) \
	KERNEL(name) \
	{ \
		if (x->dst_width == WIDTH(D) && x->src_width[0] == WIDTH(A)) \
			name##_lanes(w, x); \
		else \
			cvt_int(w, x); \
	}

FAST_INT(u64_u32, u64, u32)
FAST_INT(s64_s32, s64, s32)
FAST_INT(u32_u64, u32, u64)
FAST_INT(u32_u16, u32, u16)
FAST_INT(s32_s16, s32, s16)
FAST_INT(u16_u32, u16, u32)
FAST(f32_f16, f32, u16, canon_f32(f16_to_f32(a)))
FAST(f32_bf16, u32, u16, (u32)a << 16)
FAST(f16_f32, u16, f32, f32_to_f16(a))
FAST(bf16_f32, u16, f32, f32_to_bf16(a))
FAST(f64_f32, f64, f32, (f64)a)
FAST(f32_f64, f32, f64, (f32)a)
FAST(f32_s32, f32, s32, (f32)a)
FAST(f32_u32, f32, u32, (f32)a)
FAST(f32_s16, f32, s16, (f32)a)
FAST(f32_u16, f32, u16, (f32)a)
FAST(f64_s32, f64, s32, (f64)a)
FAST(f64_u32, f64, u32, (f64)a)
FAST(f32_s64, f32, s64, (f32)a)
FAST(f64_s64, f64, s64, (f64)a)
FAST(s32_f32_rzi, s32, f32, trunc_s32(a))
FAST(u32_f32_rzi, u32, f32, trunc_u32(a))
FAST(s32_f32_rni, s32, f32, trunc_s32(rintf(a)))
FAST(f32_f32_sat, f32, f32, saturate_f32(a))
FAST(f32_f32_rni, f32, f32, canon_f32(rintf(a)))
FAST(f32_f32_rzi, f32, f32, canon_f32(truncf(a)))
FAST(f32_f32_rmi, f32, f32, canon_f32(floorf(a)))
FAST(f32_f32_rpi, f32, f32, canon_f32(ceilf(a)))

K2(f16x2_f32, u32, f32, f32, (u32)f32_to_f16(a) << 16 | f32_to_f16(b))
K2(bf16x2_f32, u32, f32, f32, (u32)f32_to_bf16(a) << 16 | f32_to_bf16(b))

static const struct {
	uint8_t to, from, rnd, sat, any_ftz;
	exec_fn fn;
} fast[] = {
	{PTX_U64, PTX_U32, 0, 0, 0, u64_u32},
	{PTX_S64, PTX_U32, 0, 0, 0, u64_u32},
	{PTX_S64, PTX_S32, 0, 0, 0, s64_s32},
	{PTX_U64, PTX_S32, 0, 0, 0, s64_s32},
	{PTX_U32, PTX_U64, 0, 0, 0, u32_u64},
	{PTX_S32, PTX_U64, 0, 0, 0, u32_u64},
	{PTX_U32, PTX_S64, 0, 0, 0, u32_u64},
	{PTX_S32, PTX_S64, 0, 0, 0, u32_u64},
	{PTX_U32, PTX_U16, 0, 0, 0, u32_u16},
	{PTX_S32, PTX_U16, 0, 0, 0, u32_u16},
	{PTX_S32, PTX_S16, 0, 0, 0, s32_s16},
	{PTX_U16, PTX_U32, 0, 0, 0, u16_u32},
	{PTX_U16, PTX_S32, 0, 0, 0, u16_u32},
	{PTX_S16, PTX_U32, 0, 0, 0, u16_u32},
	{PTX_S16, PTX_S32, 0, 0, 0, u16_u32},
	{PTX_F32, PTX_F16, 0, 0, 1, f32_f16},
	{PTX_F32, PTX_BF16, 0, 0, 0, f32_bf16},
	{PTX_F16, PTX_F32, PTX_RN, 0, 1, f16_f32},
	{PTX_BF16, PTX_F32, PTX_RN, 0, 0, bf16_f32},
	{PTX_F64, PTX_F32, 0, 0, 0, f64_f32},
	{PTX_F32, PTX_F64, PTX_RN, 0, 0, f32_f64},
	{PTX_F32, PTX_S32, PTX_RN, 0, 1, f32_s32},
	{PTX_F32, PTX_U32, PTX_RN, 0, 1, f32_u32},
	{PTX_F32, PTX_S16, PTX_RN, 0, 1, f32_s16},
	{PTX_F32, PTX_U16, PTX_RN, 0, 1, f32_u16},
	{PTX_F64, PTX_S32, PTX_RN, 0, 0, f64_s32},
	{PTX_F64, PTX_U32, PTX_RN, 0, 0, f64_u32},
	{PTX_F32, PTX_S64, PTX_RN, 0, 1, f32_s64},
	{PTX_F64, PTX_S64, PTX_RN, 0, 0, f64_s64},
	{PTX_S32, PTX_F32, PTX_RZI, 0, 1, s32_f32_rzi},
	{PTX_U32, PTX_F32, PTX_RZI, 0, 1, u32_f32_rzi},
	{PTX_S32, PTX_F32, PTX_RNI, 0, 1, s32_f32_rni},
	{PTX_F32, PTX_F32, 0, PTX_SAT, 0, f32_f32_sat},
	{PTX_F32, PTX_F32, PTX_RNI, 0, 0, f32_f32_rni},
	{PTX_F32, PTX_F32, PTX_RZI, 0, 0, f32_f32_rzi},
	{PTX_F32, PTX_F32, PTX_RMI, 0, 0, f32_f32_rmi},
	{PTX_F32, PTX_F32, PTX_RPI, 0, 0, f32_f32_rpi},
	{PTX_F16X2, PTX_F32, PTX_RN, 0, 0, f16x2_f32},
	{PTX_BF16X2, PTX_F32, PTX_RN, 0, 0, bf16x2_f32},
};

static bool is_pair(unsigned type)
{
	switch (type) {
	case PTX_F16X2:
	case PTX_BF16X2:
	case PTX_E4M3X2:
	case PTX_E5M2X2:
	case PTX_E2M1X2:
	case PTX_E2M3X2:
	case PTX_E3M2X2:
	case PTX_UE8M0X2:
		return true;
	default:
		return false;
	}
}

exec_fn alu_cvt(const struct ptx_inst *in)
{
	const struct ptx_mods *m = &in->m;
	unsigned to = m->type[0], from = m->type[1];

	if (in->op == PTX_OP_cvt_pack)
		return cvt_pack;
	if (in->op != PTX_OP_cvt || m->rnd == PTX_RS)
		return NULL;
	for (unsigned i = 0; i < sizeof fast / sizeof fast[0]; i++)
		if (fast[i].to == to && fast[i].from == from && fast[i].rnd == m->rnd && fast[i].sat == m->sat &&
			!m->relu && (!m->ftz || fast[i].any_ftz))
			return fast[i].fn;
	if (is_pair(to))
		return is_pair(from) ? cvt_pair : from == PTX_F32 ? cvt_two : NULL;
	if (ptx_type_kind(to) == PTX_KIND_FLOAT || ptx_type_kind(from) == PTX_KIND_FLOAT)
		return (ptx_type_kind(to) != PTX_KIND_FLOAT || num_format_of(to)) &&
				       (ptx_type_kind(from) != PTX_KIND_FLOAT || num_format_of(from))
			       ? cvt_any
			       : NULL;
	return cvt_int;
}
