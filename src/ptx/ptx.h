/*
 * ptx.h - the PTX front end: text in, typed and analysed instructions out.  doc/ptx.md describes the passes.
 *
 *	text --ptx_module_create--> module: variables, signatures, where each body lies in the text
 *	     --ptx_link--> several modules joined to one program (optional)
 *	     --ptx_kernel_layout--> an entry's shared memory and local frames, and the bodies it can reach
 *	     --ptx_function_body--> one function's instructions, registers and frame, checked
 *	     --ptx_function_analyze--> its basic blocks, dominators and liveness
 *	     --ptx_function_shapes--> its uniform, affine and varying registers
 *
 * A function is a flat array of instructions over numbered virtual registers:
 *
 *	@!%p3 mad.lo.s32 %r1, %r2, 4, %r5;
 *
 *	inst { op PTX_OP_mad, m { type {PTX_S32}, half PTX_LO }, guard 17, guard_not 1,
 *	       ops { REG 4, REG 5, IMM 4, REG 9 } }
 *
 * Ownership: a module owns everything that its pointers reach, in one arena that ptx_module_destroy frees.  Linked
 * modules point into each other and are destroyed together.  There is no global state.
 *
 * Locking: bodies are parsed on first use, so the caller serialises all calls on one module (on one program, once
 * linked).  Reading the results of a finished pass needs no lock.
 *
 * Trust: the text is hostile.  Text of any content, NUL-terminated or not, ends at worst in an error with line and
 * column, after time and memory in proportion to its length.  An engine may rely on every statement of this header
 * about a finished body (operand counts and kinds, register types, label targets inside the function): the parser has
 * checked them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_module;
struct ptx_function;
struct ptx_var;

/* ---- types, spaces, opcodes ---------------------------------------------------------------- */

enum ptx_type {
#define TYPE(name, text, bits, kind) PTX_##name,
#include "ptx/types.def"
#undef TYPE
	PTX_NTYPES
};

/* The kind of a type: PTX's rules on which register fits which operand go by kind and width. */
enum ptx_kind { PTX_KIND_NONE, PTX_KIND_PRED, PTX_KIND_BITS, PTX_KIND_INT, PTX_KIND_FLOAT, PTX_KIND_OPAQUE };

enum ptx_opcode {
#define OP(name, ...) PTX_OP_##name,
#define FORM(...)
#include "ptx/ops.def"
#undef OP
#undef FORM
	PTX_NOPS
};

enum ptx_sreg {
#define SREG(name, text, type, dims) PTX_SR_##name,
#include "ptx/sregs.def"
#undef SREG
	PTX_NSREGS
};

enum ptx_space {
	PTX_GENERIC, /* no space written: a generic address */
	PTX_GLOBAL,
	PTX_SHARED, /* also .shared::cta */
	PTX_SHARED_CLUSTER,
	PTX_LOCAL,
	PTX_CONST,
	PTX_PARAM, /* a kernel's or function's parameter, or a call's argument block */
	PTX_REGSPACE,
	PTX_TEX /* the deprecated .tex space: a texref */
};

/* ---- modifiers, decoded ---------------------------------------------------------------------- */

