/*
 * warp.h - the view of an executing instruction: the warp, its registers, and its own decoded form.
 *
 * This is the contract between the core (decoding, control flow, memory, warp and block operations) and the files that
 * execute arithmetic (alu_*.c) and textures (tex_*.c).
 *
 * The registers of a function call lie in its frame; w->regs points to it.  Each register has a slot, which holds all
 * 32 lanes and is aligned to 64 bytes.  The register's type determines the layout:
 *
 *	8, 16 bits	uint16_t[32]	 64 bytes	width W16
 *	32 bits		uint32_t[32]	128 bytes	width W32
 *	64 bits		uint64_t[32]	256 bytes	width W64
 *	128 bits	uint64_t[32][2]	512 bytes	width W128	(low half first)
 *	predicate	uint32_t	 64 bytes	width WPRED	(bit i is lane i)
 *
 * Immediates, addresses of variables and special registers are in slots, too, before the instruction runs.  An ALU
 * operation therefore reads and writes only plain arrays:
 *
 *	static void add_u32(struct warp *w, const struct xinst *x)
 *	{
 *		const uint32_t *a = SRC(w, x, 0, uint32_t), *b = SRC(w, x, 1, uint32_t);
 *		uint32_t *d = DST(w, x, uint32_t);
 *
 *		MAP(w, d, uint32_t, a[i] + b[i]);
 *	}
 *
 * Rules for exec functions
 *   - Write only the lanes in w->active (never empty).  Other lanes hold values of other splits.
 *   - The destination may be the same slot as a source.  If lane i of a result depends on other lanes of the sources,
 *     compute the whole vector first.
 *   - Inactive lanes hold arbitrary values: do not divide by them, do not index with them.
 *   - An 8-bit value in a W16 slot: sources are taken modulo 256; results are zero-extended (.u8 .b8) or sign-extended
 *     (.s8) to the width of the destination slot.
 *   - Do not block, allocate, or access memory.  Report failures by warp_fault().
 *   - MXCSR has its default (round to nearest, no flushing) on entry and must have it on return.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ptx/interp/interp.h"
#include "ptx/ptx.h"

struct warp;
struct block;
struct frame;
struct xinst;

typedef void (*exec_fn)(struct warp *w, const struct xinst *x);

enum { LANES = 32, MAX_SRC = 6 };
enum width { WPRED, W16, W32, W64, W128 };

#define NO_SLOT   UINT32_MAX
#define ALL_LANES UINT32_MAX

/*
 * A decoded instruction.  Slots are byte offsets from w->regs.
 *
 * dst is operand 0 and dst2 is operand 1 if the opcode has these results (ptx_inst_ndest); src[] are the operands after
 * them, in order.  For setp p|q, a, b, c: dst is p, dst2 is q, src is a, b, c.
 *   - An absent operand (PTX_O_NONE, or trailing) is NO_SLOT.
 *   - The result _ is a slot that no instruction reads: write it like any other.
 *   - A vector operand {a, b, c} is an index into list: its elements are list[src[i]], list[src[i] + 1] ...; their
 *     number is x->in->ops[k].n.  This includes braces with one element.  A matrix or texture operand written as one
 *     plain register is an ordinary slot: in->ops[k].kind tells.
 *   - An immediate has the width of the operand's type (in->ops[k].type).
 *   - A negated predicate source sets bit i of src_not: use pred_src().
 */
struct xinst {
	/* The first cache line: all that most instructions read. */
	exec_fn run;
	uint32_t guard;     /* a predicate slot; the slot of the constant true if the instruction has no guard */
	uint32_t guard_xor; /* ~0 for @!p */
	uint32_t dst;
	uint32_t src[MAX_SRC];
	uint8_t dst_width, dst2_width; /* enum width of the slots, which may be wider than the type (cvt, ld) */
	uint8_t src_width[MAX_SRC];
	uint8_t src_not;
	uint8_t access; /* ld, st: enum access */
	uint8_t n;      /* ld, st: number of elements */
	int64_t imm;    /* displacement of an address */

