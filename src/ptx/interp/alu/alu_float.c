/*
 * f32 and f64: the correctly rounded operations, in every rounding mode.
 *
 * The processor follows IEEE 754, so that MXCSR handles rounding and flushing (CONTROLLED).
 * PTX differs in two points: f32 arithmetic always gives the canonical NaN (f64 keeps the
 * payload on both), and minimum and maximum have rules of their own.
 */
#include "ptx/interp/alu/alu_float.h"
#include <math.h>

#define F32_ABS 0x7fffffffu
#define F64_ABS 0x7fffffffffffffffull

/* A kernel and its controlled variant; ARITH_SAT makes both again with .sat. */
#define ARITH(K, name, ...) K(name, __VA_ARGS__) CONTROLLED(name)
#define ARITH_SAT(K, name, T, ARGS, expr) \
	ARITH(K, name, T, UNPACK ARGS, canon_##T(expr)) \
	ARITH(K, name##_sat, T, UNPACK ARGS, saturate_##T(expr))
#define UNPACK(...) __VA_ARGS__

/* Without an FMA instruction, fma() is a slow library call: evaluate it only for active lanes. */
#ifdef __FMA__
#define KFMA(...) K3(__VA_ARGS__)
#else
#define KFMA(name, ...) K3_(name, MAP_ACTIVE, __VA_ARGS__)
#endif

ARITH_SAT(K2, add_f32, f32, (f32, f32), a + b)
ARITH_SAT(K2, sub_f32, f32, (f32, f32), a - b)
ARITH_SAT(K2, mul_f32, f32, (f32, f32), a *b)
ARITH_SAT(KFMA, fma_f32, f32, (f32, f32, f32), fmaf(a, b, c))
ARITH(K2, div_f32, f32, f32, f32, canon_f32(a / b))
ARITH(K1, rcp_f32, f32, f32, canon_f32(1.0f / a))
ARITH(K1, sqrt_f32, f32, f32, canon_f32(sqrtf(a)))

ARITH(K2, add_f64, f64, f64, f64, a + b)
ARITH(K2, sub_f64, f64, f64, f64, a - b)
ARITH(K2, mul_f64, f64, f64, f64, a *b)
ARITH(KFMA, fma_f64, f64, f64, f64, f64, fma(a, b, c))
ARITH(K2, div_f64, f64, f64, f64, a / b)
ARITH(K1, rcp_f64, f64, f64, 1.0 / a)
ARITH(K1, sqrt_f64, f64, f64, sqrt(a))

/* Two f32 in a 64-bit register. */
#define LOW(v)  bits_f32((u32)(v))
#define HIGH(v) bits_f32((u32)((v) >> 32))
static inline u64 pack_f32x2(f32 lo, f32 hi)
{
	return f32_bits(canon_f32(lo)) | (u64)f32_bits(canon_f32(hi)) << 32;
}
ARITH(K2, add_f32x2, u64, u64, u64, pack_f32x2(LOW(a) + LOW(b), HIGH(a) + HIGH(b)))
ARITH(K2, sub_f32x2, u64, u64, u64, pack_f32x2(LOW(a) - LOW(b), HIGH(a) - HIGH(b)))
ARITH(K2, mul_f32x2, u64, u64, u64, pack_f32x2(LOW(a) * LOW(b), HIGH(a) * HIGH(b)))
ARITH(KFMA, fma_f32x2, u64, u64, u64, u64, pack_f32x2(fmaf(LOW(a), LOW(b), LOW(c)), fmaf(HIGH(a), HIGH(b), HIGH(c))))

/* abs, neg and copysign, on bits. */
static inline u32 canon_u32(u32 v)
{
	return (v & F32_ABS) > 0x7f800000 ? NAN_f32 : v;
}
K1(abs_f32, u32, u32, canon_u32(a &F32_ABS))
K1(neg_f32, u32, u32, canon_u32(a ^ ~F32_ABS))
K1(absftz_f32, u32, u32, canon_u32(flush_u32(a) & F32_ABS))
K1(negftz_f32, u32, u32, canon_u32(flush_u32(a) ^ ~F32_ABS))
K1(abs_f64, u64, u64, a &F64_ABS)
K1(neg_f64, u64, u64, a ^ ~F64_ABS)
K2(copysign_f32, u32, u32, u32, (a & ~F32_ABS) | (b & F32_ABS))
K2(copysign_f64, u64, u64, u64, (a & ~F64_ABS) | (b & F64_ABS))

/*
 * Minimum and maximum, on bits.  -0 is less than +0.  A number wins over a NaN; with .NaN
 * the NaN wins.  .xorsign.abs compares magnitudes and gives the result the sign of the product.
 */
#define PICK(T, F, name) \
	static inline T name##_##F(T a, T b, bool max) \
	{ \
		F fa = bits_##F(a), fb = bits_##F(b); \
		T low = fa < fb ? a : fb < fa ? b : a | b; \
		T high = fa < fb ? b : fb < fa ? a : a & b; \
		T r = max ? high : low; \
\
		r = fa != fa ? b : r; \
		r = fb != fb ? a : r; \
		return fa != fa && fb != fb ? NAN_##F : r; \
	} \
	static inline T name##nan_##F(T a, T b, bool max) \
	{ \
		T r = name##_##F(a, b, max); \
\
		return bits_##F(a) != bits_##F(a) || bits_##F(b) != bits_##F(b) ? NAN_##F : r; \
	}
PICK(u32, f32, pick)
PICK(u64, f64, pick)

static inline u32 xorsign_f32(u32 r, u32 a, u32 b)
{
	bool nan = (r & F32_ABS) > 0x7f800000;

	return nan ? NAN_f32 : (r & F32_ABS) | ((a ^ b) & ~F32_ABS);
}
#define FLUSH(v) (x->in->m.ftz ? flush_u32(v) : (v))
#define MINMAX(name, max) \
	K2(name##_f32, u32, u32, u32, pick_f32(a, b, max)) \
	K2(name##ftz_f32, u32, u32, u32, pick_f32(flush_u32(a), flush_u32(b), max)) \
	K2(name##nan_f32, u32, u32, u32, picknan_f32(FLUSH(a), FLUSH(b), max)) \
	K2(name##xor_f32, u32, u32, u32, xorsign_f32(pick_f32(FLUSH(a) & F32_ABS, FLUSH(b) & F32_ABS, max), a, b)) \
	K2(name##nanxor_f32, u32, u32, u32, \
		xorsign_f32(picknan_f32(FLUSH(a) & F32_ABS, FLUSH(b) & F32_ABS, max), a, b)) \
	K3(name##3_f32, u32, u32, u32, u32, pick_f32(pick_f32(FLUSH(a), FLUSH(b), max), FLUSH(c), max)) \
	K3(name##3abs_f32, u32, u32, u32, u32, \
		pick_f32(pick_f32(FLUSH(a) & F32_ABS, FLUSH(b) & F32_ABS, max), FLUSH(c) & F32_ABS, max)) \
	K3(name##3nan_f32, u32, u32, u32, u32, picknan_f32(picknan_f32(FLUSH(a), FLUSH(b), max), FLUSH(c), max)) \
	K2(name##_f64, u64, u64, u64, pick_f64(a, b, max))
MINMAX(min, false)
MINMAX(max, true)

#define ROW(op, type, fn, sat, nan, xor)   {PTX_OP_##op, PTX_##type, VARIANT(0, sat, 0, nan, xor), fn, fn##_controlled},
#define BOTH(op, fn)                       ROW(op, F32, fn##_f32, 0, 0, 0) ROW(op, F64, fn##_f64, 0, 0, 0)
#define ALL(op, fn)                        BOTH(op, fn) ROW(op, F32, fn##_f32_sat, PTX_SAT, 0, 0) ROW(op, F32X2, fn##_f32x2, 0, 0, 0)
#define PLAIN(op, type, fn, ftz, nan, xor) {PTX_OP_##op, PTX_##type, VARIANT(0, 0, 0, nan, xor), fn, ftz},

/* clang-format off */
static const struct alu_row rows[] = {
	ALL(add, add)
	ALL(sub, sub)
	ALL(mul, mul)
	ALL(fma, fma)
	BOTH(mad, fma) ROW(mad, F32, fma_f32_sat, PTX_SAT, 0, 0)
	BOTH(div, div)
	BOTH(rcp, rcp)
	BOTH(sqrt, sqrt)
	PLAIN(abs, F32, abs_f32, absftz_f32, 0, 0)
	PLAIN(neg, F32, neg_f32, negftz_f32, 0, 0)
	PLAIN(abs, F64, abs_f64, NULL, 0, 0)
	PLAIN(neg, F64, neg_f64, NULL, 0, 0)
	PLAIN(copysign, F32, copysign_f32, NULL, 0, 0) PLAIN(copysign, F64, copysign_f64, NULL, 0, 0)
	PLAIN(min, F32, min_f32, minftz_f32, 0, 0)
	PLAIN(max, F32, max_f32, maxftz_f32, 0, 0)
	PLAIN(min, F32, minnan_f32, NULL, 1, 0)
	PLAIN(max, F32, maxnan_f32, NULL, 1, 0)
	PLAIN(min, F32, minxor_f32, NULL, 0, 1)
	PLAIN(max, F32, maxxor_f32, NULL, 0, 1)
	PLAIN(min, F32, minnanxor_f32, NULL, 1, 1)
	PLAIN(max, F32, maxnanxor_f32, NULL, 1, 1)
	PLAIN(min, F64, min_f64, NULL, 0, 0)
	PLAIN(max, F64, max_f64, NULL, 0, 0)
};
/* clang-format on */

exec_fn alu_float(const struct ptx_inst *in)
{
	bool minmax = in->op == PTX_OP_min || in->op == PTX_OP_max;

	if (minmax && in->m.type[0] == PTX_F32 && in->nops > 3) {
		if (in->m.nan)
			return in->op == PTX_OP_min ? min3nan_f32 : max3nan_f32;
		if (in->m.word) /* .abs */
			return in->op == PTX_OP_min ? min3abs_f32 : max3abs_f32;
		return in->op == PTX_OP_min ? min3_f32 : max3_f32;
	}
	return ALU_FIND(rows, in);
}