enum ptx_round {
	PTX_RND_NONE,
	PTX_RN,
	PTX_RZ,
	PTX_RM,
	PTX_RP,
	PTX_RNI, /* to an integral value: nearest even, zero, down, up */
	PTX_RZI,
	PTX_RMI,
	PTX_RPI,
	PTX_RNA, /* nearest, ties away from zero */
	PTX_RS,  /* stochastic */
	PTX_APPROX,
	PTX_FULL
};
enum ptx_sat { PTX_SAT_NONE, PTX_SAT, PTX_SATFINITE };
enum ptx_half { PTX_HALF_NONE, PTX_LO, PTX_HI, PTX_WIDE };
/* Comparisons. CMP_LO, LS, HI and HS are unsigned; EQU to GEU are true when an operand is a NaN. */
enum ptx_cmp {
	PTX_CMP_NONE,
	PTX_EQ,
	PTX_NE,
	PTX_LT,
	PTX_LE,
	PTX_GT,
	PTX_GE,
	PTX_CMP_LO,
	PTX_CMP_LS,
	PTX_CMP_HI,
	PTX_CMP_HS,
	PTX_EQU,
	PTX_NEU,
	PTX_LTU,
	PTX_LEU,
	PTX_GTU,
	PTX_GEU,
	PTX_NUM, /* neither is a NaN */
	PTX_NAN  /* at least one is */
};
/* The operation of atom, red, redux and bar.red, and the boolean by which setp, set and lop3 combine a predicate. */
enum ptx_aop {
	PTX_A_NONE,
	PTX_A_ADD,
	PTX_A_MIN,
	PTX_A_MAX,
	PTX_A_INC,
	PTX_A_DEC,
	PTX_A_AND,
	PTX_A_OR,
	PTX_A_XOR,
	PTX_A_EXCH,
	PTX_A_CAS,
	PTX_A_POPC
};
enum ptx_sem { PTX_SEM_NONE, PTX_WEAK, PTX_VOLATILE, PTX_RELAXED, PTX_ACQUIRE, PTX_RELEASE, PTX_ACQ_REL, PTX_SC };
enum ptx_scope { PTX_SCOPE_NONE, PTX_CTA, PTX_CLUSTER, PTX_GPU, PTX_SYS }; /* membar.gl is PTX_GPU */
/* The variant of an opcode that has several; each row of ops.def allows its own few. */
enum ptx_mode {
	PTX_MODE_NONE,
	PTX_SHFL_UP,
	PTX_SHFL_DOWN,
	PTX_SHFL_BFLY,
	PTX_SHFL_IDX,
	PTX_VOTE_ALL, /* also match.all */
	PTX_VOTE_ANY, /* also match.any */
	PTX_VOTE_UNI,
	PTX_VOTE_BALLOT,
	PTX_SHF_L,
	PTX_SHF_R,
	PTX_PRMT_F4E,
	PTX_PRMT_B4E,
	PTX_PRMT_RC8,
	PTX_PRMT_ECL,
	PTX_PRMT_ECR,
	PTX_PRMT_RC16,
	PTX_TESTP_FINITE,
	PTX_TESTP_INFINITE,
	PTX_TESTP_NUMBER,
	PTX_TESTP_NOTANUMBER,
	PTX_TESTP_NORMAL,
	PTX_TESTP_SUBNORMAL,
	PTX_SHR7, /* vmad */
	PTX_SHR15
};
enum ptx_wrap { PTX_WRAP_NONE, PTX_WRAP, PTX_CLAMP }; /* shf, szext, bmsk */
enum ptx_geom { PTX_GEOM_NONE, PTX_1D, PTX_2D, PTX_3D, PTX_A1D, PTX_A2D, PTX_CUBE, PTX_ACUBE, PTX_2DMS, PTX_A2DMS };
enum ptx_lod { PTX_LOD_BASE, PTX_LOD_LEVEL, PTX_LOD_GRAD };
enum ptx_bound { PTX_BOUND_NONE, PTX_BOUND_TRAP, PTX_BOUND_CLAMP, PTX_BOUND_ZERO }; /* surfaces */
enum ptx_query {
	PTX_QUERY_NONE,
	PTX_Q_WIDTH,
	PTX_Q_HEIGHT,
	PTX_Q_DEPTH,
	PTX_Q_CHANNEL_DATA_TYPE,
	PTX_Q_CHANNEL_ORDER,
	PTX_Q_NORMALIZED_COORDS,
	PTX_Q_FORCE_UNNORMALIZED,
	PTX_Q_FILTER_MODE,
	PTX_Q_ADDR_MODE_0,
	PTX_Q_ADDR_MODE_1,
	PTX_Q_ADDR_MODE_2,
	PTX_Q_ARRAY_SIZE,
	PTX_Q_NUM_MIPMAP_LEVELS,
	PTX_Q_NUM_SAMPLES,
	PTX_Q_MEMORY_LAYOUT
};
enum ptx_layout { PTX_LAYOUT_NONE, PTX_ROW, PTX_COL };

/*
 * The fields of struct ptx_mods, in order; each is one byte, and zero if the instruction has no such modifier.  The
 * table of modifier words (mods.def) names the field that each word sets.
 *
 *	rnd sat cmp op half sem scope mode wrap geom lod bound query	an enum above
 *	ftz relu nan xorsign cc uni sync aligned to shiftamt trans nc po	flags
 *	space	enum ptx_space; of cp.async: the destination's, with the source's in space2
 *	vec	2, 4 or 8 for .v2 .v4 .v8; 0 is scalar
 *	comp	tld4: 1..4 for .r .g .b .a
 *	num	ldmatrix: 1, 2, 4 for .x1 .x2 .x4
 *	layout_a, layout_b   enum ptx_layout; wmma.load and .store have only the first
 *	mma_m mma_n mma_k    .m16n8k16 is 16, 8, 16; a k of 256 is 0
 *	hint	.L2::cache_hint: the last operand is a cache policy
 *	cache	set by any cache operator; an engine may ignore it
 *	word	a qualifier without a field of its own: .noinc, .abs, .oob, or one without effect here
 */