	uint32_t dst2;
	uint32_t target; /* bra: the target; accesses: enum ptx_space; else as the exec function defines */
	const uint32_t *list;
	const uint8_t *list_width; /* enum width of each slot in list */
	const struct ptx_inst *in; /* modifiers, types, line */
	/* For the core only: */
	exec_fn op; /* x_sync: the function to run once all members have come */
	const void *data;
	uint32_t aux;
} __attribute__((aligned(64)));

/* The memory that an ld or st accesses, as far as decoding knows; ACCESS_ANY: it depends on the address. */
enum access { ACCESS_ANY, ACCESS_GLOBAL, ACCESS_SHARED, ACCESS_LOCAL, ACCESS_PARAM };

/* ---- slots ------------------------------------------------------------------------------------------ */

#define SLOT(w, offset, T) ((T *)__builtin_assume_aligned((w)->regs + (offset), 64))
#define DST(w, x, T)       SLOT(w, (x)->dst, T)
#define DST2(w, x, T)      SLOT(w, (x)->dst2, T)
#define SRC(w, x, n, T)    ((const T *)SLOT(w, (x)->src[n], T))
/* Element e of the vector operand src[n], and of the vector operand dst. */
#define SRCV(w, x, n, e, T) ((const T *)SLOT(w, (x)->list[(x)->src[n] + (e)], T))
#define DSTV(w, x, e, T)    SLOT(w, (x)->list[(x)->dst + (e)], T)

/*
 * For every active lane i: d[i] = expr.  d is an array of T; expr may use i.
 *
 * MAP evaluates expr for all 32 lanes, in a loop that vectorises, and stores the active ones: only for expressions that
 * are harmless on any bits.  MAP_ACTIVE evaluates expr for active lanes only: for expressions that may trap (integer
 * division), index an array, or are expensive.
 */
#define MAP(w, d, T, expr) \
	do { \
		const uint32_t on_ = (w)->active; \
		if (__builtin_expect(on_ == ALL_LANES, 1)) { \
			_Pragma("GCC ivdep") for (int i = 0; i < LANES; i++)(d)[i] = (T)(expr); \
		} else { \
			_Pragma("GCC ivdep") for (int i = 0; i < LANES; i++) \
			{ \
				T v_ = (T)(expr); \
				(d)[i] = on_ & LANE_BIT(i, T) ? v_ : (d)[i]; \
			} \
		} \
	} while (0)
#define MAP_ACTIVE(w, d, T, expr) \
	do { \
		FOR_ACTIVE(w, i) \
		(d)[i] = (T)(expr); \
	} while (0)

/* 1 << i, from a table: baseline x86 has no vector shift with a count for each element. */
extern const uint32_t lane_bit32[LANES];
extern const uint64_t lane_bit64[LANES];
#define LANE_BIT(i, T) (sizeof(T) == 8 ? lane_bit64[i] : lane_bit32[i])

