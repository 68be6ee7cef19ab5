/* f16 and bf16, single and in pairs: computed in f32 and rounded; half.h explains why that is correct. */
#include "ptx/interp/alu/alu_float.h"
#include "ptx/interp/alu/approx.h"
#include "ptx/interp/alu/half.h"

static inline u32 flush_f16(u32 h)
{
	return h & 0x7c00 ? h : h & 0x8000;
}

static inline u32 flush_bf16(u32 h)
{
	return h & 0x7f80 ? h : h & 0x8000;
}

/* Applies .sat (a NaN becomes 0) and .relu (a NaN stays). */
static inline f32 limit_result(f32 r, const struct ptx_mods *m)
{
	if (m->sat)
		return saturate_f32(r);
	return m->relu && r < 0 ? 0.0f : r;
}

#define IN_f16(v)   f16_to_f32((u16)(v))
#define IN_bf16(v)  bf16_to_f32((u16)(v))
#define OUT_f16(r)  f32_to_f16(r)
#define OUT_bf16(r) f32_to_bf16(r)
#define FTZ(F, v)   (m->ftz ? flush_##F(v) : (v))

/* name_F is the plain operation; name_F_full handles .ftz, .sat and .relu. Both also exist for pairs. */
#define ONE(name, F, PARAMS, LETS, LETS_FTZ, expr) \
	static inline u32 name##_##F##_lane PARAMS \
	{ \
		LETS(void) m; \
		return OUT_##F(expr); \
	} \
	static inline u32 name##_##F##_full_lane PARAMS \
	{ \
		LETS_FTZ \
		return FTZ(F, OUT_##F(limit_result(expr, m))); \
	}
#define P1            (const struct ptx_mods *m, u32 ha)
#define P2            (const struct ptx_mods *m, u32 ha, u32 hb)
#define P3            (const struct ptx_mods *m, u32 ha, u32 hb, u32 hc)
#define LET(F, v, h)  f32 v = IN_##F(h);
#define LETZ(F, v, h) f32 v = IN_##F(FTZ(F, (u16)(h)));
#define M             (&x->in->m)

#define ARITH1(name, F, expr) \
	ONE(name, F, P1, LET(F, a, ha), LETZ(F, a, ha), expr) \
	K1(name##_##F, u16, u16, name##_##F##_lane(M, a)) \
	K1(name##_##F##_full, u16, u16, name##_##F##_full_lane(M, a)) \
	K1(name##_##F##x2, u32, u32, name##_##F##_lane(M, a) | name##_##F##_lane(M, a >> 16) << 16) \
	K1(name##_##F##x2_full, u32, u32, name##_##F##_full_lane(M, a) | name##_##F##_full_lane(M, a >> 16) << 16)
#define ARITH2(name, F, expr) \
	ONE(name, F, P2, LET(F, a, ha) LET(F, b, hb), LETZ(F, a, ha) LETZ(F, b, hb), expr) \
	K2(name##_##F, u16, u16, u16, name##_##F##_lane(M, a, b)) \
	K2(name##_##F##_full, u16, u16, u16, name##_##F##_full_lane(M, a, b)) \
	K2(name##_##F##x2, u32, u32, u32, name##_##F##_lane(M, a, b) | name##_##F##_lane(M, a >> 16, b >> 16) << 16) \
	K2(name##_##F##x2_full, u32, u32, u32, \
		name##_##F##_full_lane(M, a, b) | name##_##F##_full_lane(M, a >> 16, b >> 16) << 16)
#define ARITH3(name, F, expr) \
	ONE(name, F, P3, LET(F, a, ha) LET(F, b, hb) LET(F, c, hc), LETZ(F, a, ha) LETZ(F, b, hb) LETZ(F, c, hc), \
		expr) \
	K3(name##_##F, u16, u16, u16, u16, name##_##F##_lane(M, a, b, c)) \
	K3(name##_##F##_full, u16, u16, u16, u16, name##_##F##_full_lane(M, a, b, c)) \
	K3(name##_##F##x2, u32, u32, u32, u32, \
		name##_##F##_lane(M, a, b, c) | name##_##F##_lane(M, a >> 16, b >> 16, c >> 16) << 16) \
	K3(name##_##F##x2_full, u32, u32, u32, u32, \
		name##_##F##_full_lane(M, a, b, c) | name##_##F##_full_lane(M, a >> 16, b >> 16, c >> 16) << 16)

ARITH2(add, f16, a + b)
ARITH2(sub, f16, a - b)
ARITH2(mul, f16, a *b)
ARITH3(fma, f16, half_fma(a, b, c))
ARITH1(ex2, f16, approx_ex2(a))
ARITH1(tanh, f16, approx_tanh(a))
ARITH2(add, bf16, a + b)
ARITH2(sub, bf16, a - b)
ARITH2(mul, bf16, half_mul(a, b))
ARITH3(fma, bf16, half_fma(a, b, c))
ARITH1(ex2, bf16, approx_ex2(a))
ARITH1(tanh, bf16, approx_tanh(a))

/* ---- signs ---- */

#define SIGN(F, TOP) \
	static inline u32 canon_##F(u32 h) \
	{ \
		return (h & 0x7fff) > TOP ? NAN_HALF : h; \
	} \
	static inline u32 abs_##F##_lane(const struct ptx_mods *m, u32 a) \
	{ \
		return canon_##F(FTZ(F, a & 0x7fff)); \
	} \
	static inline u32 neg_##F##_lane(const struct ptx_mods *m, u32 a) \
	{ \
		return canon_##F(FTZ(F, (a & 0xffff) ^ 0x8000)); \
	} \
	K1(abs_##F, u16, u16, abs_##F##_lane(M, a)) \
	K1(neg_##F, u16, u16, neg_##F##_lane(M, a)) \
	K1(abs_##F##x2, u32, u32, abs_##F##_lane(M, a) | abs_##F##_lane(M, a >> 16) << 16) \
	K1(neg_##F##x2, u32, u32, neg_##F##_lane(M, a) | neg_##F##_lane(M, a >> 16) << 16)
SIGN(f16, 0x7c00)
SIGN(bf16, 0x7f80)

/* ---- minimum and maximum: same rules as for f32 ---- */

static inline u32 pick_half(const struct ptx_mods *m, u32 a, u32 b, f32 fa, f32 fb, bool max)
{
	bool na = fa != fa, nb = fb != fb;
	u32 low, high, r;

	low = fa < fb ? a : fb < fa ? b : a | b;
	high = fa < fb ? b : fb < fa ? a : a & b;
	r = na ? b : nb ? a : max ? high : low;
	return (na && nb) || (m->nan && (na || nb)) ? NAN_HALF : r;
}
#define PICK(F) \
	static inline u32 pick_##F(const struct ptx_mods *m, u32 a, u32 b, bool max) \
	{ \
		u32 sign = m->xorsign ? (a ^ b) & 0x8000 : 0, keep = m->xorsign ? 0x7fff : 0xffff, r; \
\
		a = FTZ(F, a & keep); \
		b = FTZ(F, b & keep); \
		r = pick_half(m, a, b, IN_##F(a), IN_##F(b), max); \
		return r == NAN_HALF ? r : r | sign; \
	} \
	K2(min_##F, u16, u16, u16, pick_##F(M, a, b, false)) \
	K2(max_##F, u16, u16, u16, pick_##F(M, a, b, true)) \
	K2(min_##F##x2, u32, u32, u32, \
		pick_##F(M, a & 0xffff, b & 0xffff, false) | pick_##F(M, a >> 16, b >> 16, false) << 16) \
	K2(max_##F##x2, u32, u32, u32, \
		pick_##F(M, a & 0xffff, b & 0xffff, true) | pick_##F(M, a >> 16, b >> 16, true) << 16)
PICK(f16)
PICK(bf16)

/* One row serves all combinations of modifiers: `full` if there are .ftz, .sat or .relu, else fn. */
static const struct half_row {
	uint16_t op;
	uint8_t type;
	exec_fn fn, full;
} rows[] = {
#define ROW(op, type, fn, full) {PTX_OP_##op, PTX_##type, fn, full},
#define ARITH(op) \
	ROW(op, F16, op##_f16, op##_f16_full) \
	ROW(op, F16X2, op##_f16x2, op##_f16x2_full) \
	ROW(op, BF16, op##_bf16, op##_bf16_full) \
	ROW(op, BF16X2, op##_bf16x2, op##_bf16x2_full)
#define ORDER(op) \
	ROW(op, F16, op##_f16, op##_f16) \
	ROW(op, F16X2, op##_f16x2, op##_f16x2) \
	ROW(op, BF16, op##_bf16, op##_bf16) \
	ROW(op, BF16X2, op##_bf16x2, op##_bf16x2)
	ARITH(add) ARITH(sub) ARITH(mul) ARITH(fma) ARITH(ex2) ARITH(tanh) ORDER(min) ORDER(max) ORDER(abs) ORDER(neg)};

exec_fn alu_half(const struct ptx_inst *in)
{
	bool full = in->m.ftz || in->m.sat || in->m.relu;

	if (in->m.word && in->op == PTX_OP_fma) /* .oob */
		return NULL;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (rows[i].op == in->op && rows[i].type == in->m.type[0])
			return full ? rows[i].full : rows[i].fn;
	return NULL;
}