#define PTX_MOD_FIELDS(F) \
	F(rnd) \
	F(sat) \
	F(ftz) \
	F(relu) \
	F(nan) \
	F(xorsign) \
	F(cc) \
	F(uni) \
	F(cmp) \
	F(op) \
	F(half) \
	F(space) \
	F(space2) \
	F(sem) \
	F(scope) \
	F(vec) \
	F(nc) \
	F(mode) \
	F(sync) \
	F(aligned) \
	F(wrap) \
	F(to) \
	F(shiftamt) \
	F(geom) \
	F(lod) \
	F(bound) \
	F(comp) \
	F(query) \
	F(trans) \
	F(num) \
	F(layout_a) \
	F(layout_b) \
	F(mma_m) \
	F(mma_n) \
	F(mma_k) \
	F(hint) \
	F(po) \
	F(cache) \
	F(word)

struct ptx_mods {
	uint8_t type[4]; /* enum ptx_type, in the order written: type[0] is the result's */
	uint8_t ntypes;
#define F(name) uint8_t name;
	PTX_MOD_FIELDS(F)
#undef F
};

/* ---- operands and instructions ----------------------------------------------------------------- */

#define PTX_NOREG UINT32_MAX

enum ptx_operand_kind {
	PTX_O_NONE,   /* an absent optional operand that others may follow */
	PTX_O_REG,    /* reg */
	PTX_O_IMM,    /* imm: the bits of the value in `type`, zero-extended to 64 */
	PTX_O_SREG,   /* reg = enum ptx_sreg, comp = 0..3 for .x .y .z .w, or the number of %envreg1, %pm3 ... */
	PTX_O_SINK,   /* _ */
	PTX_O_VEC,    /* n elements at elem */
	PTX_O_ADDR,   /* [reg + imm], [var + imm], [imm]; reg or PTX_NOREG, var or NULL */
	PTX_O_VAR,    /* the address of var, plus imm */
	PTX_O_FUNC,   /* fn: a function's address, or the callee of a direct call */
	PTX_O_LABEL,  /* reg = index of the target instruction */
	PTX_O_LABELS, /* n LABEL operands at elem (brx.idx) */
	PTX_O_PROTO   /* proto: signature of an indirect call, or its possible targets */
};

struct ptx_operand {
	uint8_t kind; /* enum ptx_operand_kind */
	uint8_t type; /* the type the instruction uses; the register may be wider (ld, st, cvt) */
	uint8_t neg;  /* predicate source written with ! */
	uint8_t comp; /* SREG: component. Video instructions: PTX_SEL_* */
	uint32_t n;   /* number of elements. PTX_SEL_BYTES, _HALVES: .b7654 is 0x17654, .h10 is 0x110 */
	uint32_t reg;
	uint32_t pos; /* offset in the text, for messages */
	int64_t imm;
	union {
		struct ptx_operand *elem;
		struct ptx_var *var;
		struct ptx_function *fn;
		struct ptx_proto *proto;
	};
};

/* Selectors of the video instructions, as in %r1.b2. BYTES and HALVES select several elements: n has the digits. */
enum {
	PTX_SEL_NONE,
	PTX_SEL_B0,
	PTX_SEL_B1,
	PTX_SEL_B2,
	PTX_SEL_B3,
	PTX_SEL_H0,
	PTX_SEL_H1,
	PTX_SEL_BYTES,
	PTX_SEL_HALVES
};

#define PTX_MAX_OPERANDS 12

/*
 * The opcode fixes the meaning of ops[0], ops[1], ... (the operand letters in ops.def): destinations first, then
 * sources in source order.
 *
 *   d|p (setp p|q, shfl d|p, match, elect, lop3)   ops[1] is the second destination, NONE if absent
 *   ld          d, addr            st     addr, value      (d and value are VEC when m.vec)
 *   atom        d, addr, b [, c]   red    addr, b
 *   tex, tld4   d, pred-or-NONE, texture, sampler-or-NONE, coordinates VEC [, lod | dPdx, dPdy]
 *   suld        d, surface, coordinates VEC      sust   surface, coordinates VEC, value
 *   call        callee (FUNC or REG), returns VEC, arguments VEC [, PROTO]
 *   bar.sync    barrier [, threads]     bar.red   d, barrier, threads-or-NONE, predicate
 */
