/* Integer arithmetic, except carries (alu_carry.c) and bit fields (alu_bits.c). */
#include "ptx/interp/alu/alu.h"

/* Division never traps: a zero divisor gives all ones, and the smallest number divided by -1 wraps. */
#define UDIV(a, b)       ((b) ? (a) / (b) : (__typeof__(a))-1)
#define UREM(a, b)       ((b) ? (a) % (b) : (__typeof__(a))-1)
#define SDIV(a, b)       ((b) == 0 ? -1 : (b) == -1 ? (__typeof__(a))(0 - (u64)(a)) : (a) / (b))
#define SREM(a, b)       ((b) == 0 ? -1 : (b) == -1 ? 0 : (a) % (b))
#define MIN(a, b)        ((a) < (b) ? (a) : (b))
#define MAX(a, b)        ((a) > (b) ? (a) : (b))
#define HIGH(W, N, a, b) (((W)(a) * (W)(b)) >> (N))

/* T unsigned and S signed of N bits; W and V the same twice as wide; M holds a product of T modulo 2^N. */
#define FAMILY(T, S, W, V, M, N) \
	K2(add_##T, T, T, T, a + b) \
	K2(sub_##T, T, T, T, a - b) \
	K2(mul_##T, T, T, T, (T)((M)a * b)) \
	K3(mad_##T, T, T, T, T, (T)((M)a * b + c)) \
	K2(mulhi_##T, T, T, T, (T)HIGH(W, N, a, b)) \
	K2(mulhi_##S, S, S, S, (S)HIGH(V, N, a, b)) \
	K3(madhi_##T, T, T, T, T, (T)(HIGH(W, N, a, b) + c)) \
	K3(madhi_##S, S, S, S, S, (S)((T)HIGH(V, N, a, b) + (T)c)) \
	K2_(div_##T, MAP_ACTIVE, T, T, T, UDIV(a, b)) \
	K2_(div_##S, MAP_ACTIVE, S, S, S, SDIV(a, b)) \
	K2_(rem_##T, MAP_ACTIVE, T, T, T, UREM(a, b)) \
	K2_(rem_##S, MAP_ACTIVE, S, S, S, SREM(a, b)) \
	K1(abs_##S, T, T, (S)a < 0 ? -a : a) \
	K1(neg_##S, T, T, -a) \
	K2(min_##T, T, T, T, MIN(a, b)) \
	K2(min_##S, S, S, S, MIN(a, b)) \
	K2(max_##T, T, T, T, MAX(a, b)) \
	K2(max_##S, S, S, S, MAX(a, b)) \
	K3(sad_##T, T, T, T, T, (T)(c + (a < b ? b - a : a - b))) \
	K3(sad_##S, T, T, T, T, (T)(c + ((S)a < (S)b ? b - a : a - b)))

typedef unsigned __int128 u128;
typedef __int128 s128;
FAMILY(u16, s16, u32, s32, u32, 16)
FAMILY(u32, s32, u64, s64, u32, 32)
FAMILY(u64, s64, u128, s128, u64, 64)

K2(mulwide_u16, u32, u16, u16, (u32)a *b)
K2(mulwide_s16, s32, s16, s16, (s32)a *b)
K2(mulwide_u32, u64, u32, u32, (u64)a *b)
K2(mulwide_s32, s64, s32, s32, (s64)a *b)
K3(madwide_u16, u32, u16, u16, u32, (u32)a *b + c)
K3(madwide_s16, u32, s16, s16, u32, (u32)((s32)a *b) + c)
K3(madwide_u32, u64, u32, u32, u64, (u64)a *b + c)
K3(madwide_s32, u64, s32, s32, u64, (u64)((s64)a *b) + c)

static inline s32 clamp_s32(s64 v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (s32)v;
}
K2(addsat_s32, s32, s32, s32, clamp_s32((s64)a + b))
K2(subsat_s32, s32, s32, s32, clamp_s32((s64)a - b))
K3(madhisat_s32, s32, s32, s32, s32, clamp_s32((s64)(s32)HIGH(s64, 32, a, b) + c))
K2(minrelu_s32, s32, s32, s32, MAX(MIN(a, b), 0))
K2(maxrelu_s32, s32, s32, s32, MAX(MAX(a, b), 0))

/* The low 24 bits of each operand. .hi: bits 47..16 of the product. */
static inline s64 sign_extend_24(u32 v)
{
	return (s32)(v << 8) >> 8;
}
static inline u64 product_u24(u32 a, u32 b)
{
	return (u64)(a & 0xffffff) * (b & 0xffffff);
}
static inline u64 product_s24(u32 a, u32 b)
{
	return sign_extend_24(a) * sign_extend_24(b);
}
K2(mul24lo_u32, u32, u32, u32, (u32)product_u24(a, b))
K2(mul24hi_u32, u32, u32, u32, (u32)(product_u24(a, b) >> 16))
K2(mul24lo_s32, u32, u32, u32, (u32)product_s24(a, b))
K2(mul24hi_s32, u32, u32, u32, (u32)(product_s24(a, b) >> 16))
K3(mad24lo_u32, u32, u32, u32, u32, (u32)product_u24(a, b) + c)
K3(mad24hi_u32, u32, u32, u32, u32, (u32)(product_u24(a, b) >> 16) + c)
K3(mad24lo_s32, u32, u32, u32, u32, (u32)product_s24(a, b) + c)
K3(mad24hi_s32, u32, u32, u32, u32, (u32)(product_s24(a, b) >> 16) + c)
K3(mad24hisat_s32, s32, u32, u32, s32, clamp_s32((s64)(s32)(product_s24(a, b) >> 16) + c))

/* Two 16-bit numbers in one word. */
#define BOTH(T, op)   ((u32)(u16)op((T)a, (T)b) | (u32)(u16)op((T)(a >> 16), (T)(b >> 16)) << 16)
#define ADD(a, b)     ((a) + (b))
#define SUB(a, b)     ((a) - (b))
#define MINRELU(a, b) MAX(MIN(a, b), 0)
#define MAXRELU(a, b) MAX(MAX(a, b), 0)
K2(add_16x2, u32, u32, u32, BOTH(u16, ADD))
K2(sub_16x2, u32, u32, u32, BOTH(u16, SUB))
K2(min_u16x2, u32, u32, u32, BOTH(u16, MIN))
K2(max_u16x2, u32, u32, u32, BOTH(u16, MAX))
K2(min_s16x2, u32, u32, u32, BOTH(s16, MIN))
K2(max_s16x2, u32, u32, u32, BOTH(s16, MAX))
K2(minrelu_s16x2, u32, u32, u32, BOTH(s16, MINRELU))
K2(maxrelu_s16x2, u32, u32, u32, BOTH(s16, MAXRELU))

/* dp4a and dp2a: sums of products. The suffixes are the types of a's and b's elements. */
#define BYTE(T, v, n) ((s32)(T)((v) >> 8 * (n)))
#define HALF(T, v, n) ((s32)(T)((v) >> 16 * (n)))
#define DOT(A, B, A16, B8) \
	K3(dp4a_##A##B, u32, u32, u32, u32, \
		c + (u32)(BYTE(A, a, 0) * BYTE(B, b, 0) + BYTE(A, a, 1) * BYTE(B, b, 1) + \
			    BYTE(A, a, 2) * BYTE(B, b, 2) + BYTE(A, a, 3) * BYTE(B, b, 3))) \
	K3(dp2alo_##A##B, u32, u32, u32, u32, \
		c + (u32)(HALF(A16, a, 0) * BYTE(B8, b, 0)) + (u32)(HALF(A16, a, 1) * BYTE(B8, b, 1))) \
	K3(dp2ahi_##A##B, u32, u32, u32, u32, \
		c + (u32)(HALF(A16, a, 0) * BYTE(B8, b, 2)) + (u32)(HALF(A16, a, 1) * BYTE(B8, b, 3)))
DOT(u8, u8, u16, u8)
DOT(u8, s8, u16, s8)
DOT(s8, u8, s16, u8)
DOT(s8, s8, s16, s8)

#define ROW(op, type, fn, half, sat, relu) {PTX_OP_##op, PTX_##type, VARIANT(half, sat, relu, 0, 0), fn, NULL},
#define PLAIN(op, type, fn)                ROW(op, type, fn, 0, 0, 0)
/* SAME: one kernel for signed and unsigned. EITHER: one kernel for each. */
#define SAME(op, fn, h) \
	ROW(op, U16, fn##_u16, h, 0, 0) \
	ROW(op, S16, fn##_u16, h, 0, 0) \
	ROW(op, U32, fn##_u32, h, 0, 0) \
	ROW(op, S32, fn##_u32, h, 0, 0) \
	ROW(op, U64, fn##_u64, h, 0, 0) \
	ROW(op, S64, fn##_u64, h, 0, 0)
#define SIGNED(op, fn, h) \
	ROW(op, S16, fn##_s16, h, 0, 0) \
	ROW(op, S32, fn##_s32, h, 0, 0) \
	ROW(op, S64, fn##_s64, h, 0, 0)
#define EITHER(op, fn, h) \
	SIGNED(op, fn, h) \
	ROW(op, U16, fn##_u16, h, 0, 0) \
	ROW(op, U32, fn##_u32, h, 0, 0) \
	ROW(op, U64, fn##_u64, h, 0, 0)
#define WIDE(op, fn) \
	ROW(op, U16, fn##_u16, PTX_WIDE, 0, 0) \
	ROW(op, S16, fn##_s16, PTX_WIDE, 0, 0) \
	ROW(op, U32, fn##_u32, PTX_WIDE, 0, 0) \
	ROW(op, S32, fn##_s32, PTX_WIDE, 0, 0)

/* clang-format off */
static const struct alu_row rows[] = {
	SAME(add, add, 0)
	SAME(sub, sub, 0)
	SAME(mul, mul, PTX_LO) EITHER(mul, mulhi, PTX_HI)
	WIDE(mul_wide, mulwide)
	SAME(mad, mad, PTX_LO) EITHER(mad, madhi, PTX_HI)
	WIDE(mad_wide, madwide)
	EITHER(div, div, 0)
	EITHER(rem, rem, 0)
	EITHER(min, min, 0)
	EITHER(max, max, 0)
	EITHER(sad, sad, 0)
	SIGNED(abs, abs, 0)
	SIGNED(neg, neg, 0)
	ROW(add, S32, addsat_s32, 0, PTX_SAT, 0)
	ROW(sub, S32, subsat_s32, 0, PTX_SAT, 0)
	ROW(mad, S32, madhisat_s32, PTX_HI, PTX_SAT, 0)
	ROW(min, S32, minrelu_s32, 0, 0, 1)
	ROW(max, S32, maxrelu_s32, 0, 0, 1)
	ROW(mul24, U32, mul24lo_u32, PTX_LO, 0, 0) ROW(mul24, S32, mul24lo_s32, PTX_LO, 0, 0)
	ROW(mul24, U32, mul24hi_u32, PTX_HI, 0, 0) ROW(mul24, S32, mul24hi_s32, PTX_HI, 0, 0)
	ROW(mad24, U32, mad24lo_u32, PTX_LO, 0, 0) ROW(mad24, S32, mad24lo_s32, PTX_LO, 0, 0)
	ROW(mad24, U32, mad24hi_u32, PTX_HI, 0, 0) ROW(mad24, S32, mad24hi_s32, PTX_HI, 0, 0)
	ROW(mad24, S32, mad24hisat_s32, PTX_HI, PTX_SAT, 0)
	PLAIN(add, U16X2, add_16x2) PLAIN(add, S16X2, add_16x2)
	PLAIN(sub, U16X2, sub_16x2) PLAIN(sub, S16X2, sub_16x2)
	PLAIN(min, U16X2, min_u16x2)
	PLAIN(max, U16X2, max_u16x2)
	PLAIN(min, S16X2, min_s16x2)
	PLAIN(max, S16X2, max_s16x2)
	ROW(min, S16X2, minrelu_s16x2, 0, 0, 1)
	ROW(max, S16X2, maxrelu_s16x2, 0, 0, 1)
};
/* clang-format on */

#define PICK(fn) (as ? (bs ? fn##_s8s8 : fn##_s8u8) : (bs ? fn##_u8s8 : fn##_u8u8))

exec_fn alu_int(const struct ptx_inst *in)
{
	bool as = in->m.type[0] == PTX_S32, bs = in->m.type[1] == PTX_S32;

	if (in->op == PTX_OP_dp4a)
		return PICK(dp4a);
	if (in->op == PTX_OP_dp2a)
		return in->m.half == PTX_HI ? PICK(dp2ahi) : PICK(dp2alo);
	return in->m.cc ? NULL : ALU_FIND(rows, in);
}
