/*
 * wmma.mma: D = A B + C by a whole warp, on the fragments of wmma.h.
 *
 * As in alu_mma.c, products of narrow floats are summed in f64 and rounded once.
 */
#include "ptx/interp/alu/alu_float.h"
#include "ptx/interp/alu/half.h"
#include "ptx/interp/alu/wmma.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

enum { MAX_MN = 256, MAX_MK = 512 }; /* elements of C; of A and of B */

/* Vectors of eight neighbouring elements of a row; ROWS aligns arrays of them. */
#define ROWS __attribute__((aligned(64)))
typedef f64 f64x8 __attribute__((vector_size(64)));
typedef s32 s32x8 __attribute__((vector_size(32)));

/*
 * c += a b for a constant N, so that a row of c stays in registers.  Products and sums are fused if the processor can
 * (by the compile options of this file): f64 requires it, and products of narrower floats are exact anyway.  Integers
 * have at most 8 bits, and their sums cannot overflow.
 */
#define PRODUCT(name, T, N) \
	static void name##_##N(T *c, const T *a, const T *b, unsigned m, unsigned k) \
	{ \
		for (unsigned row = 0; row < m; row++) { \
			T##x8 *to = (T##x8 *)(c + row * N), sum[N / 8]; \
\
			for (unsigned j = 0; j < N / 8; j++) \
				sum[j] = to[j]; \
			for (unsigned i = 0; i < k; i++) \
				for (unsigned j = 0; j < N / 8; j++) \
					sum[j] += a[row * k + i] * ((const T##x8 *)(b + i * N))[j]; \
			for (unsigned j = 0; j < N / 8; j++) \
				to[j] = sum[j]; \
		} \
	}
#define PRODUCTS(name, T) \
	PRODUCT(name, T, 8) \
	PRODUCT(name, T, 16) \
	PRODUCT(name, T, 32) \
	static void name(T *c, const T *a, const T *b, const struct ptx_mods *m) \
	{ \
		if (m->mma_n == 8) \
			name##_8(c, a, b, m->mma_m, m->mma_k); \
		else if (m->mma_n == 16) \
			name##_16(c, a, b, m->mma_m, m->mma_k); \
		else \
			name##_32(c, a, b, m->mma_m, m->mma_k); \
	}
PRODUCTS(product, f64)
PRODUCTS(product_int, s32)

/* ---- elements --------------------------------------------------------------------------------------- */

union elements {
	u8 b[WMMA_MAX_BYTES];
	u16 h[WMMA_MAX_BYTES / 2];
	u32 w[WMMA_MAX_BYTES / 4];
	f32 f[WMMA_MAX_BYTES / 4];
	f64 d[WMMA_MAX_BYTES / 8];
};

/* Converts in two steps, each of which vectorises. */
static void halves_to_f64(const u16 *h, bool bf16, f64 *to, unsigned n)
{
	f32 f[MAX_MK];

#ifdef __F16C__
	for (unsigned i = 0; !bf16 && i < n; i += 8)
		_mm256_storeu_ps(f + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(h + i))));
#else
	for (unsigned i = 0; !bf16 && i < n; i++)
		f[i] = f16_to_f32(h[i]);
#endif
	for (unsigned i = 0; bf16 && i < n; i++)
		f[i] = bf16_to_f32(h[i]);
	for (unsigned i = 0; i < n; i++)
		to[i] = f[i];
}

static void to_f64(const union elements *e, unsigned type, f64 *to, unsigned n)
{
	switch (type) {
	case PTX_F64:
		memcpy(to, e->d, n * sizeof(*to));
		break;
	case PTX_F32:
		for (unsigned i = 0; i < n; i++)
			to[i] = e->f[i];
		break;
	case PTX_TF32: /* ignores the low 13 bits */
		for (unsigned i = 0; i < n; i++)
			to[i] = bits_f32(e->w[i] & 0xffffe000);
		break;
	default:
		halves_to_f64(e->h, type == PTX_BF16, to, n);
	}
}

static void from_f64(union elements *e, unsigned type, const f64 *from, unsigned n)
{
	if (type == PTX_F64) {
		for (unsigned i = 0; i < n; i++)
			e->d[i] = canon_f64(from[i]);
	} else if (type == PTX_F16) {
		for (unsigned i = 0; i < n; i++)
			e->h[i] = f32_to_f16(f64_to_odd(from[i]));
	} else {
		for (unsigned i = 0; i < n; i++)
			e->f[i] = canon_f32((f32)from[i]);
	}
}

/* Element i of a run of 4-bit elements. */
static inline s32 nibble_at(const u8 *run, unsigned type, unsigned i)
{
	u8 up = (u8)(run[i / 2] << (i % 2 ? 0 : 4));

	return type == PTX_S4 ? (int8_t)up >> 4 : up >> 4;
}

/* ---- the instruction -------------------------------------------------------------------------------- */