struct ptx_inst {
	uint16_t op;       /* enum ptx_opcode */
	uint8_t nops;      /* length of ops; absent trailing operands are not counted */
	uint8_t guard_not; /* @! */
	uint32_t guard;    /* predicate register, or PTX_NOREG */
	uint32_t line;     /* in the PTX text */
	uint32_t loc_line; /* of the last .loc, or 0 */
	uint32_t loc_file;
	struct ptx_mods m;
	struct ptx_operand *ops;
};

/* ---- variables and functions --------------------------------------------------------------------- */

enum ptx_linkage { PTX_LINK_STATIC, PTX_LINK_EXTERN, PTX_LINK_VISIBLE, PTX_LINK_WEAK, PTX_LINK_COMMON };

/* An address in an initialiser: the loader stores (address of name + addend) >> shift in `size` bytes at `offset`. */
struct ptx_reloc {
	uint64_t offset;
	uint8_t size;
	uint8_t shift; /* 0xFF00(sym): 8; 0 without a mask */
	bool generic;  /* generic(sym): the generic address */
	int64_t addend;
	const char *name; /* not a pointer: a function may be defined after the table that holds its address */
};

struct ptx_var {
	const char *name;
	uint8_t space;   /* enum ptx_space */
	uint8_t type;    /* enum ptx_type of an element; PTX_TEXREF and other opaque types are 8-byte handles */
	uint8_t vec;     /* .v2 .v4 of type; 0 is scalar */
	uint8_t linkage; /* enum ptx_linkage */
	bool managed;
	bool unsized;      /* name[]: .extern .shared, or an extern array */
	bool placed;       /* .shared: offset is set (ptx_kernel_layout) */
	uint8_t ptr_space; /* kernel parameter .ptr .global: a hint */
	uint32_t align;
	uint32_t ptr_align;
	uint32_t reg; /* .func parameters in .reg space: the register; else PTX_NOREG */
	uint32_t line;
	uint64_t size; /* bytes; 0 if unsized */
	/*
	 * The offset in the kernel's argument block or the function's parameter frame (.param), in the function's local
	 * frame (.local), or in the block's shared memory (.shared; an unsized variable lies at the kernel's
	 * shared_static).  The loader places .global and .const variables.
	 */
	uint64_t offset;
	const uint8_t *init; /* the first init_size bytes; the rest is zero. NULL: no initialiser */
	uint64_t init_size;
	const struct ptx_reloc *relocs;
	uint32_t nrelocs;
	struct ptx_function *owner; /* NULL: module scope */
	struct ptx_var *defined_by; /* after ptx_link: the definition behind this declaration; NULL: none, or itself */
	bool used;                  /* named by an initialiser or by a body parsed so far */
	struct ptx_var *next;       /* in m->vars or f->vars, in source order */
};

/* .callprototype: params and rets. .calltargets: targets. */
struct ptx_proto {
	const char *name;
	struct ptx_var **params, **rets; /* only their sizes and types matter; the names are usually _ */
	uint32_t nparams, nrets;
	struct ptx_function **targets;
	uint32_t ntargets;
	bool noreturn;
};

struct ptx_reg {
	const char *name; /* for dumps; not unique: inner scopes may shadow it */
	uint8_t type;
};

struct ptx_error {
	uint32_t line, column; /* line 0: no error */
	char message[200];
	const char *text; /* the source line, without its newline */
	uint32_t text_len;
};

/* A basic block: instructions [first, end). Only the last one may jump. */
struct ptx_block {
	uint32_t first, end;
	uint32_t *succ, *pred; /* block numbers, each once; a fall-through comes first in succ */
	uint32_t nsucc, npred;
	uint32_t rpo;                 /* position in reverse post order; PTX_NOREG: unreachable */
	uint32_t idom;                /* immediate dominator; itself for the entry, PTX_NOREG if unreachable */
	uint32_t ipdom;               /* immediate post-dominator; PTX_NOREG: only the function's end */
	uint64_t *live_in, *live_out; /* bit sets over registers; NULL if the function was too large to analyse */
};

/* How a register's value differs between the lanes of a warp. */
enum ptx_shape_kind {
	PTX_SHAPE_NONE,    /* never written on a reachable path */
	PTX_SHAPE_CONST,   /* uniform, and the value is base */
	PTX_SHAPE_UNIFORM, /* the same in all active lanes */
	PTX_SHAPE_AFFINE,  /* a uniform value + stride * lane */
	PTX_SHAPE_VARYING
};
struct ptx_shape {
	uint8_t kind;
	int64_t stride; /* AFFINE only, never 0 */
	int64_t base;   /* CONST only */
};

