/* Bit operations: logic, shifts, counting, fields and permutation. */
#include "ptx/interp/alu/alu.h"

#define LOGIC(T) \
	K2(and_##T, T, T, T, a &b) \
	K2(or_##T, T, T, T, a | b) \
	K2(xor_##T, T, T, T, a ^ b) \
	K1(not_##T, T, T, ~a) \
	K1(cnot_##T, T, T, a == 0)
LOGIC(u16)
LOGIC(u32)
LOGIC(u64)

/* A predicate is one word with a bit for each lane. */
#define PRED2(name, expr) \
	KERNEL(name##_pred) \
	{ \
		u32 a = pred_src(w, x, 0), b = pred_src(w, x, 1); \
\
		pred_store(w, x->dst, expr); \
	}
PRED2(and, a &b)
PRED2(or, a | b)
PRED2(xor, a ^ b)
KERNEL(not_pred)
{
	pred_store(w, x->dst, ~pred_src(w, x, 0));
}

/* Shifts by the width or more shift out all bits. */
#define SHIFTS(T, S, N) \
	K2(shl_##T, T, T, u32, b < N ? (T)(a << (b & (N - 1))) : 0) \
	K2(shr_##T, T, T, u32, b < N ? a >> (b & (N - 1)) : 0) \
	K2(shr_##S, S, S, u32, a >> (b < N ? b : N - 1))
SHIFTS(u16, s16, 16)
SHIFTS(u32, s32, 32)
SHIFTS(u64, s64, 64)

/* shf: shifts the 64 bits b:a; the amount is taken modulo 32 (.wrap) or limited to 32 (.clamp). */
static inline u32 funnel_left(u32 lo, u32 hi, u32 n)
{
	return (u32)(((u64)hi << 32 | lo) << n >> 32);
}
static inline u32 funnel_right(u32 lo, u32 hi, u32 n)
{
	return (u32)(((u64)hi << 32 | lo) >> n);
}
K3(shf_l_wrap, u32, u32, u32, u32, funnel_left(a, b, c & 31))
K3(shf_l_clamp, u32, u32, u32, u32, funnel_left(a, b, c < 32 ? c : 32))
K3(shf_r_wrap, u32, u32, u32, u32, funnel_right(a, b, c & 31))
K3(shf_r_clamp, u32, u32, u32, u32, funnel_right(a, b, c < 32 ? c : 32))

/* ---- counting ---- */

K1(popc_u32, u32, u32, (u32)__builtin_popcount(a))
K1(popc_u64, u32, u64, (u32)__builtin_popcountll(a))
K1(clz_u32, u32, u32, a ? (u32)__builtin_clz(a | !a) : 32)
K1(clz_u64, u32, u64, a ? (u32)__builtin_clzll(a | !a) : 64)

static inline u32 top_bit(u64 v)
{
	return v ? 63 - (u32)__builtin_clzll(v) : UINT32_MAX;
}
static inline u32 top_shift(u64 v, u32 msb)
{
	return v ? msb - top_bit(v) : UINT32_MAX;
}
#define BFIND(T, value, msb) \
	K1(bfind_##T, u32, T, top_bit(value)) \
	K1(bfindshift_##T, u32, T, top_shift(value, msb))
BFIND(u32, a, 31)
BFIND(u64, a, 63)
BFIND(s32, (u32)(a < 0 ? ~a : a), 31)
BFIND(s64, (u64)(a < 0 ? ~a : a), 63)

static inline u32 reverse_bits(u32 v)
{
	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(v);
}
K1(brev_u32, u32, u32, reverse_bits(a))
K1(brev_u64, u64, u64, (u64)reverse_bits((u32)a) << 32 | reverse_bits((u32)(a >> 32)))

/* The position of the n-th set bit of mask from base: upwards for n > 0, downwards for n < 0, base itself for 0. */
static inline u32 nth_set_bit(u32 mask, u32 base, s32 n)
{
	s32 step = n < 0 ? -1 : 1;
	s64 left = n < 0 ? -(s64)n : n;

	if (base > 31)
		return UINT32_MAX;
	if (n == 0)
		return mask >> base & 1 ? base : UINT32_MAX;
	for (s32 pos = (s32)base; pos >= 0 && pos < 32; pos += step)
		if (mask >> pos & 1 && --left == 0)
			return (u32)pos;
	return UINT32_MAX;
}
K3_(fns, MAP_ACTIVE, u32, u32, u32, s32, nth_set_bit(a, b, c))

/* ---- fields: position and length are taken modulo 256 ---- */

static inline u64 low_ones(u32 n) /* the n lowest bits */
{
	return n < 64 ? (1ull << n) - 1 : UINT64_MAX;
}

static inline u64 extract_field(u64 v, u32 pos, u32 len)
{
	return pos < 64 ? v >> pos & low_ones(len) : 0;
}

static inline u64 extract_signed_field(s64 v, u32 pos, u32 len, u32 msb)
{
	u32 last = pos + len - 1 < msb ? pos + len - 1 : msb;
	u64 sign = len && v >> last & 1 ? ~low_ones(len) : 0;
	u64 field = pos <= msb ? (u64)(v >> pos) & low_ones(len) : v < 0 ? low_ones(len) : 0;

	return len ? field | sign : 0;
}

K3(bfe_u32, u32, u32, u32, u32, (u32)extract_field(a, b & 0xff, c & 0xff))
K3(bfe_u64, u64, u64, u32, u32, extract_field(a, b & 0xff, c & 0xff))
K3(bfe_s32, u32, s32, u32, u32, (u32)extract_signed_field(a, b & 0xff, c & 0xff, 31))
K3(bfe_s64, u64, s64, u32, u32, extract_signed_field(a, b & 0xff, c & 0xff, 63))

static inline u64 insert_field(u64 v, u64 into, u32 pos, u32 len)
{
	u64 mask = pos < 64 ? low_ones(len) << pos : 0;

	return pos < 64 ? (into & ~mask) | (v << pos & mask) : into;
}
#define BFI(T) \
	KERNEL(bfi_##T) \
	{ \
		const T *v = SRC(w, x, 0, T), *into = SRC(w, x, 1, T); \
		const u32 *pos = SRC(w, x, 2, u32), *len = SRC(w, x, 3, u32); \
		T *d = DST(w, x, T); \
\
		MAP(w, d, T, insert_field(v[i], into[i], pos[i] & 0xff, len[i] & 0xff)); \
	}
BFI(u32)
BFI(u64)

/* bmsk: `len` ones, starting at bit `pos`. */
static inline u32 mask_wrap(u32 pos, u32 len)
{
	u32 from = pos & 31, to = from + (len & 31);

	return (u32)(low_ones(to) & ~low_ones(from));
}
static inline u32 mask_clamp(u32 pos, u32 len)
{
	u32 to = len < 32 ? (pos & 31) + len : 32;

	return pos < 32 ? (u32)(low_ones(to) & ~low_ones(pos)) : 0;
}
K2(bmsk_wrap, u32, u32, u32, mask_wrap(a, b))
K2(bmsk_clamp, u32, u32, u32, mask_clamp(a, b))

/* szext: sign-extends or zero-extends the lowest n bits. */
static inline u32 zero_extend(u32 v, u32 n)
{
	return v & (u32)low_ones(n);
}
static inline u32 sign_extend(u32 v, u32 n)
{
	return n == 0 ? 0 : (u32)((s32)(v << (32 - n)) >> (32 - n));
}
K2(szext_wrap_u32, u32, u32, u32, zero_extend(a, b & 31))
K2(szext_wrap_s32, u32, u32, u32, sign_extend(a, b & 31))
K2(szext_clamp_u32, u32, u32, u32, zero_extend(a, b < 32 ? b : 32))
K2(szext_clamp_s32, u32, u32, u32, sign_extend(a, b < 32 ? b : 32))

/* ---- three-way logic and permutation ---- */

/* The result of bits a, b and c is bit abc of the table. */
static inline u32 lop3_word(u32 a, u32 b, u32 c, u32 table)
{
	u32 r = 0;

	r |= ~a & ~b & ~c & -(table & 1);
	r |= ~a & ~b & c & -(table >> 1 & 1);
	r |= ~a & b & ~c & -(table >> 2 & 1);
	r |= ~a & b & c & -(table >> 3 & 1);
	r |= a & ~b & ~c & -(table >> 4 & 1);
	r |= a & ~b & c & -(table >> 5 & 1);
	r |= a & b & ~c & -(table >> 6 & 1);
	r |= a & b & c & -(table >> 7 & 1);
	return r;
}

KERNEL(lop3_b32)
{
	const u32 *a = SRC(w, x, 0, u32), *b = SRC(w, x, 1, u32), *c = SRC(w, x, 2, u32);
	const u32 table = (u32)x->in->ops[5].imm;
	u32 *d = DST(w, x, u32);

	MAP(w, d, u32, lop3_word(a[i], b[i], c[i], table));
}

/* lop3.and d|p, a, b, c, table, q: additionally p = (d != 0) and q. */
KERNEL(lop3_pred)
{
	const u32 *d = DST(w, x, u32);
	u32 p = 0, q = pred_src(w, x, 4);

	lop3_b32(w, x);
	for (unsigned i = 0; i < LANES; i++)
		p |= (u32)(d[i] != 0) << i;
	pred_store(w, x->dst2, x->in->m.op == PTX_A_AND ? p & q : x->in->m.op == PTX_A_OR ? p | q : p ^ q);
}

/* Selects four of the bytes of b:a; bit 3 of a selector replicates the byte's sign bit instead. */
static inline u32 permute_bytes(u32 a, u32 b, u32 sel)
{
	u64 bytes = (u64)b << 32 | a;
	u32 r = 0;

	for (unsigned n = 0; n < 4; n++) {
		u32 s = sel >> 4 * n & 15;
		u32 byte = bytes >> 8 * (s & 7) & 0xff;

		if (s & 8)
			byte = byte & 0x80 ? 0xff : 0;
		r |= byte << 8 * n;
	}
	return r;
}
K3(prmt_b32, u32, u32, u32, u32, permute_bytes(a, b, c))

/* The named modes, as selectors for each value of c. */
KERNEL(prmt_mode)
{
	static const u16 selectors[][4] = {
		[PTX_PRMT_F4E - PTX_PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543},
		[PTX_PRMT_B4E - PTX_PRMT_F4E] = {0x5670, 0x6701, 0x7012, 0x0123},
		[PTX_PRMT_RC8 - PTX_PRMT_F4E] = {0x0000, 0x1111, 0x2222, 0x3333},
		[PTX_PRMT_ECL - PTX_PRMT_F4E] = {0x3210, 0x3211, 0x3222, 0x3333},
		[PTX_PRMT_ECR - PTX_PRMT_F4E] = {0x0000, 0x1110, 0x2210, 0x3210},
		[PTX_PRMT_RC16 - PTX_PRMT_F4E] = {0x1010, 0x3232, 0x1010, 0x3232},
	};
	const u32 *a = SRC(w, x, 0, u32), *b = SRC(w, x, 1, u32), *c = SRC(w, x, 2, u32);
	const u16 *sel = selectors[x->in->m.mode - PTX_PRMT_F4E];
	u32 *d = DST(w, x, u32);

	MAP(w, d, u32, permute_bytes(a[i], b[i], sel[c[i] & 3]));
}

#define ROW(op, type, fn) {PTX_OP_##op, PTX_##type, 0, fn, NULL},
#define WIDTHS(op, fn)    ROW(op, B16, fn##_u16) ROW(op, B32, fn##_u32) ROW(op, B64, fn##_u64)
#define WIDTHS2(op, fn)   ROW(op, B32, fn##_u32) ROW(op, B64, fn##_u64)
#define SIGNS(op, fn)     ROW(op, U32, fn##_u32) ROW(op, U64, fn##_u64) ROW(op, S32, fn##_s32) ROW(op, S64, fn##_s64)

/* clang-format off */
static const struct alu_row rows[] = {
	WIDTHS(and, and)
	WIDTHS(or, or)
	WIDTHS(xor, xor)
	WIDTHS(not, not)
	WIDTHS(cnot, cnot)
	ROW(and, PRED, and_pred)
	ROW(or, PRED, or_pred)
	ROW(xor, PRED, xor_pred)
	ROW(not, PRED, not_pred)
	WIDTHS(shl, shl)
	WIDTHS(shr, shr) SIGNS(shr, shr) ROW(shr, U16, shr_u16) ROW(shr, S16, shr_s16)
	WIDTHS2(popc, popc)
	WIDTHS2(clz, clz)
	WIDTHS2(brev, brev)
	WIDTHS2(bfi, bfi)
	SIGNS(bfe, bfe)
	ROW(fns, B32, fns)
};
/* clang-format on */

exec_fn alu_bits(const struct ptx_inst *in)
{
	static const struct alu_row find[] = {SIGNS(bfind, bfind)};
	static const struct alu_row shift[] = {SIGNS(bfind, bfindshift)};
	const struct ptx_mods *m = &in->m;
	bool clamp = m->wrap == PTX_CLAMP;

	switch (in->op) {
	case PTX_OP_bfind:
		return m->shiftamt ? ALU_FIND(shift, in) : ALU_FIND(find, in);
	case PTX_OP_bmsk:
		return clamp ? bmsk_clamp : bmsk_wrap;
	case PTX_OP_szext:
		if (m->type[0] == PTX_S32)
			return clamp ? szext_clamp_s32 : szext_wrap_s32;
		return clamp ? szext_clamp_u32 : szext_wrap_u32;
	case PTX_OP_shf:
		if (m->mode == PTX_SHF_L)
			return clamp ? shf_l_clamp : shf_l_wrap;
		return clamp ? shf_r_clamp : shf_r_wrap;
	case PTX_OP_lop3:
		return m->op ? lop3_pred : lop3_b32;
	case PTX_OP_prmt:
		return m->mode ? prmt_mode : prmt_b32;
	default:
		return ALU_FIND(rows, in);
	}
}
