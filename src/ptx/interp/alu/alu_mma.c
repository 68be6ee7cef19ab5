/*
 * mma.sync and movmatrix: small matrix products by a whole warp.
 *
 * Lane = 4 * group + member.  A register holds e neighbouring elements (e = 32 bits
 * over the element's; 1 for f64):
 *
 *	A (m x k)  register r: row group + 8 (r odd, m = 16), columns from 4e (r / 2) + e member
 *	B (k x n)  register r: column group, rows from 4e r + e member
 *	C, D	   rows group and group + 8, columns 2 member and the next
 *
 * Products of narrow floats are summed in f64 and rounded once, which is more accurate than
 * the hardware.
 */
#include "ptx/interp/alu/alu_float.h"
#include "ptx/interp/alu/half.h"
#include <math.h>

enum { MAX_M = 16, MAX_N = 8, MAX_K = 64 };

struct mma_tile {
	f64 f[MAX_M][MAX_K]; /* A; B lies transposed */
	s32 i[MAX_M][MAX_K];
};

static inline bool is_int(unsigned type)
{
	return ptx_type_kind(type) == PTX_KIND_INT;
}

/* The slot of register r of a fragment; src -1 is the result. */
static const void *fragment_register(const struct warp *w, const struct xinst *x, int src, unsigned r)
{
	const struct ptx_operand *o = &x->in->ops[src + 1];
	uint32_t at = src < 0 ? x->dst : x->src[src];

	return SLOT(w, o->kind == PTX_O_VEC ? x->list[at + r] : at, void);
}

static unsigned fragment_registers(const struct xinst *x, int src)
{
	const struct ptx_operand *o = &x->in->ops[src + 1];

	return o->kind == PTX_O_VEC ? o->n : 1;
}

static f64 float_element(unsigned type, const void *reg, unsigned lane, unsigned j)
{
	switch (type) {
	case PTX_F64:
		return ((const f64 *)reg)[lane];
	case PTX_F32:
		return ((const f32 *)reg)[lane];
	case PTX_TF32:
		return bits_f32(((const u32 *)reg)[lane] & 0xffffe000);
	case PTX_BF16:
		return bf16_to_f32(((const u32 *)reg)[lane] >> 16 * j & 0xffff);
	default:
		return f16_to_f32(((const u32 *)reg)[lane] >> 16 * j & 0xffff);
	}
}

static s32 int_element(unsigned type, const void *reg, unsigned lane, unsigned j)
{
	unsigned bits = ptx_type_bits(type);
	u32 up = ((const u32 *)reg)[lane] >> bits * j << (32 - bits);
	bool sign = type == PTX_S8 || type == PTX_S4;

	return sign ? (s32)up >> (32 - bits) : (s32)(up >> (32 - bits));
}

/* Unpacks a fragment: A by row, B by column. */
static void load_tile(const struct warp *w, const struct xinst *x, int src, struct mma_tile *t)
{
	const unsigned type = x->in->m.type[1 + src], bits = ptx_type_bits(type), e = bits < 32 ? 32 / bits : 1;
	const bool tall = src == 0 && x->in->m.mma_m == 16;

	for (unsigned r = 0; r < fragment_registers(x, src); r++) {
		const void *reg = fragment_register(w, x, src, r);

		for (unsigned lane = 0; lane < LANES; lane++)
			for (unsigned j = 0; j < e; j++) {
				unsigned row = lane / 4 + (tall && r & 1 ? 8 : 0);
				unsigned k = 4 * e * (tall ? r / 2 : r) + e * (lane % 4) + j;

				if (is_int(type))
					t->i[row][k] = int_element(type, reg, lane, j);
				else
					t->f[row][k] = float_element(type, reg, lane, j);
			}
	}
}

/* Row and column of element n of a lane's part of C and D. */
static inline unsigned out_row(unsigned lane, unsigned n)
{
	return lane / 4 + 8 * (n / 2);
}

static inline unsigned out_col(unsigned lane, unsigned n)
{
	return 2 * (lane % 4) + n % 2;
}

static u32 dot_int(
	const struct xinst *x, const struct mma_tile *a, const struct mma_tile *b, unsigned row, unsigned col, u32 c)
{
	s64 sum = (s32)c;

	for (unsigned k = 0; k < x->in->m.mma_k; k++)
		sum += (s64)a->i[row][k] * b->i[col][k];
	if (x->in->m.sat)
		sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
	return (u32)sum;
}

static f64 dot_float(
	const struct xinst *x, const struct mma_tile *a, const struct mma_tile *b, unsigned row, unsigned col, f64 c)
{
	f64 sum = c;

	for (unsigned k = 0; k < x->in->m.mma_k; k++)
		sum = fma(a->f[row][k], b->f[col][k], sum);
	return sum;
}