struct ptx_function {
	const char *name;
	struct ptx_module *module;
	bool is_entry;
	bool is_defined; /* has a body in this module */
	bool noreturn;
	bool address_taken; /* named by an initialiser, a mov or a target list: indirect calls may reach it */
	bool called;        /* called directly by a body parsed so far */
	uint8_t linkage;
	uint32_t maxntid[3], reqntid[3]; /* 0: not given */
	uint32_t minnctapersm, maxnctapersm, maxnreg;
	uint32_t reqnctapercluster[3], maxclusterrank; /* 0: not given */
	bool explicitcluster, blocksareclusters;
	struct ptx_var **params;
	struct ptx_var **rets;
	uint32_t nparams, nrets;
	struct ptx_function *alias_of; /* the target of .alias, or after ptx_link the definition; NULL otherwise */
	/* All .param variables of a function lie in one frame: parameters from offset 0, then returns, then the
	 * argument blocks of the calls it makes. */
	uint64_t param_size;       /* size of the parameters alone: a kernel's argument block */
	uint64_t param_frame_size; /* size of the whole frame; final once the body is parsed */
	uint32_t line;
	struct ptx_function *next; /* in m->functions, in source order */

	/* After ptx_function_body: */
	struct ptx_inst *insts; /* control never runs past the last one: the parser appends a ret if needed */
	uint32_t ninsts;
	struct ptx_reg *regs;
	uint32_t nregs;
	struct ptx_var *vars; /* .local, .shared and .param variables of all scopes */
	uint64_t local_size;  /* size of the local frame */
	uint32_t local_align;
	struct ptx_function **callees; /* direct callees, each once */
	uint32_t ncallees;
	struct ptx_var **shared_used; /* .shared variables named in the body, each once */
	uint32_t nshared_used;
	bool has_indirect_call;
	bool has_barrier; /* contains a bar or barrier (not bar.warp) */

	/* After ptx_kernel_layout, for entries: */
	uint64_t shared_static; /* size of static shared memory, 16-aligned: unsized variables start here */
	uint64_t local_total;   /* local bytes of this function and its deepest chain of callees */
	bool local_unbounded;   /* recursion or indirect calls: local_total is only a lower bound */

	/* After ptx_function_analyze: */
	struct ptx_block *blocks; /* in source order */
	uint32_t nblocks;
	uint32_t *rpo; /* block numbers in reverse post order */
	uint32_t nrpo;
	uint32_t *block_of; /* instruction -> block */

	/* After ptx_function_shapes: */
	struct ptx_shape *shapes; /* per register */
	bool *divergent;          /* per block: lanes may take different ways at its last instruction */

	struct ptx_error error; /* the first error of the body */

	/* Private. */
	int state;      /* STATE_* flags: the passes done */
	uint32_t index; /* number in a walk over functions */
	size_t body_start, body_end;
	uint32_t body_line, body_column;
};

struct ptx_module {
	unsigned version; /* .version 8.3 is 83 */
	unsigned sm;      /* .target sm_90a is 90 */
	const char *target;
	unsigned address_size; /* 32 or 64 */
	struct ptx_function *functions;
	struct ptx_var *vars;
	struct ptx_error error; /* the first error outside bodies */
	const char **files;     /* names of the source files, by number; NULL entries: none. See ptx_module_file */
	uint32_t nfiles;
	/* After ptx_link: the first module of the program, and the next one. Both are NULL if not linked. */
	struct ptx_module *head, *peer;

	/* Private. */
	struct ptx_arena *arena;
	const char *text; /* a copy in the arena */
	size_t text_len;
	struct ptx_names *names;
	uint64_t shared_common; /* of the head: end of the shared variables that several kernels may use */
	struct ptx_function **functions_end;
	struct ptx_var **vars_end;
};

/* ---- calls ----------------------------------------------------------------------------------------- */

/* Copies the text. NULL: out of memory. All other failures are in m->error (line != 0). */
struct ptx_module *ptx_module_create(const char *text, size_t len);
void ptx_module_destroy(struct ptx_module *m); /* NULL is fine */
/* The definition if there is one, else the declaration; aliases are followed. NULL: no such name. */
struct ptx_function *ptx_function_find(const struct ptx_module *m, const char *name);
struct ptx_var *ptx_var_find(const struct ptx_module *m, const char *name);
const char *ptx_module_file(const struct ptx_module *m, uint32_t number); /* the source file of a .loc; NULL: unknown */

