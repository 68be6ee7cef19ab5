/*
 * alu.h - shared by the files of the ALU: macros that make kernels, and the tables that find them.
 *
 * An instruction form is one line that makes its kernel (a function over the 32 lanes of
 * a warp, whose loop vectorises) and one row of a table:
 *
 *	K2(add_u32, u32, u32, u32, a + b)	d[i] = a[i] + b[i] in the active lanes
 *	ROW(add, S32, add_u32, ...)		add.s32 uses that kernel
 *
 * The kernels are compiled once for each instruction set (level.h).  Every kernel is
 * therefore static, and the one external name of each file goes through LEVEL().
 */
#pragma once

#include "ptx/interp/alu/num.h"
#include "ptx/interp/level.h"
#include "ptx/interp/warp.h"
#include "ptx/ptx.h"

/* Each returns the kernel of an instruction form, or NULL if the form belongs to another file. */
typedef exec_fn alu_chooser(const struct ptx_inst *in);
#define alu_int     LEVEL(alu_int)
#define alu_carry   LEVEL(alu_carry)
#define alu_bits    LEVEL(alu_bits)
#define alu_float   LEVEL(alu_float)
#define alu_approx  LEVEL(alu_approx)
#define alu_half    LEVEL(alu_half)
#define alu_compare LEVEL(alu_compare)
#define alu_cvt     LEVEL(alu_cvt)
#define alu_video   LEVEL(alu_video)
#define alu_mma     LEVEL(alu_mma)
#define alu_wmma    LEVEL(alu_wmma)
alu_chooser alu_int, alu_carry, alu_bits, alu_float, alu_approx, alu_half, alu_compare, alu_cvt, alu_video, alu_mma,
	alu_wmma;

typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

/* ---- kernels: one, two and three sources; expr is over a, b and c ----------------------------- */

#define KERNEL(name)               static void name(struct warp *w, const struct xinst *x)
#define K1(name, D, A, expr)       K1_(name, MAP, D, A, expr)
#define K2(name, D, A, B, expr)    K2_(name, MAP, D, A, B, expr)
#define K3(name, D, A, B, C, expr) K3_(name, MAP, D, A, B, C, expr)
#define K1_(name, MAP, D, A, expr) \
	KERNEL(name) \
	{ \
		const A *pa = SRC(w, x, 0, A); \
		D *d = DST(w, x, D); \
\
		MAP(w, d, D, ({ \
			const A a = pa[i]; \
			(expr); \
		})); \
	}
#define K2_(name, MAP, D, A, B, expr) \
	KERNEL(name) \
	{ \
		const A *pa = SRC(w, x, 0, A); \
		const B *pb = SRC(w, x, 1, B); \
		D *d = DST(w, x, D); \
\
		MAP(w, d, D, ({ \
			const A a = pa[i]; \
			const B b = pb[i]; \
			(expr); \
		})); \
	}
#define K3_(name, MAP, D, A, B, C, expr) \
	KERNEL(name) \
	{ \
		const A *pa = SRC(w, x, 0, A); \
		const B *pb = SRC(w, x, 1, B); \
		const C *pc = SRC(w, x, 2, C); \
		D *d = DST(w, x, D); \
\
		MAP(w, d, D, ({ \
			const A a = pa[i]; \
			const B b = pb[i]; \
			const C c = pc[i]; \
			(expr); \
		})); \
	}

/* ---- rows: the kernel of each form -------------------------------------------------------------- */

struct alu_row {
	uint16_t op;
	uint8_t type; /* type[0] */
	uint8_t variant;
	exec_fn fn;
	exec_fn controlled; /* with .ftz or a rounding other than .rn; NULL: fn serves these, too */
};

/* The modifiers that select between kernels of one opcode and type. */
#define VARIANT(half, sat, relu, nan, xorsign) ((half) | (sat) << 2 | (relu) << 4 | (nan) << 5 | (xorsign) << 6)

static inline exec_fn alu_find(const struct alu_row *rows, unsigned n, const struct ptx_inst *in)
{
	const struct ptx_mods *m = &in->m;
	unsigned variant = VARIANT(m->half, m->sat, m->relu, m->nan, m->xorsign);
	bool control = m->ftz || m->rnd == PTX_RZ || m->rnd == PTX_RM || m->rnd == PTX_RP;

	for (unsigned i = 0; i < n; i++)
		if (rows[i].op == in->op && rows[i].type == m->type[0] && rows[i].variant == variant)
			return control && rows[i].controlled ? rows[i].controlled : rows[i].fn;
	return NULL;
}
#define ALU_FIND(rows, in) alu_find(rows, sizeof(rows) / sizeof(rows)[0], in)

/* ---- rounding modes and flushing: MXCSR --------------------------------------------------------- */

enum { MXCSR_DEFAULT = 0x1f80, MXCSR_FTZ_DAZ = 0x8040, MXCSR_RM = 0x2000, MXCSR_RP = 0x4000, MXCSR_RZ = 0x6000 };

static inline void mxcsr_set(uint32_t v)
{
	__asm__ volatile("ldmxcsr %0" : : "m"(v) : "memory");
}

static inline uint32_t mxcsr_of(const struct ptx_mods *m)
{
	static const uint16_t control[] = {[PTX_RM] = MXCSR_RM, [PTX_RP] = MXCSR_RP, [PTX_RZ] = MXCSR_RZ};
	uint32_t v = MXCSR_DEFAULT;

	if (m->rnd < sizeof control / sizeof control[0])
		v |= control[m->rnd];
	return m->ftz ? v | MXCSR_FTZ_DAZ : v;
}

/* name_controlled: the kernel with the rounding mode and flushing of the instruction. */
#define CONTROLLED(name) \
	KERNEL(name##_controlled) \
	{ \
		mxcsr_set(mxcsr_of(&x->in->m)); \
		name(w, x); \
		mxcsr_set(MXCSR_DEFAULT); \
	}