/* Element n of a lane's part of C; f16 elements are packed in pairs. */
static f64 load_accumulator(const struct warp *w, const struct xinst *x, unsigned lane, unsigned n)
{
	const unsigned type = x->in->m.type[3];

	if (type == PTX_F16)
		return float_element(type, fragment_register(w, x, 2, n / 2), lane, n % 2);
	return float_element(type, fragment_register(w, x, 2, n), lane, 0);
}

static void store_result(struct warp *w, const struct xinst *x, unsigned lane, const u64 *v, unsigned n)
{
	const unsigned type = x->in->m.type[0];

	for (unsigned i = 0; i < n; i++) {
		void *reg = (void *)(uintptr_t)fragment_register(w, x, -1, type == PTX_F16 ? i / 2 : i);

		if (type == PTX_F64)
			((u64 *)reg)[lane] = v[i];
		else if (type == PTX_F16)
			((u16 *)reg)[2 * lane + i % 2] = (u16)v[i];
		else
			((u32 *)reg)[lane] = (u32)v[i];
	}
}

KERNEL(mma)
{
	const unsigned type = x->in->m.type[0], n = x->in->m.mma_m == 16 ? 4 : 2;
	struct mma_tile a, b;
	u64 out[LANES][4];

	load_tile(w, x, 0, &a);
	load_tile(w, x, 1, &b);
	for (unsigned lane = 0; lane < LANES; lane++)
		for (unsigned i = 0; i < n; i++) {
			unsigned row = out_row(lane, i), col = out_col(lane, i);
			f64 r;

			if (is_int(type)) {
				u32 c = ((const u32 *)fragment_register(w, x, 2, i))[lane];

				out[lane][i] = dot_int(x, &a, &b, row, col, c);
				continue;
			}
			r = dot_float(x, &a, &b, row, col, load_accumulator(w, x, lane, i));
			out[lane][i] = type == PTX_F64   ? f64_bits(r)
				       : type == PTX_F16 ? f32_to_f16(f64_to_odd(r))
							 : f32_bits(canon_f32((f32)r));
		}
	for (unsigned lane = 0; lane < LANES; lane++) /* D may be the registers of C */
		store_result(w, x, lane, out[lane], n);
}

/* movmatrix: transposes 8 x 8 elements of 16 bits. */
KERNEL(movmatrix)
{
	const u32 *a = SRC(w, x, 0, u32);
	u32 *d = DST(w, x, u32), r[LANES];

	for (unsigned lane = 0; lane < LANES; lane++) {
		r[lane] = 0;
		for (unsigned j = 0; j < 2; j++) {
			unsigned row = 2 * (lane % 4) + j, col = lane / 4;

			r[lane] |= (a[4 * row + col / 2] >> 16 * (col % 2) & 0xffff) << 16 * j;
		}
	}
	MAP(w, d, u32, r[i]);
}

/* The parser checks only that fragments are lists of registers; their number must fit the shape. */
static unsigned operand_registers(const struct ptx_inst *in, unsigned op)
{
	return in->ops[op].kind == PTX_O_VEC ? in->ops[op].n : 1;
}

static bool mma_shape_fits(const struct ptx_inst *in)
{
	const struct ptx_mods *m = &in->m;
	unsigned bits = ptx_type_bits(m->type[1]), e = bits < 32 ? 32 / bits : 1, half = m->type[0] == PTX_F16 ? 2 : 1;
	unsigned out = (m->mma_m == 16 ? 4 : 2), c = m->type[3] == PTX_F16 ? 2 : 1;

	return (m->mma_m == 16 || m->mma_m == 8) && m->mma_n == 8 && m->mma_k <= MAX_K && m->mma_k % (4 * e) == 0 &&
	       operand_registers(in, 1) == m->mma_m / 8 * m->mma_k / (4 * e) &&
	       operand_registers(in, 2) == m->mma_k / (4 * e) && operand_registers(in, 0) == out / half &&
	       operand_registers(in, 3) == out / c && ptx_type_bits(m->type[2]) == bits;
}

static bool mma_types_known(const struct ptx_mods *m)
{
	switch (m->type[1]) {
	case PTX_F16:
	case PTX_BF16:
	case PTX_TF32:
		return (m->type[0] == PTX_F32 || m->type[0] == PTX_F16) && m->type[2] == m->type[1];
	case PTX_F64:
		return m->type[0] == PTX_F64;
	case PTX_S8:
	case PTX_U8:
	case PTX_S4:
	case PTX_U4:
		return m->type[0] == PTX_S32;
	default:
		return false;
	}
}

exec_fn alu_mma(const struct ptx_inst *in)
{
	const struct ptx_mods *m = &in->m;

	if (in->op == PTX_OP_movmatrix)
		return movmatrix;
	if (in->op != PTX_OP_mma || m->op || m->layout_a != PTX_ROW || m->layout_b != PTX_COL)
		return NULL;
	/* .m8n8k4 with f16 has the different layout of the first tensor cores. */
	if (m->mma_m == 8 && m->type[1] == PTX_F16)
		return NULL;
	return mma_types_known(m) && mma_shape_fits(in) ? mma : NULL;
}
