/*
 * The video instructions: arithmetic on selected bytes and halves of words (vadd ... vset),
 * and on all bytes or halves of a word at once (vadd4, vadd2 ...).  They are rare, so that
 * one function for all of them may interpret the modifiers at run time.
 *
 *	scalar	t = a.sel op b.sel;  saturate;  d = t | t op2 c | c with t at d.sel
 *	SIMD	the same for each element; .add: d = c + the sum of all
 */
#include "ptx/interp/alu/alu.h"

enum video_op { V_ADD, V_SUB, V_ABSDIFF, V_MIN, V_MAX, V_AVRG, V_SHL, V_SHR, V_MAD, V_SET };

static enum video_op video_op(unsigned op)
{
	switch (op) {
	case PTX_OP_vadd:
	case PTX_OP_vadd2:
	case PTX_OP_vadd4:
		return V_ADD;
	case PTX_OP_vsub:
	case PTX_OP_vsub2:
	case PTX_OP_vsub4:
		return V_SUB;
	case PTX_OP_vabsdiff:
	case PTX_OP_vabsdiff2:
	case PTX_OP_vabsdiff4:
		return V_ABSDIFF;
	case PTX_OP_vmin:
	case PTX_OP_vmin2:
	case PTX_OP_vmin4:
		return V_MIN;
	case PTX_OP_vmax:
	case PTX_OP_vmax2:
	case PTX_OP_vmax4:
		return V_MAX;
	case PTX_OP_vavrg2:
	case PTX_OP_vavrg4:
		return V_AVRG;
	case PTX_OP_vshl:
		return V_SHL;
	case PTX_OP_vshr:
		return V_SHR;
	case PTX_OP_vmad:
		return V_MAD;
	default:
		return V_SET;
	}
}

static bool comparison_holds(unsigned cmp, s64 a, s64 b)
{
	switch (cmp) {
	case PTX_EQ:
		return a == b;
	case PTX_NE:
		return a != b;
	case PTX_LT:
	case PTX_CMP_LO:
		return a < b;
	case PTX_LE:
	case PTX_CMP_LS:
		return a <= b;
	case PTX_GT:
	case PTX_CMP_HI:
		return a > b;
	default:
		return a >= b;
	}
}

static s64 clamp_to(s64 v, unsigned bits, bool sign)
{
	s64 top = sign ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1, low = sign ? -top - 1 : 0;

	return v > top ? top : v < low ? low : v;
}

static s64 apply_video_op(const struct ptx_inst *in, s64 a, s64 b)
{
	u32 n;

	switch (video_op(in->op)) {
	case V_ADD:
		return a + b;
	case V_SUB:
		return a - b;
	case V_ABSDIFF:
		return a < b ? b - a : a - b;
	case V_MIN:
		return a < b ? a : b;
	case V_MAX:
		return a > b ? a : b;
	case V_AVRG:
		return (a + b + (a + b >= 0)) >> 1;
	case V_SHL:
	case V_SHR:
		n = in->m.wrap == PTX_WRAP ? (u32)b & 31 : (u32)b < 32 ? (u32)b : 32;
		if (video_op(in->op) == V_SHR)
			return a >> n;
		/* A shift by 32 leaves only what .sat needs: the sign, and a magnitude out of range. */
		return (s64)((u64)(n < 32 ? a : clamp_to(a, 32, true)) << n);
	default:
		return comparison_holds(in->m.cmp, a, b);
	}
}

static s64 word_element(u32 v, unsigned shift, unsigned bits, bool sign)
{
	u32 up = v >> shift << (32 - bits);

	return sign ? (s32)up >> (32 - bits) : (s64)(up >> (32 - bits));
}

static s64 select_element(u32 v, unsigned sel, bool sign)
{
	if (sel >= PTX_SEL_B0 && sel <= PTX_SEL_B3)
		return word_element(v, 8 * (sel - PTX_SEL_B0), 8, sign);
	if (sel == PTX_SEL_H0 || sel == PTX_SEL_H1)
		return word_element(v, 16 * (sel - PTX_SEL_H0), 16, sign);
	return word_element(v, 0, 32, sign);
}

/* Types are result, a, b; vset has no result type. */
static bool video_type_signed(const struct ptx_inst *in, unsigned n)
{
	bool set = video_op(in->op) == V_SET;

	if (set && n == 0)
		return false;
	return in->m.type[set ? n - 1 : n] == PTX_S32;
}

static u32 apply_second_op(unsigned op, u32 t, u32 c, bool sign)
{
	bool less = sign ? (s32)t < (s32)c : t < c;

	switch (op) {
	case PTX_A_ADD:
		return t + c;
	case PTX_A_MIN:
		return less ? t : c;
	default:
		return less ? c : t;
	}
}

static u32 scalar_result(const struct ptx_inst *in, u32 a, u32 b, u32 c)
{
	unsigned dsel = in->ops[0].comp, bits = !dsel ? 32 : dsel < PTX_SEL_H0 ? 8 : 16, shift;
	bool sign = video_type_signed(in, 0);
	s64 t = apply_video_op(in, select_element(a, in->ops[1].comp, video_type_signed(in, 1)),
		select_element(b, in->ops[2].comp, video_type_signed(in, 2)));
	u32 mask;

	if (in->m.sat)
		t = clamp_to(t, bits, sign);
	if (in->m.op)
		return apply_second_op(in->m.op, (u32)t, c, sign);
	if (!dsel)
		return (u32)t;
	shift = bits == 8 ? 8 * (dsel - PTX_SEL_B0) : 16 * (dsel - PTX_SEL_H0);
	mask = (bits == 8 ? 0xffu : 0xffffu) << shift;
	return (c & ~mask) | ((u32)t << shift & mask);
}

