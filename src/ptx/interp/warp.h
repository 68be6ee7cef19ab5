/*
 * warp.h - what an instruction sees when it runs: the warp, its registers, and its own decoded form.
 *
 * The contract between the core (decoding, control flow, memory, warp and block operations) and the files
 * that execute arithmetic (alu_*.c) and textures (tex_*.c).
 *
 * Registers of one function call lie in a frame, one slot each; w->regs points to the frame.  A slot holds 32
 * lanes, element width by the register's type, and is aligned to 64 bytes:
 *
 *	8, 16 bits	uint16_t[32]	 64 bytes	width W16
 *	32 bits		uint32_t[32]	128 bytes	width W32
 *	64 bits		uint64_t[32]	256 bytes	width W64
 *	128 bits	uint64_t[32][2]	512 bytes	width W128	(low half first)
 *	predicate	uint32_t	 64 bytes	width WPRED	(bit i is lane i)
 *
 * Constants lie in slots, too: immediates, addresses of variables, and special registers have been
 * put there before the instruction runs.  So an ALU operation only ever reads and writes plain arrays:
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
 *   - Write only the lanes in w->active (never empty).  Other lanes' values belong to somebody else.
 *   - d may be the same slot as a or b: lane i of a result depends on lane i of the sources alone, or compute
 *     the whole vector first.
 *   - Values in lanes that are not active are arbitrary: do not divide by them, do not index with them.
 *   - The upper half of a W16 slot used as an 8-bit value: sources are taken modulo 256; results are
 *     zero-extended (.u8 .b8) or sign-extended (.s8) to the width of the destination slot.
 *   - They never block, allocate, or touch memory; a failure is warp_fault().
 *   - MXCSR is at its default (nearest, no flushing) on entry and must be so on return.
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
 * dst is operand 0 and dst2 operand 1 where the opcode has these results (ptx_inst_ndest); src[i] are the
 * operands after them, in order.  So for setp p|q, a, b, c:  dst p, dst2 q, src a b c.
 *   - An operand not written (PTX_O_NONE, or trailing) is NO_SLOT.
 *   - A result that is _ is a slot nobody reads: write it like any other.
 *   - A vector operand {a, b, c} is an index into list: its elements are list[src[i]], list[src[i] + 1] ...;
 *     how many is x->in->ops[k].n.  A brace with one element, too.  A matrix or texture operand written as
 * one plain register is an ordinary slot: look at in->ops[k].kind.
 *   - An immediate has the width of the operand's type (in->ops[k].type).
 *   - A negated predicate source sets bit i of src_not: use pred_src().
 */
struct xinst {
	/* What most instructions look at: one cache line. */
	exec_fn run;
	uint32_t guard;     /* a predicate slot; the slot of "true" if the instruction is not guarded */
	uint32_t guard_xor; /* ~0 for @!p */
	uint32_t dst;
	uint32_t src[MAX_SRC];
	uint8_t dst_width, dst2_width; /* enum width of the slots: may be wider than the type (cvt, ld) */
	uint8_t src_width[MAX_SRC];
	uint8_t src_not;
	uint8_t access; /* ld, st: enum access, */
	uint8_t n;      /* and how many elements */
	int64_t imm;    /* displacement of an address */

	uint32_t dst2;
	uint32_t target; /* bra: where to; others: what their exec function says */
	const uint32_t *list;
	const uint8_t *list_width; /* enum width of each slot in list */
	const struct ptx_inst *in; /* modifiers, types, line */
	/* The core's own: */
	exec_fn op; /* of a warp-wide instruction, run once its members have come */
	const void *data;
	uint32_t aux;
} __attribute__((aligned(64)));

/* Where an access goes; ACCESS_ANY: see for yourself. */
enum access { ACCESS_ANY, ACCESS_GLOBAL, ACCESS_SHARED, ACCESS_LOCAL, ACCESS_PARAM };

/* ---- slots ------------------------------------------------------------------------------------------ */

#define SLOT(w, offset, T) ((T *)__builtin_assume_aligned((w)->regs + (offset), 64))
#define DST(w, x, T)       SLOT(w, (x)->dst, T)
#define DST2(w, x, T)      SLOT(w, (x)->dst2, T)
#define SRC(w, x, n, T)    ((const T *)SLOT(w, (x)->src[n], T))
/* Element e of the vector operand that src[n] is; of the one that dst is. */
#define SRCV(w, x, n, e, T) ((const T *)SLOT(w, (x)->list[(x)->src[n] + (e)], T))
#define DSTV(w, x, e, T)    SLOT(w, (x)->list[(x)->dst + (e)], T)

/*
 * For every active lane i: d[i] = expr.  d is a T array; expr may use i.
 *
 * MAP evaluates expr for all 32 lanes, in a loop that vectorises, and keeps what is active: only for
 * expressions that are harmless on any bits.  MAP_ACTIVE evaluates it for active lanes alone: for what may
 * trap (integer division), index, or costs a lot.
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

/* 1 << i, from a table: baseline x86 has no shift by a different count in each element. */
extern const uint32_t lane_bit32[LANES];
extern const uint64_t lane_bit64[LANES];
#define LANE_BIT(i, T) (sizeof(T) == 8 ? lane_bit64[i] : lane_bit32[i])

/* Loop over active lanes, lowest first. */
#define FOR_ACTIVE(w, i) FOR_MASK((w)->active, i)
#define FOR_MASK(mask, i) \
	for (uint32_t m_##i = (mask), i = m_##i ? (uint32_t)__builtin_ctz(m_##i) : 0; m_##i; \
		m_##i &= m_##i - 1, i = m_##i ? (uint32_t)__builtin_ctz(m_##i) : 0)

/* ---- the warp --------------------------------------------------------------------------------------- */

/* The part of a warp that arithmetic and textures may use.  It stands first in the core's struct warp. */
#define WARP_COMMON \
	uint8_t *regs;   /* current frame */ \
	uint32_t active; /* lanes that execute this instruction: never 0 */ \
	uint32_t cc;     /* carry flag of add.cc and its kin, a bit a lane */ \
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

/*
 * Ends the launch with this fault, and the message: the first of the grid wins.  The instruction still
 * returns normally; results written or not do not matter any more.
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
 * A checked access to global memory for textures and surfaces is not needed: their storage belongs to the
 * host.  Handles are looked up like this, once per distinct value.
 */
static inline const struct texture *warp_texture(struct warp *w, uint64_t handle)
{
	const struct interp_host *h = COMMON(w)->launch->host;

	return h->texture ? h->texture(h->arg, handle) : NULL;
}

/* ---- who executes what ------------------------------------------------------------------------------ */

/*
 * The function for an instruction, or NULL if this form is not supported (the launch is then refused, and
 * names it).  The core asks these for every opcode it does not know itself:
 *
 *	core	mov ld st ldu cvta isspacep atom red bar* barrier* membar fence bra brx call ret exit trap
 *		brkpt nanosleep shfl vote match redux activemask elect cp.async* mbarrier* prefetch* discard
 *		applypriority createpolicy griddepcontrol pmevent stacksave stackrestore alloca mapa
 *getctarank tex	tex tld4 suld sust sured txq suq istypep alu	everything else; also mma, wmma.mma
 *and movmatrix, of which the core has made sure that all lanes are there (ldmatrix, stmatrix and
 *wmma.load/store are the core's: they touch memory)
 *
 * Code that exists for several instruction sets (AVX2, AVX-512) is compiled once for each, and select picks.
 */
exec_fn alu_select(const struct ptx_inst *in);
exec_fn tex_select(const struct ptx_inst *in);