/* Loops over active lanes, lowest first. */
#define FOR_ACTIVE(w, i) FOR_MASK((w)->active, i)
#define FOR_MASK(mask, i) \
	for (uint32_t m_##i = (mask), i = m_##i ? (uint32_t)__builtin_ctz(m_##i) : 0; m_##i; \
		m_##i &= m_##i - 1, i = m_##i ? (uint32_t)__builtin_ctz(m_##i) : 0)

/* enum width of a register of this type. */
static inline unsigned slot_width(unsigned type)
{
	unsigned bits = ptx_type_bits(type);

	if (ptx_type_kind(type) == PTX_KIND_PRED)
		return WPRED;
	return bits <= 16 ? W16 : bits <= 32 ? W32 : bits <= 64 ? W64 : W128;
}

/* One lane of a slot of width W16, W32 or W64, zero-extended. */
static inline uint64_t slot_read_lane(const uint8_t *slot, unsigned width, unsigned lane)
{
	switch (width) {
	case W16:
		return ((const uint16_t *)slot)[lane];
	case W32:
		return ((const uint32_t *)slot)[lane];
	default:
		return ((const uint64_t *)slot)[lane];
	}
}

static inline void slot_write_lane(uint8_t *slot, unsigned width, unsigned lane, uint64_t v)
{
	switch (width) {
	case W16:
		((uint16_t *)slot)[lane] = (uint16_t)v;
		break;
	case W32:
		((uint32_t *)slot)[lane] = (uint32_t)v;
		break;
	default:
		((uint64_t *)slot)[lane] = v;
	}
}

/* ---- the warp --------------------------------------------------------------------------------------- */

/* The part of a warp that arithmetic and textures may use.  The core's struct warp begins with it. */
#define WARP_COMMON \
	uint8_t *regs;   /* current frame */ \
	uint32_t active; /* lanes that execute this instruction: never 0 */ \
	uint32_t cc;     /* carry flag of add.cc and the like, one bit per lane */ \
	struct interp_launch *launch;

struct warp_common {
	WARP_COMMON
};
#ifndef WARP_PRIVATE
struct warp {
	WARP_COMMON
};
#endif
#define COMMON(w) ((struct warp_common *)(uintptr_t)(w))

/* One lane of source n, and of the result. */
static inline uint64_t src_read_lane(const struct warp *w, const struct xinst *x, unsigned n, unsigned lane)
{
	return slot_read_lane(COMMON(w)->regs + x->src[n], x->src_width[n], lane);
}

static inline void dst_write_lane(struct warp *w, const struct xinst *x, unsigned lane, uint64_t v)
{
	slot_write_lane(COMMON(w)->regs + x->dst, x->dst_width, lane, v);
}

/*
 * Ends the launch with this fault and message; the first fault of a grid wins.  The instruction then returns normally,
 * and its results no longer matter.
 */
__attribute__((format(printf, 3, 4))) void warp_fault(struct warp *w, enum interp_fault fault, const char *fmt, ...);

static inline uint32_t pred_src(const struct warp *w, const struct xinst *x, unsigned n)
{
	uint32_t p = *(const uint32_t *)(COMMON(w)->regs + x->src[n]);

	return x->src_not >> n & 1 ? ~p : p;
}

/* Sets a predicate in the active lanes from the bits of value. */
static inline void pred_store(struct warp *w, uint32_t slot, uint32_t value)
{
	uint32_t *p = (uint32_t *)(COMMON(w)->regs + slot);

	*p = (*p & ~COMMON(w)->active) | (value & COMMON(w)->active);
}

/*
 * The texture of a handle, or NULL; look up each distinct handle only once.  Accesses to the texels need no check of
 * access rights: their memory belongs to the host.
 */
static inline const struct texture *warp_texture(struct warp *w, uint64_t handle)
{
	const struct interp_host *h = COMMON(w)->launch->host;

	return h->texture ? h->texture(h->arg, handle) : NULL;
}

/* ---- selection of exec functions -------------------------------------------------------------------- */

/*
 * The function for an instruction; NULL if this form is not supported (interp_kernel then fails with -ENOTSUP).
 *
 *	core	mov ld st ldu cvta isspacep atom red bar* barrier* membar fence bra brx call ret exit trap
 *		brkpt nanosleep shfl vote match redux activemask elect cp.async* mbarrier* prefetch* discard
 *		applypriority createpolicy griddepcontrol pmevent stacksave stackrestore alloca mapa getctarank
 *		ldmatrix stmatrix wmma.load wmma.store
 *	tex	tex tld4 suld sust sured txq suq
 *	alu	all others; also mma, wmma.mma and movmatrix, which the core runs only once all lanes have come
 *
 * The ALU is compiled once for each instruction set (baseline, AVX2, AVX-512); alu_select chooses at run time.
 */
exec_fn alu_select(const struct ptx_inst *in);
exec_fn tex_select(const struct ptx_inst *in);
