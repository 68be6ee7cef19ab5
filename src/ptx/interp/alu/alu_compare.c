/* Comparison and selection: setp, set, selp, slct and testp. */
#include "ptx/interp/alu/alu_float.h"
#include "ptx/interp/alu/half.h"
#include <emmintrin.h>

/* Packs 32 words that are 0 or ~0 to one bit per lane. */
static inline u32 gather_bits(const u32 *t)
{
	const __m128i *v = (const __m128i *)t;
	u32 r = 0;

	for (unsigned n = 0; n < 2; n++, v += 4) {
		__m128i lo = _mm_packs_epi32(v[0], v[1]), hi = _mm_packs_epi32(v[2], v[3]);

		r |= (u32)_mm_movemask_epi8(_mm_packs_epi16(lo, hi)) << 16 * n;
	}
	return r;
}

#define COMPARE(name, T, expr) \
	static u32 name(const T *pa, const T *pb) \
	{ \
		_Alignas(64) u32 t[LANES]; \
\
		for (int i = 0; i < LANES; i++) { \
			T a = pa[i], b = pb[i]; \
			t[i] = (expr) ? ~0u : 0; \
		} \
		return gather_bits(t); \
	}
#define COMPARES(T) COMPARE(eq_##T, T, a == b) COMPARE(lt_##T, T, a < b) COMPARE(le_##T, T, a <= b)
COMPARES(u16)
COMPARES(s16)
COMPARES(u32)
COMPARES(s32)
COMPARES(u64)
COMPARES(s64)
COMPARES(f32)
COMPARES(f64)
COMPARE(nan_f32, f32, a != a || b != b)
COMPARE(nan_f64, f64, a != a || b != b)

/* All other comparisons exchange the operands or negate the result. */
#define COMPARE_INT(T) \
	static u32 compare_##T(unsigned cmp, const T *a, const T *b) \
	{ \
		switch (cmp) { \
		case PTX_EQ: \
			return eq_##T(a, b); \
		case PTX_NE: \
			return ~eq_##T(a, b); \
		case PTX_LT: \
		case PTX_CMP_LO: \
			return lt_##T(a, b); \
		case PTX_LE: \
		case PTX_CMP_LS: \
			return le_##T(a, b); \
		case PTX_GT: \
		case PTX_CMP_HI: \
			return lt_##T(b, a); \
		default: \
			return le_##T(b, a); \
		} \
	}
COMPARE_INT(u16)
COMPARE_INT(s16)
COMPARE_INT(u32)
COMPARE_INT(s32)
COMPARE_INT(u64)
COMPARE_INT(s64)

