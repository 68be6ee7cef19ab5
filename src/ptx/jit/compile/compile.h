/*
 * compile.h - the compiler's own interface: one kernel from decoded PTX to an object file.  doc/compiler.md explains it.
 *
 * One PTX register is one LLVM variable, which sroa turns into values: a scalar if the register is uniform, the scalar
 * of lane 0 if it is affine (value + stride * lane), else a vector with one element for each lane.  Floats are kept as
 * integers of their size.  The interpreter's slots are scratch memory while compiled code runs, and hold the live
 * registers again whenever the code returns.
 *
 * To add a group of instructions: write a file emit/emit_NAME.c with a function
 *
 *	bool emit_name(struct compiler *c, const struct ptx_inst *in)
 *
 * that emits the instruction and returns true, or returns false before it has emitted anything; then add the function to
 * the table in emit/emit.c.  An instruction that no function emits is executed by the interpreter (fallback.c), so a group
 * may grow form by form.  Read sources by src(), which follows the mode that emit.c has chosen: scalars if the result is
 * a scalar, vectors otherwise; LLVM's builder takes both.  Write results by dst().
 *
 *	case PTX_OP_and:
 *		dst(c, 0, LLVMBuildAnd(c->b, src(c, 1), src(c, 2), ""));
 *		return true;
 *
 * Rules
 *   - Results are bit for bit those of the interpreter; inactive lanes may hold anything.
 *   - No undefined behaviour of LLVM: shifts are limited, divisors are not 0, no nsw, nuw, inbounds or fast-math flags.  A
 *     kernel is hostile, and a value that LLVM may choose twice could pass a check and then be another one.
 *   - No instruction that becomes a call of a library: objects have no references to the outside.
 *   - Memory is accessed only through emit/emit_memory.c.
 *
 * Trust: the function is checked PTX of a hostile author.  Limits keep time and memory in proportion to its length.
 */
#pragma once

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/interp/compiled.h"
#include "ptx/interp/core.h"
#include "ptx/jit/jit.h"

enum {
	NO_BLOCK = UINT32_MAX,
	MAX_COMPILED_BLOCKS = 4096,
	MAX_COMPILED_INSTS = 20000,
	POLL_INTERVAL = 1 << 16 /* passes of a loop between two checks whether the grid is over */
};

/* A loop; the array is indexed by the loop's header. */
struct loop {
	uint32_t parent; /* the header of the enclosing loop, or NO_BLOCK */
	uint32_t last;   /* position of the last block */
	uint32_t left;   /* blocks that are not placed yet */
	bool spins;      /* contains accesses by which the kernel may wait for other threads */
};

/* How a register is represented. SLOT: always in its slot, 128 bits. */
enum reg_form { FORM_SCALAR, FORM_AFFINE, FORM_VECTOR, FORM_SLOT };

struct compiler {
	const struct jit_request *request;
	const struct ptx_function *f;
	const struct xfunc *x;
	char *why;
	size_t why_size;
	int err;

	/* order.c */
	uint32_t *order, norder; /* blocks */
	uint32_t *position;      /* by block */
	uint32_t *loop_of;       /* by block: the header of the innermost loop, or NO_BLOCK */
	struct loop *loops;

	/* pending.c */
	uint32_t words, reg_words; /* of a set of blocks, of registers */
	uint64_t *pending, *keep;  /* by block: sets */
	uint64_t *scratch;         /* two sets of blocks */
	uint32_t *list;            /* of blocks */

	/* nan.c */
	bool *lazy_nan; /* by register: holds NaNs that are not canonical */

	/* emission */
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef b, prologue; /* prologue: adds to the block that every entry passes */
	LLVMValueRef fn, warp;
	LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr, v1, v32;
	LLVMValueRef *vars;                        /* by register: an alloca */
	LLVMValueRef *pending_vars;                /* by block: the lanes that wait for it, an alloca of v1 */
	LLVMBasicBlockRef *starts;                 /* by block */
	LLVMValueRef live_var, mask_var, poll_var; /* the live lanes, those that run, passes of loops until a check */
	LLVMValueRef regs, insts, helpers, sites;  /* pointers, loaded in the prologue */
	struct cached_value {
		uint32_t kind, at;
		LLVMValueRef value;
	} *cached; /* other values loaded in the prologue */
	uint32_t ncached;
	uint32_t *entries; /* decoded instructions at which code may be entered */
	LLVMBasicBlockRef *entry_blocks;
	uint32_t nentries, nsites;
	bool partial_exit;     /* lanes may exit before others do */
	bool flushes;          /* subnormal floats are flushed, in f32 arithmetic with .ftz: the rule in this kernel */
	LLVMValueRef mxcsr[2]; /* the default, and the one for flushing; NULL if the kernel does not flush */