/* True if the mask of the result selects element i; else that element comes from c. */
static bool is_written(const struct ptx_operand *d, unsigned i, unsigned bits)
{
	if (!d->comp)
		return true;
	if (d->comp < PTX_SEL_BYTES)
		return d->comp == (bits == 8 ? PTX_SEL_B0 : PTX_SEL_H0) + i;
	for (u32 digits = d->n; digits > 1; digits >>= 4)
		if ((digits & 15) == i)
			return true;
	return false;
}

/* Selector digits number the elements of a, then those of b; the default of operand o starts at `first`. */
static s64 simd_element(const struct ptx_operand *o, u32 a, u32 b, unsigned i, unsigned first, unsigned bits, bool sign)
{
	unsigned n = o->comp ? o->n >> 4 * i & 15 : first + i, each = 32 / bits;

	return word_element(n < each ? a : b, n % each * bits, bits, sign);
}

static u32 simd_result(const struct ptx_inst *in, u32 a, u32 b, u32 c, unsigned bits)
{
	u32 r = in->m.op ? c : 0, mask = (1u << bits) - 1;

	for (unsigned i = 0, each = 32 / bits; i < each; i++) {
		bool on = is_written(&in->ops[0], i, bits);
		s64 t = apply_video_op(in, simd_element(&in->ops[1], a, b, i, 0, bits, video_type_signed(in, 1)),
			simd_element(&in->ops[2], a, b, i, each, bits, video_type_signed(in, 2)));

		if (in->m.sat)
			t = clamp_to(t, bits, video_type_signed(in, 0));
		if (in->m.op)
			r += on ? (u32)t : 0;
		else
			r |= on ? ((u32)t & mask) << i * bits : c & mask << i * bits;
	}
	return r;
}

/*
 * vmad: (a * b + c) >> 7 or 15, with product or c optionally negated; .po adds one.  The manual says that a, b and c
 * are unsigned if their types are; an H200 nevertheless treats whole words as signed.  Clamping follows the manual:
 * to the unsigned range only if nothing is signed or negated; the shift then inserts zeros.
 */
static u32 multiply_add(const struct ptx_inst *in, u32 a, u32 b, u32 c)
{
	bool minus = in->ops[1].neg != in->ops[2].neg, minus_c = in->ops[3].neg;
	bool sign = video_type_signed(in, 1) || video_type_signed(in, 2) || minus || minus_c;
	unsigned shift = in->m.mode == PTX_SHR7 ? 7 : in->m.mode == PTX_SHR15 ? 15 : 0;
	s64 t = (s64)(s32)select_element(a, in->ops[1].comp, video_type_signed(in, 1)) *
		(s32)select_element(b, in->ops[2].comp, video_type_signed(in, 2));

	t = ((minus ? -t : t) + (minus_c ? -(s64)(s32)c : (s32)c) + in->m.po) >> shift;
	if (in->m.sat && shift && !sign && t < 0)
		return UINT32_MAX;
	return (u32)(in->m.sat ? clamp_to(t, 32, sign) : t);
}

#define VIDEO(name, expr) \
	KERNEL(name) \
	{ \
		const u32 *a = SRC(w, x, 0, u32), *b = SRC(w, x, 1, u32); \
		const u32 *c = x->src[2] == NO_SLOT ? NULL : SRC(w, x, 2, u32); \
		u32 *d = DST(w, x, u32); \
\
		MAP_ACTIVE(w, d, u32, expr); \
	}
VIDEO(video_scalar, scalar_result(x->in, a[i], b[i], c ? c[i] : 0))
VIDEO(video_mad, multiply_add(x->in, a[i], b[i], c ? c[i] : 0))
VIDEO(video_simd2, simd_result(x->in, a[i], b[i], c ? c[i] : 0, 16))
VIDEO(video_simd4, simd_result(x->in, a[i], b[i], c ? c[i] : 0, 8))

exec_fn alu_video(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_vadd:
	case PTX_OP_vsub:
	case PTX_OP_vabsdiff:
	case PTX_OP_vmin:
	case PTX_OP_vmax:
	case PTX_OP_vshl:
	case PTX_OP_vshr:
	case PTX_OP_vset:
		return video_scalar;
	case PTX_OP_vmad:
		return video_mad;
	case PTX_OP_vadd2:
	case PTX_OP_vsub2:
	case PTX_OP_vabsdiff2:
	case PTX_OP_vmin2:
	case PTX_OP_vmax2:
	case PTX_OP_vavrg2:
	case PTX_OP_vset2:
		return video_simd2;
	case PTX_OP_vadd4:
	case PTX_OP_vsub4:
	case PTX_OP_vabsdiff4:
	case PTX_OP_vmin4:
	case PTX_OP_vmax4:
	case PTX_OP_vavrg4:
	case PTX_OP_vset4:
		return video_simd4;
	default:
		return NULL;
	}
}