/*
 * Joins n modules to one program, in place: declarations point to their definitions in other modules (alias_of,
 * defined_by), shared memory has one layout, and indirect calls reach the functions of all modules.  A strong
 * definition wins over a .common one, and that over a .weak one; static names stay private to their module.  Call
 * once, before the first body is parsed.  Returns 0, -ENOMEM, or -EINVAL with a sentence in `why`: two strong
 * definitions of a name, or declarations that contradict each other.  Undefined names are no error here: see
 * ptx_link_missing.
 */
int ptx_link(struct ptx_module **modules, unsigned n, char *why, size_t size);
/* Calls report() for every name that initialisers and the bodies parsed so far use and no module defines. */
void ptx_link_missing(struct ptx_module *head, void (*report)(void *arg, const char *name, bool function), void *arg);
struct ptx_var *ptx_var_definition(struct ptx_var *v);
struct ptx_function *ptx_function_definition(struct ptx_function *f); /* follows all aliases */

/*
 * Each returns 0, -EINVAL with f->error set, -ENOENT for a function without a body, -E2BIG if an analysis would exceed
 * its limit, or -ENOMEM.  Repeated calls are cheap and return the same result.
 */
int ptx_function_body(struct ptx_function *f);
int ptx_function_analyze(struct ptx_function *f); /* body, blocks, dominators, liveness */

/*
 * For entries: parses the body and every body it can reach, gives each .shared variable an offset, and adds up the
 * local frames.  An error in a callee is copied to f->error with its own line and column.  Callees without a body
 * (vprintf, malloc) are left to the engine.
 *
 * Offsets hold for the whole program.  Shared variables of module scope and of .func bodies each have one offset for
 * all kernels; an entry's own variables follow the last of those that the entry can reach (usually there are none).
 */
int ptx_kernel_layout(struct ptx_function *f);

/*
 * Uniformity: fills f->shapes and f->divergent.  tid_affine: blockDim.x is a multiple of 32, so that %tid.x is affine
 * with stride 1 and the other components are uniform.  Affine means modulo the width of the register: the value may
 * wrap around inside a warp.  Caution: cvt and mul.wide pass the stride of a 32-bit register on to a 64-bit one,
 * which is right only if the 32-bit value does not wrap inside the warp.  The result depends on tid_affine and is not
 * cached: every call computes it again and takes memory from the module's arena.
 */
int ptx_function_shapes(struct ptx_function *f, bool tid_affine);

/* Formats "line:column: message", the source line, and a caret. Returns the same value as snprintf. */
int ptx_error_format(const struct ptx_error *e, char *buf, size_t size);

/*
 * The result of a pass as text, for people and tests; the caller frees it.  Letters: 'p' the parsed instructions,
 * 'c' blocks and edges, 'd' dominators, 'l' liveness, 'u' shapes, 'f' frames and parameters.  NULL if the letter is
 * unknown, the pass failed, or memory ran out.
 */
char *ptx_dump(struct ptx_function *f, char letter);
char *ptx_module_dump(const struct ptx_module *m); /* variables with initialisers, and functions; the caller frees it */

const char *ptx_type_name(unsigned type);
unsigned ptx_type_bits(unsigned type); /* 1 for a predicate, 64 for opaque handles */
enum ptx_kind ptx_type_kind(unsigned type);
const char *ptx_op_name(unsigned op);
const char *ptx_sreg_name(unsigned sreg);
/* Number of leading operands that the instruction writes (0 for call, whose returns are in ops[1]). */
unsigned ptx_inst_ndest(const struct ptx_inst *in);
/* Calls use() for each register the instruction reads, and def() for each it writes; either may be NULL. A guarded
 * write is reported, but does not end the life of the old value. */
typedef void ptx_reg_visitor(void *data, uint32_t reg);
void ptx_inst_regs(const struct ptx_inst *in, ptx_reg_visitor *use, ptx_reg_visitor *def, void *data);
/* True if control never passes to the next instruction: an unguarded bra, brx, ret, exit or trap. */
bool ptx_inst_ends(const struct ptx_inst *in);

/* For tests and tools: true if the table has this mnemonic, e.g. "ld.global.nc.v4.f32"; if not, `why` says why. */
bool ptx_mnemonic_known(const char *mnemonic, char *why, size_t size);