	/* the current instruction */
	uint32_t block, index;
	const struct ptx_inst *in;
	LLVMValueRef mask;  /* v1: the lanes that run this block */
	LLVMValueRef guard; /* v1 or i1, NULL without one */
	/* Accesses to shared memory up to instruction `until`, by this register and displacements from lo to hi: checked. */
	struct {
		uint32_t reg, until;
		int64_t lo, hi;
		unsigned bytes;
	} proven;
	bool scalar; /* sources are scalars: a uniform value, or the one of lane 0 */
};

__attribute__((format(printf, 3, 4))) int compile_fail(struct compiler *c, int err, const char *fmt, ...);

/* ---- order.c ---- */
int compile_order(struct compiler *c);
bool loop_contains(const struct compiler *c, uint32_t header, uint32_t block);

/* ---- pending.c ---- */
int compile_pending(struct compiler *c);
bool block_only_exits(const struct compiler *c, uint32_t b); /* lanes that go there exit at once */
/* Sorts the blocks of a set in the order in which they are tried after block `from`; returns their number. */
uint32_t pending_candidates(const struct compiler *c, uint32_t from, const uint64_t *set, uint32_t *list);

static inline uint64_t *block_pending(const struct compiler *c, uint32_t b)
{
	return c->pending + (size_t)b * c->words;
}

static inline uint64_t *block_keep(const struct compiler *c, uint32_t b)
{
	return c->keep + (size_t)b * c->reg_words;
}

static inline bool set_has(const uint64_t *set, uint32_t i)
{
	return set[i / 64] >> i % 64 & 1;
}

static inline bool set_empty(const uint64_t *set, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		if (set[i])
			return false;
	return true;
}

static inline bool reg_kept(const struct compiler *c, uint32_t block, uint32_t reg)
{
	return set_has(block_keep(c, block), reg);
}

/* True if no other block can be pending while b runs: then b runs with all live lanes. */
static inline bool block_alone(const struct compiler *c, uint32_t b)
{
	return set_empty(block_pending(c, b), c->words);
}

/* ---- nan.c ---- */
void compile_nans(struct compiler *c);

/* ---- value.c: constants, registers, operands ---- */
enum reg_form reg_form(const struct compiler *c, uint32_t reg);
unsigned reg_bits(const struct compiler *c, uint32_t reg); /* 1 for a predicate; 16 for 8-bit types */
LLVMTypeRef int_type(struct compiler *c, unsigned bits);
LLVMTypeRef lanes_of(LLVMTypeRef t);                                      /* <32 x t> */
LLVMTypeRef mode_type(struct compiler *c, LLVMTypeRef t);                 /* t or <32 x t>, by c->scalar */
LLVMTypeRef like(LLVMValueRef v, LLVMTypeRef t);                          /* t or <32 x t>, as v is */
LLVMValueRef constant(struct compiler *c, LLVMTypeRef t, uint64_t v);     /* splat if t is a vector */
LLVMValueRef src_widened(struct compiler *c, unsigned k, bool is_signed); /* twice as wide: emit_int.c */
LLVMValueRef splat(struct compiler *c, LLVMValueRef v);                   /* a scalar for all lanes; vectors stay */
LLVMValueRef lane_offsets(struct compiler *c, LLVMTypeRef t, uint64_t stride); /* <0, stride, 2 * stride ...> */
bool is_vector(LLVMValueRef v);
LLVMValueRef first_lane(struct compiler *c, LLVMValueRef v, LLVMValueRef mask); /* of the lowest lane in the mask */
LLVMValueRef reg_vector(struct compiler *c, uint32_t reg);
LLVMValueRef reg_scalar(struct compiler *c, uint32_t reg); /* uniform: the value; affine: that of lane 0 */
/* Operand k in the current mode, with the bits of the operand's type. Predicates: negated as written. */
LLVMValueRef src(struct compiler *c, unsigned k);
LLVMValueRef src_operand(struct compiler *c, const struct ptx_operand *o);
LLVMValueRef src_float(struct compiler *c, unsigned k); /* as float or double */
/* Sets operand k, a register or a sink, to a value of its type or wider; scalars are for all lanes. */
void dst(struct compiler *c, unsigned k, LLVMValueRef v);
void dst_float(struct compiler *c, unsigned k, LLVMValueRef v);
void reg_write(struct compiler *c, uint32_t reg, LLVMValueRef v);
LLVMValueRef intrinsic(
	struct compiler *c, const char *name, LLVMTypeRef *types, unsigned ntypes, LLVMValueRef *args, unsigned nargs);