#define COMPARE_FLOAT(T) \
	static u32 compare_##T(unsigned cmp, const T *a, const T *b) \
	{ \
		switch (cmp) { \
		case PTX_EQ: \
			return eq_##T(a, b); \
		case PTX_NE: \
			return ~(eq_##T(a, b) | nan_##T(a, b)); \
		case PTX_LT: \
			return lt_##T(a, b); \
		case PTX_LE: \
			return le_##T(a, b); \
		case PTX_GT: \
			return lt_##T(b, a); \
		case PTX_GE: \
			return le_##T(b, a); \
		case PTX_EQU: \
			return eq_##T(a, b) | nan_##T(a, b); \
		case PTX_NEU: \
			return ~eq_##T(a, b); \
		case PTX_LTU: \
			return ~le_##T(b, a); \
		case PTX_LEU: \
			return ~lt_##T(b, a); \
		case PTX_GTU: \
			return ~le_##T(a, b); \
		case PTX_GEU: \
			return ~lt_##T(a, b); \
		case PTX_NAN: \
			return nan_##T(a, b); \
		default: \
			return ~nan_##T(a, b); \
		} \
	}
COMPARE_FLOAT(f32)
COMPARE_FLOAT(f64)

/* Compares f16, bf16 and their pairs as f32. high: the upper element of a pair. */
static u32 compare_half(const struct xinst *x, unsigned type, const void *a, const void *b, bool high)
{
	bool pair = type == PTX_F16X2 || type == PTX_BF16X2, brain = type == PTX_BF16 || type == PTX_BF16X2;
	f32 fa[LANES], fb[LANES];

	for (unsigned i = 0; i < LANES; i++) {
		u32 va = pair ? ((const u32 *)a)[i] >> (high ? 16 : 0) : ((const u16 *)a)[i];
		u32 vb = pair ? ((const u32 *)b)[i] >> (high ? 16 : 0) : ((const u16 *)b)[i];

		if (x->in->m.ftz && !brain) {
			va = va & 0x7c00 ? va : va & 0x8000;
			vb = vb & 0x7c00 ? vb : vb & 0x8000;
		}
		fa[i] = brain ? bf16_to_f32(va & 0xffff) : f16_to_f32(va & 0xffff);
		fb[i] = brain ? bf16_to_f32(vb & 0xffff) : f16_to_f32(vb & 0xffff);
	}
	return compare_f32(x->in->m.cmp, fa, fb);
}

static inline bool is_unsigned_cmp(unsigned cmp)
{
	return cmp >= PTX_CMP_LO && cmp <= PTX_CMP_HS;
}

/* Compares sources 0 and 1; the result has one bit per lane. */
static u32 compare_sources(struct warp *w, const struct xinst *x, unsigned type, bool high)
{
	const unsigned cmp = x->in->m.cmp;
	const void *a = SRC(w, x, 0, void), *b = SRC(w, x, 1, void);
	u32 r;

	switch (type) {
	case PTX_S16:
		return is_unsigned_cmp(cmp) ? compare_u16(cmp, a, b) : compare_s16(cmp, a, b);
	case PTX_B16:
	case PTX_U16:
		return compare_u16(cmp, a, b);
	case PTX_S32:
		return is_unsigned_cmp(cmp) ? compare_u32(cmp, a, b) : compare_s32(cmp, a, b);
	case PTX_B32:
	case PTX_U32:
		return compare_u32(cmp, a, b);
	case PTX_S64:
		return is_unsigned_cmp(cmp) ? compare_u64(cmp, a, b) : compare_s64(cmp, a, b);
	case PTX_B64:
	case PTX_U64:
		return compare_u64(cmp, a, b);
	case PTX_F32:
		if (x->in->m.ftz)
			mxcsr_set(MXCSR_DEFAULT | MXCSR_FTZ_DAZ);
		r = compare_f32(cmp, a, b);
		__asm__ volatile("" : "+r"(r)); /* complete the comparison before the mode is reset */
		if (x->in->m.ftz)
			mxcsr_set(MXCSR_DEFAULT);
		return r;
	case PTX_F64:
		return compare_f64(cmp, a, b);
	default:
		return compare_half(x, type, a, b, high);
	}
}

static inline u32 combine_pred(struct warp *w, const struct xinst *x, u32 t)
{
	u32 c;

	if (!x->in->m.op)
		return t;
	c = pred_src(w, x, 2);
	return x->in->m.op == PTX_A_AND ? t & c : x->in->m.op == PTX_A_OR ? t | c : t ^ c;
}

KERNEL(setp)
{
	u32 t = compare_sources(w, x, x->in->m.type[0], false);

	pred_store(w, x->dst, combine_pred(w, x, t));
	if (x->dst2 != NO_SLOT)
		pred_store(w, x->dst2, combine_pred(w, x, ~t));
}

/* Kernels for common forms, without the switch over types and comparisons. */
#define SETP(T, name, expr) \
	KERNEL(setp_##name##_##T) \
	{ \
		const T *a = SRC(w, x, 0, T), *b = SRC(w, x, 1, T); \
\
		pred_store(w, x->dst, expr); \
	}
#define SETPS(T) \
	SETP(T, eq, eq_##T(a, b)) \
	SETP(T, ne, ~eq_##T(a, b)) \
	SETP(T, lt, lt_##T(a, b)) \
	SETP(T, le, le_##T(a, b)) \
	SETP(T, gt, lt_##T(b, a)) \
	SETP(T, ge, le_##T(b, a))
SETPS(u32)
SETPS(s32)
SETPS(u64)
SETPS(s64)

/* setp.f16x2 p|q: p compares the lower elements, q the upper ones. */
KERNEL(setp_pair)
{
	u32 low = compare_sources(w, x, x->in->m.type[0], false), high = compare_sources(w, x, x->in->m.type[0], true);

	pred_store(w, x->dst, combine_pred(w, x, low));
	if (x->dst2 != NO_SLOT)
		pred_store(w, x->dst2, combine_pred(w, x, high));
}

/* The value of "true" in a destination type; of one element if the result is a pair. */
static u32 true_value(unsigned type, bool pair)
{
	switch (type) {
	case PTX_F32:
		return 0x3f800000;
	case PTX_F16:
	case PTX_F16X2:
		return 0x3c00;
	case PTX_BF16:
	case PTX_BF16X2:
		return 0x3f80;
	case PTX_U16:
	case PTX_S16:
		return 0xffff;
	default:
		return pair ? 0xffff : 0xffffffff;
	}
}

KERNEL(set)
{
	const unsigned dtype = x->in->m.type[0], stype = x->in->m.type[1];
	const bool pair = stype == PTX_F16X2 || stype == PTX_BF16X2; /* then the result is one, too */
	const u32 one = true_value(dtype, pair), t = combine_pred(w, x, compare_sources(w, x, stype, false));

	if (pair) {
		const u32 high = combine_pred(w, x, compare_sources(w, x, stype, true));
		u32 *d = DST(w, x, u32);

		MAP(w, d, u32, (t >> i & 1 ? one : 0) | (high >> i & 1 ? one << 16 : 0));
	} else if (x->dst_width == W16) {
		u16 *d = DST(w, x, u16);

		MAP(w, d, u16, t >> i & 1 ? one : 0);
	} else {
		u32 *d = DST(w, x, u32);

		MAP(w, d, u32, t >> i & 1 ? one : 0);
	}
}

#define SELECT(T) \
	KERNEL(selp_##T) \
	{ \
		const T *a = SRC(w, x, 0, T), *b = SRC(w, x, 1, T); \
		const u32 p = pred_src(w, x, 2); \
		T *d = DST(w, x, T); \
\
		MAP(w, d, T, p &LANE_BIT(i, T) ? a[i] : b[i]); \
	} \
	K3(slct_##T, T, T, T, s32, c >= 0 ? a : b) \
	K3(slctf_##T, T, T, T, f32, c >= 0.0f ? a : b) \
	CONTROLLED(slctf_##T)
SELECT(u16)
SELECT(u32)
SELECT(u64)

#define CLASSIFY(T, F, ABS, INF, MIN) \
	static inline bool is_##F(T v, unsigned mode) \
	{ \
		T m = v & ABS; \
\
		switch (mode) { \
		case PTX_TESTP_FINITE: \
			return m < INF; \
		case PTX_TESTP_INFINITE: \
			return m == INF; \
		case PTX_TESTP_NUMBER: \
			return m <= INF; \
		case PTX_TESTP_NOTANUMBER: \
			return m > INF; \
		case PTX_TESTP_NORMAL: /* zero counts */ \
			return m == 0 || (m >= MIN && m < INF); \
		default: \
			return m && m < MIN; \
		} \
	} \
	KERNEL(testp_##F) \
	{ \
		const T *a = SRC(w, x, 0, T); \
		u32 p = 0; \
\
		FOR_ACTIVE(w, i) \
		p |= (u32)is_##F(a[i], x->in->m.mode) << i; \
		pred_store(w, x->dst, p); \
	}
CLASSIFY(u32, f32, 0x7fffffffu, 0x7f800000u, 0x00800000u)
CLASSIFY(u64, f64, 0x7fffffffffffffffull, 0x7ff0000000000000ull, 0x0010000000000000ull)

#define BY_CMP(T) \
	static const exec_fn setp_##T[] = {[PTX_EQ] = setp_eq_##T, \
		[PTX_NE] = setp_ne_##T, \
		[PTX_LT] = setp_lt_##T, \
		[PTX_LE] = setp_le_##T, \
		[PTX_GT] = setp_gt_##T, \
		[PTX_GE] = setp_ge_##T}
BY_CMP(u32);
BY_CMP(s32);
BY_CMP(u64);
BY_CMP(s64);

static exec_fn choose_setp(const struct ptx_inst *in)
{
	unsigned type = in->m.type[0], cmp = in->m.cmp;

	if (type == PTX_F16X2 || type == PTX_BF16X2)
		return setp_pair;
	if (cmp > PTX_GE || in->m.op || in->ops[1].kind != PTX_O_NONE)
		return setp;
	switch (type) {
	case PTX_S32:
		return setp_s32[cmp];
	case PTX_U32:
	case PTX_B32:
		return setp_u32[cmp];
	case PTX_S64:
		return setp_s64[cmp];
	case PTX_U64:
	case PTX_B64:
		return setp_u64[cmp];
	default:
		return setp;
	}
}

exec_fn alu_compare(const struct ptx_inst *in)
{
	const struct ptx_mods *m = &in->m;
	unsigned bits = ptx_type_bits(m->type[0]);

	switch (in->op) {
	case PTX_OP_setp:
		return choose_setp(in);
	case PTX_OP_set:
		return set;
	case PTX_OP_selp:
		return bits == 16 ? selp_u16 : bits == 32 ? selp_u32 : bits == 64 ? selp_u64 : NULL;
	case PTX_OP_slct:
		if (m->type[1] == PTX_F32 && m->ftz)
			return bits == 16   ? slctf_u16_controlled
			       : bits == 32 ? slctf_u32_controlled
					    : slctf_u64_controlled;
		if (m->type[1] == PTX_F32)
			return bits == 16 ? slctf_u16 : bits == 32 ? slctf_u32 : slctf_u64;
		return bits == 16 ? slct_u16 : bits == 32 ? slct_u32 : slct_u64;
	case PTX_OP_testp:
		return m->type[0] == PTX_F64 ? testp_f64 : testp_f32;
	default:
		return NULL;
	}
}
