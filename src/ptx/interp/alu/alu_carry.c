/* add.cc, addc, sub.cc, subc, mad.cc and madc. The carry flag is w->cc, one bit per lane. */
#include "ptx/interp/alu/alu.h"

/*
 * As on a GPU, a subtraction is a + ~b + 1 and sets CC to the carry of that sum: 1 if it did not borrow.  subc is
 * a + ~b + CC.  Chains of sub.cc and subc do not show it, but an addc after them does: compilers divide 128-bit
 * integers with one.  first: the carry into an instruction that does not read CC.
 */
#define CARRY_LOOP(T, carry_in, first, compute) \
	const bool in = (carry_in), out = x->in->m.cc; \
	T *d = DST(w, x, T); \
\
	FOR_ACTIVE(w, i) \
	{ \
		T c0 = in ? w->cc >> i & 1 : (first), r; \
		bool c1, c2; \
\
		compute; \
		d[i] = r; \
		if (out) \
			w->cc = (w->cc & ~(1u << i)) | (u32)(c1 | c2) << i; \
	}

#define FAMILY(T, S, W, V, N) \
	KERNEL(add_##T) \
	{ \
		const T *a = SRC(w, x, 0, T), *b = SRC(w, x, 1, T); \
\
		CARRY_LOOP(T, x->in->op == PTX_OP_addc, 0, { \
			c1 = __builtin_add_overflow(a[i], b[i], &r); \
			c2 = __builtin_add_overflow(r, c0, &r); \
		}) \
	} \
	KERNEL(sub_##T) \
	{ \
		const T *a = SRC(w, x, 0, T), *b = SRC(w, x, 1, T); \
\
		CARRY_LOOP(T, x->in->op == PTX_OP_subc, 1, { \
			c1 = __builtin_add_overflow(a[i], (T)~b[i], &r); \
			c2 = __builtin_add_overflow(r, c0, &r); \
		}) \
	} \
	static inline T product_##T(T a, T b, bool high, bool sign) \
	{ \
		if (!high) \
			return a * b; \
		return sign ? (T)((V)(S)a * (S)b >> N) : (T)((W)a * b >> N); \
	} \
	KERNEL(mad_##T) \
	{ \
		const T *a = SRC(w, x, 0, T), *b = SRC(w, x, 1, T), *c = SRC(w, x, 2, T); \
		const bool high = x->in->m.half == PTX_HI; \
		const bool sign = x->in->m.type[0] == PTX_S32 || x->in->m.type[0] == PTX_S64; \
\
		CARRY_LOOP(T, x->in->op == PTX_OP_madc, 0, { \
			c1 = __builtin_add_overflow(product_##T(a[i], b[i], high, sign), c[i], &r); \
			c2 = __builtin_add_overflow(r, c0, &r); \
		}) \
	}

typedef unsigned __int128 u128;
typedef __int128 s128;
FAMILY(u32, s32, u64, s64, 32)
FAMILY(u64, s64, u128, s128, 64)

exec_fn alu_carry(const struct ptx_inst *in)
{
	bool wide = ptx_type_bits(in->m.type[0]) == 64, small = ptx_type_bits(in->m.type[0]) < 32;

	switch (in->op) {
	case PTX_OP_add:
		return in->m.cc && !small && !in->m.sat ? (wide ? add_u64 : add_u32) : NULL;
	case PTX_OP_sub:
		return in->m.cc && !small && !in->m.sat ? (wide ? sub_u64 : sub_u32) : NULL;
	case PTX_OP_mad:
		return in->m.cc && !small && !in->m.sat ? (wide ? mad_u64 : mad_u32) : NULL;
	case PTX_OP_addc:
		return wide ? add_u64 : add_u32;
	case PTX_OP_subc:
		return wide ? sub_u64 : sub_u32;
	case PTX_OP_madc:
		return wide ? mad_u64 : mad_u32;
	default:
		return NULL;
	}
}