/* The element type of d, a, b or c (operands 0 to 3); the types of A and B are omitted if they are f16. */
static unsigned type_of(const struct ptx_mods *m, unsigned operand)
{
	if (m->ntypes == 2)
		return operand == 0 ? m->type[0] : operand == 3 ? m->type[1] : PTX_F16;
	return m->type[operand];
}

static struct wmma_matrix matrix_of(const struct ptx_mods *m, unsigned operand)
{
	return wmma_matrix(m, operand == 1 ? WMMA_A : operand == 2 ? WMMA_B : WMMA_C, type_of(m, operand));
}

static void read_matrix(const struct warp *w, const struct xinst *x, unsigned operand, union elements *e)
{
	struct wmma_matrix m = matrix_of(&x->in->m, operand);

	wmma_gather(w->regs, x->list + x->src[operand - 1], &m, e);
}

static void write_result(struct warp *w, const struct xinst *x, const union elements *e)
{
	struct wmma_matrix m = matrix_of(&x->in->m, 0);

	wmma_scatter(w->regs, x->list + x->dst, x->in->ops[0].n, &m, e);
}

static void read_floats(const struct warp *w, const struct xinst *x, unsigned operand, f64 *to)
{
	struct wmma_matrix m = matrix_of(&x->in->m, operand);
	union elements e;

	read_matrix(w, x, operand, &e);
	to_f64(&e, m.type, to, m.runs * m.run);
}

KERNEL(wmma_float)
{
	const struct ptx_mods *m = &x->in->m;
	f64 a[MAX_MK] ROWS, b[MAX_MK] ROWS, c[MAX_MN] ROWS;
	union elements e;

	read_floats(w, x, 1, a);
	read_floats(w, x, 2, b);
	read_floats(w, x, 3, c);
	product(c, a, b, m);
	from_f64(&e, m->type[0], c, m->mma_m * m->mma_n);
	write_result(w, x, &e);
}

/* Unpacks A or B by rows; in the fragment, 4-bit elements of B are stored by columns. */
static void read_ints(const struct warp *w, const struct xinst *x, unsigned operand, s32 *to)
{
	struct wmma_matrix m = matrix_of(&x->in->m, operand);
	union elements e;

	read_matrix(w, x, operand, &e);
	if (m.bits == 8) {
		for (unsigned i = 0; i < m.runs * m.run; i++)
			to[i] = m.type == PTX_S8 ? (int8_t)e.b[i] : e.b[i];
		return;
	}
	for (unsigned run = 0; run < m.runs; run++)
		for (unsigned i = 0; i < m.run; i++)
			to[m.columns ? i * m.runs + run : run * m.run + i] =
				nibble_at(e.b + run * m.run / 2, m.type, i);
}

KERNEL(wmma_int)
{
	const struct ptx_mods *m = &x->in->m;
	s32 a[MAX_MK] ROWS, b[MAX_MK] ROWS, p[MAX_MN] ROWS = {0};
	union elements c;

	read_ints(w, x, 1, a);
	read_ints(w, x, 2, b);
	read_matrix(w, x, 3, &c);
	product_int(p, a, b, m);
	for (unsigned i = 0; i < m->mma_m * m->mma_n; i++) {
		s64 sum = (s64)(s32)c.w[i] + p[i];

		if (m->sat)
			sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
		c.w[i] = (u32)sum;
	}
	write_result(w, x, &c);
}

static bool wmma_shape_fits(const struct ptx_inst *in)
{
	const struct ptx_mods *m = &in->m;

	for (unsigned i = 0; i < 4; i++) {
		struct wmma_matrix x = matrix_of(m, i);

		if (in->ops[i].kind != PTX_O_VEC || !wmma_fits(&x, in->ops[i].n))
			return false;
	}
	return (m->mma_n == 8 || m->mma_n == 16 || m->mma_n == 32) && m->mma_m * m->mma_n <= MAX_MN &&
	       m->mma_m * m->mma_k <= MAX_MK && m->mma_k * m->mma_n <= MAX_MK;
}

exec_fn alu_wmma(const struct ptx_inst *in)
{
	const struct ptx_mods *m = &in->m;
	unsigned d, a, b, c;

	if (in->op != PTX_OP_wmma_mma || (m->ntypes != 2 && m->ntypes != 4) || m->op || !wmma_shape_fits(in))
		return NULL;
	d = type_of(m, 0);
	a = type_of(m, 1);
	b = type_of(m, 2);
	c = type_of(m, 3);
	switch (a) {
	case PTX_F16:
		return b == a && (d == PTX_F16 || d == PTX_F32) && (c == PTX_F16 || c == PTX_F32) ? wmma_float : NULL;
	case PTX_BF16:
	case PTX_TF32:
		return b == a && d == PTX_F32 && c == d ? wmma_float : NULL;
	case PTX_F64:
		return b == a && d == a && c == a ? wmma_float : NULL;
	case PTX_S8:
	case PTX_U8:
	case PTX_S4:
	case PTX_U4:
		return ptx_type_bits(b) == ptx_type_bits(a) && d == PTX_S32 && c == d ? wmma_int : NULL;
	default:
		return NULL;
	}
}