LLVMValueRef unary(struct compiler *c, const char *name, LLVMValueRef a);
LLVMValueRef binary(struct compiler *c, const char *name, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef resize(struct compiler *c, LLVMValueRef v, unsigned bits, bool is_signed);        /* integers */
unsigned value_bits(LLVMValueRef v);                                                           /* of an element */
LLVMValueRef bitcast(struct compiler *c, LLVMValueRef v, LLVMTypeRef t);                       /* t: of an element */
LLVMValueRef select_value(struct compiler *c, LLVMValueRef p, LLVMValueRef a, LLVMValueRef b); /* mixes of scalars */
LLVMValueRef mask_bits(struct compiler *c, LLVMValueRef v1);                                   /* as i32 */
LLVMValueRef mask_any(struct compiler *c, LLVMValueRef v1);                                    /* i1 */
LLVMValueRef active_mask(struct compiler *c); /* v1: the block's mask and the guard */

/* ---- state.c: fields of the interpreter's structures ---- */
LLVMValueRef field_pointer(struct compiler *c, LLVMBuilderRef b, LLVMValueRef base, uint64_t offset);
LLVMValueRef field_load(struct compiler *c, LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef base, uint64_t offset);
void field_store(struct compiler *c, LLVMValueRef v, LLVMValueRef base, uint64_t offset);
/* Values that are the same during an activation, loaded once. */
enum cached_kind {
	CACHED_BLOCK,
	CACHED_GRID,
	CACHED_LAUNCH,
	CACHED_PARAMS,
	CACHED_SHARED,
	CACHED_SHARED_SIZE,
	CACHED_LOCAL,
	CACHED_LOCAL_SIZE,
	CACHED_TID,
	CACHED_CTAID,
	CACHED_NTID,
	CACHED_NCTAID,
	CACHED_CONST,
	CACHED_PARAM8,
	CACHED_PARAM16,
	CACHED_PARAM32,
	CACHED_PARAM64
};
LLVMValueRef cached(struct compiler *c, enum cached_kind kind, uint32_t at);
LLVMValueRef call_helper(struct compiler *c, size_t field, LLVMTypeRef result, LLVMValueRef *args, unsigned nargs);
const struct xinst *decoded(const struct compiler *c, uint32_t index); /* the last xinst of an instruction */

/* True if float arithmetic and comparisons of this type and .ftz can run in the kernel's mode. */
bool float_mode_fits(const struct compiler *c, unsigned type, bool ftz);
void emit_float_mode(struct compiler *c, bool flush); /* around all code but the compiled one */

/* ---- fallback.c: execution by the interpreter, and returning to it ---- */
void store_register(struct compiler *c, uint32_t reg, LLVMValueRef lanes); /* lanes: NULL for all */
void load_register(struct compiler *c, uint32_t reg);                      /* at a code entry */
/* Executes the current instruction by its exec function, for the active lanes. site: NO_SLOT, or an access site to
 * refill. */
void emit_fallback(struct compiler *c, uint32_t site, unsigned align, uint64_t span);
void live_before(const struct compiler *c, uint32_t index, uint64_t *set); /* registers */
/* Returns to the interpreter, which continues at instruction `index`. status: enum compiled_status */
void emit_handover(struct compiler *c, uint32_t index, LLVMValueRef mask, unsigned status);
void emit_return(struct compiler *c, unsigned status);
/* Code may be entered before instruction `index`, here, with all live lanes. */
void add_entry(struct compiler *c, uint32_t index, bool reachable);

/* ---- flow.c ---- */
void emit_block_start(struct compiler *c, uint32_t b);
void emit_block_end(struct compiler *c, uint32_t b);
/* True if the current instruction is left to the interpreter: barriers, calls ... */
bool needs_handover(const struct compiler *c);
bool needs_handover_at(const struct compiler *c, uint32_t index);
bool may_wait(const struct ptx_inst *in); /* the kernel may wait for other threads by it */

/* ---- emit.c ---- */
int compile_emit(struct compiler *c);

typedef bool emitter(struct compiler *c, const struct ptx_inst *in);
emitter emit_move, emit_int, emit_bits, emit_float, emit_compare, emit_cvt, emit_memory, emit_atomic, emit_warp;

/* ---- compile.c ---- */
int jit_compile(const struct jit_request *r, struct jit_object *out, char *why, size_t size);

/* ---- object.c ---- */
int compile_object(struct compiler *c, struct jit_object *out);
