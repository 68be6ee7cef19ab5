/*
 * core.h - a grid at work: blocks, warps, their splits, joins and frames.  Private to the interpreter's core.
 *
 * A warp runs as one piece as long as its lanes agree.  Where they part, it becomes several splits, each a
 *set of lanes with a place in the code, one of which runs at a time:
 *
 *	     @p bra ELSE		split {0-7}  at ELSE  ┐ both have the join
 *	     ...			split {8-31} here     ┘ {pc END, expected 0-31}
 *	END:				arrivals collect in the join; when all have come, one split goes on
 *
 * A join lies at the immediate post-dominator of the branch.  It is a wish, not a law: when lanes wait at a
 *join for others that spin (a lock held by one that waits), the waiting ones are let go.  Likewise lanes that
 * wait for members of a shfl.sync, or at a barrier, are splits that are not ready.
 *
 * A call gives the calling lanes a frame: registers, .param memory, and the join at which they return. Frames
 *form a tree, since lanes may be in different calls.  All this is data; no native stack is held while a warp
 * waits, and the thread that runs a block can leave it at any time and go on with another.
 */
#pragma once

#define WARP_PRIVATE
#include <pthread.h>
#include <stdatomic.h>

#include "ptx/interp/interp.h"
#include "ptx/interp/warp.h"

enum {
	MAX_WARPS = 32,        /* of a block */
	MAX_BARS = 16,         /* named barriers */
	MAX_JOINS = 64,        /* of a warp; a branch that finds none free does without */
	RANGES = 8,            /* cached allocations of a thread */
	HOT = 64,              /* and of its instructions */
	BUDGET = 4096,         /* backward branches until somebody else may run */
	SPIN_COST = 128,       /* what an atomic or volatile access takes from it */
	STALL_LIMIT = 64,      /* budgets used up until waiting lanes are let go */
	SPIN_STALL = 16,       /* what a budget used up by spinning counts */
	RESERVED_SHARED = 1024 /* behind the kernel's shared memory, for the system: %reserved_smem_offset */
};

/* ---- decoded code ----------------------------------------------------------------------------------- */

/* `slot` of a frame's constants holds an address that is known only at launch. */
struct const_reloc {
	uint32_t slot;
	uint8_t width;
	const struct ptx_var *var;
	int64_t addend;
};

/* Where an argument or a result lies: a place in .param memory, or a slot. */
struct call_arg {
	uint32_t offset; /* in the .param frame, or NO_SLOT */
	uint32_t slot;
	uint8_t width;
	uint32_t size;
};

struct xfunc {
	struct ptx_function *fn;
	struct xinst *insts;
	uint32_t ninsts;
	uint32_t index;      /* in the program */
	uint32_t frame_size; /* of all slots: constants first */
	uint32_t consts_size;
	uint8_t *consts;
	struct const_reloc *relocs;
	uint32_t nrelocs;
	uint32_t param_stride; /* .param bytes a lane */
	uint32_t stack_use;    /* what a call takes from the stack limit */
	uint32_t *lists;
	uint8_t *list_widths;
	struct call_site *calls;
	struct call_arg *params, *rets; /* as the function itself sees them */
};

struct call_site {
	struct xfunc *callee; /* NULL: indirect or builtin */
	const struct ptx_function *named;
	exec_fn builtin;
	struct call_arg *args, *rets;
	uint32_t nargs, nrets;
	struct call_site *next; /* of the same function */
};

struct interp_kernel {
	struct interp_program *program;
	struct xfunc *entry;
	struct xfunc **funcs; /* all it can reach, itself first */
	uint32_t nfuncs;
	uint64_t local_total;
	bool allocas; /* somewhere in it: stack.c */
	struct interp_kernel *next;
};

struct interp_program {
	struct ptx_module *module;
	struct xfunc **funcs;
	_Atomic(uint32_t) nfuncs; /* grows while kernels run that were there before */
	struct interp_kernel *kernels;
};

/* ---- a warp ----------------------------------------------------------------------------------------- */

struct join {
	const struct xinst *pc; /* an x_join instruction */
	struct frame *frame;
	uint32_t expected, arrived;
	struct join *parent;
};

struct frame {
	const struct xfunc *fn;
	struct frame *parent; /* NULL: the kernel */
	uint8_t *regs, *params;
	uint32_t stack_used;
	uint64_t stack_top[LANES]; /* of the caller, where the kernel has allocas */
	uint64_t local_base;       /* of its .local variables, in each lane's local memory */
	const struct call_site *site;
	struct join join;   /* where it returns */
	struct frame *next; /* in the free list */
	struct frame *all;  /* of the same worker */
};

enum split_state { SPLIT_READY, SPLIT_SYNC, SPLIT_BAR };

struct split {
	const struct xinst *pc;
	struct frame *frame;
	struct join *join;
	uint32_t mask;
	uint8_t state;
	uint8_t bar;
};

enum { EV_NEXT = 1, EV_BUDGET = 2, EV_FAULT = 4 };

struct warp {
	WARP_COMMON
	/* The running split. */
	const struct xinst *pc; /* the next instruction */
	uint32_t mask;
	uint32_t event; /* EV_*: the dispatcher has to look */
	struct frame *frame;
	struct join *join;
	int budget;
	uint32_t spins;   /* atomic and volatile accesses since the budget was filled */
	uint32_t stalled; /* budgets used up since a join let lanes go */

	bool hurried; /* lanes were found waiting for each other: all splits are equal */

	uint32_t live;                            /* lanes that have not exited */
	uint32_t cluster_arrived, cluster_passed; /* lanes at the cluster's barrier; those that need not wait there */
	uint32_t number;
	struct block *block;
	struct frame *root;         /* NULL before the warp runs, and after */
	struct split splits[LANES]; /* those that do not run; the last is taken next */
	uint32_t nsplits;
	uint64_t free_joins; /* a bit each */
	struct join joins[MAX_JOINS];
	uint8_t *local;            /* lane after lane, local_size each */
	uint64_t stack_top[LANES]; /* where alloca goes on, in the lane's local memory */
	uint32_t tid[3][LANES] __attribute__((aligned(64)));
};

/* ---- a block ---------------------------------------------------------------------------------------- */

struct barrier {
	bool used;
	uint32_t count; /* threads, or 0: all of the block */
	uint32_t arrived[MAX_WARPS];
	uint32_t popc, threads; /* bar.red: true ones of how many */
};

struct block {
	struct grid *grid;
	struct worker *worker;
	uint32_t ctaid[3];
	uint32_t rank;       /* in its cluster, which is a ring: */
	struct block *peer;  /* the next one */
	bool at_cluster_bar; /* somebody has arrived there */
	uint8_t *shared;
	uint32_t nwarps;
	uint32_t live; /* threads that have not exited */
	struct barrier bars[MAX_BARS];
	struct warp *warps;
	uint8_t *local; /* of all warps */
	uint32_t idle;  /* rounds in which all warps were spinning */
	struct block *next;
};

/* ---- a grid ----------------------------------------------------------------------------------------- */

struct range {
	uint64_t base, end;
};

/* One of the threads at work on a grid. */
struct worker {
	struct grid *grid;
	struct range ranges[RANGES]; /* the last one found first */
	struct range hot[HOT];       /* where an instruction found one, by its address */
	struct frame **free_frames;  /* by function */
	struct frame *frames;        /* all */
	struct block *free_blocks;
	struct block *resident, **resident_end;
	uint32_t nresident;
	uint32_t number;
	uint32_t begun; /* blocks */
};

/* What a grid has launched itself (nested.c): work, work for the end, and buffers that wait for a launch. */
struct nested {
	struct work *first, *end, *tail, *tail_end, *buffers;
	uint32_t pending;
	atomic_int error; /* of the last call that failed */
};

struct grid {
	struct interp_launch *launch;
	const struct interp_kernel *kernel;
	const uint8_t **consts; /* by function of the program: constants with this launch's addresses */
	uint8_t *params;
	uint64_t params_size;
	uint64_t shared_size, shared_static;
	uint64_t local_size; /* a lane */
	uint64_t calls_size; /* of which this is for variables, the rest for alloca */
	uint64_t stack_size; /* what calls may use */
	uint64_t nblocks;
	uint32_t cluster[3], cluster_size; /* in blocks */
	atomic_uint_fast64_t next;
	atomic_int fault;
	atomic_bool asserted;   /* the launch ends with INTERP_ASSERT, at the next chance */
	pthread_mutex_t lock;   /* of launch->message, and of printing */
	uint64_t workspace[32]; /* of grid-wide barriers: %envreg1 and 2 */
	uint32_t nthreads, nwarps;
	unsigned depth; /* of the launches that led here; 0: the host's */
	struct nested nested;
};

/* ---- flow.c: splits, joins, calls ------------------------------------------------------------------- */

void warp_start(struct warp *w, uint32_t lanes);
bool warp_enter(struct warp *w);   /* gets the registers, before it runs first; false: fault raised */
bool warp_next(struct warp *w);    /* take a ready split; false: there is none */
bool warp_release(struct warp *w); /* let lanes go that wait for others; false: none do */
/* The active lanes wait at x, the others of the split go on behind it. */
void warp_suspend(struct warp *w, const struct xinst *x, enum split_state state, unsigned bar);
void warp_push(struct warp *w, const struct split *s);
void warp_push_ready(struct warp *w, const struct xinst *pc, struct frame *f, struct join *j, uint32_t mask);
/* A join that `expected` lanes come to, inside of the one at hand.  NULL: there is no room for another. */
struct join *warp_join(struct warp *w, const struct xinst *pc, uint32_t expected, uint32_t arrived);
void warp_joins_leave(
	struct warp *w, struct join *from, const struct join *end, uint32_t lanes); /* they will never come */
void warp_join_pass(struct warp *w, struct join *j); /* all have come: they go on together */
void warp_exit(struct warp *w, uint32_t lanes);
uint8_t *frame_param(struct warp *w, struct frame *f, unsigned lane, uint64_t offset);
void warp_rotate(struct warp *w); /* the running split goes to the end of the queue */
void frame_put(struct worker *k, struct frame *f);
struct frame *frame_get(struct worker *k, const struct xfunc *fn);

void x_join(struct warp *w, const struct xinst *x);
void x_bra(struct warp *w, const struct xinst *x);
void x_bra_back(struct warp *w, const struct xinst *x);
void x_brx(struct warp *w, const struct xinst *x);
void x_call(struct warp *w, const struct xinst *x);
void x_ret(struct warp *w, const struct xinst *x);
void x_exit(struct warp *w, const struct xinst *x);
void x_trap(struct warp *w, const struct xinst *x);

/* ---- stack.c ---------------------------------------------------------------------------------------- */

void stack_start(struct warp *w);
exec_fn stack_select(const struct ptx_inst *in);

/* ---- barrier.c -------------------------------------------------------------------------------------- */

void x_bar(struct warp *w, const struct xinst *x);
void block_lanes_left(struct block *b); /* some lanes exited: barriers may be complete */

/* ---- cluster.c -------------------------------------------------------------------------------------- */

void cluster_leave(struct block *b);
/* The block of b's cluster in whose shared memory a generic address lies; NULL: none. */
struct block *cluster_owner(struct block *b, uint64_t a);
bool cluster_ok(struct block *b, uint64_t a, uint64_t n);         /* are these bytes in the shared memory of a peer? */
uint8_t *cluster_shared(struct block *b, uint64_t a, uint64_t n); /* n bytes of shared::cluster; NULL: outside */
uint64_t cluster_to_generic(struct block *b, uint64_t a);
uint64_t cluster_from_generic(struct block *b, uint64_t a);
void cluster_settle(struct block *b);      /* lanes arrived or exited: the barrier may be complete */
bool cluster_waits(const struct block *b); /* do lanes wait for other blocks? */
void x_cluster_arrive(struct warp *w, const struct xinst *x);
void x_cluster_wait(struct warp *w, const struct xinst *x);
void x_mapa(struct warp *w, const struct xinst *x);
void x_ctarank(struct warp *w, const struct xinst *x);

/* ---- collect.c: instructions over several lanes of a warp ------------------------------------------- */

void x_sync(struct warp *w, const struct xinst *x); /* waits for the members, then runs x->op */
bool sync_resolve(struct warp *w, bool lenient);    /* did some waiting split go on? */
uint32_t sync_missing(struct warp *w);
exec_fn collect_select(const struct ptx_inst *in);

/* ---- mem.c, access.c, atomic.c, async.c ------------------------------------------------------------- */

/* How the addresses of an access lie. */
enum shape { SHAPE_FAULT, SHAPE_DENSE, SHAPE_UNIFORM, SHAPE_LOOSE };

/*
 * Host addresses of `size` bytes in every active lane, checked and aligned; dense: lane i's is the first one
 * + i * size and all lanes are active.  Other lanes' entries are addresses that may be read. src: the operand
 * that is the address (index in x->src).
 */
enum shape mem_resolve(
	struct warp *w, const struct xinst *x, unsigned src, unsigned space, uint64_t size, uint64_t a[LANES]);
/* The host's address of n bytes, `offset` behind the address that a lane of x has; NULL: a fault was raised. */
uint8_t *mem_bytes(struct warp *w, const struct xinst *x, unsigned lane, uint64_t offset, uint64_t n);
/* May one lane touch these bytes, at a generic address? */
bool mem_ok(struct warp *w, uint64_t addr, uint64_t size);
/* Copies a string at a generic address, cut to size; false: fault raised. */
bool mem_string(struct warp *w, uint64_t addr, char *buf, size_t size);
/* The function for an ld or st whose register's slot has this width.  x: decoded but for that. */
exec_fn access_load(const struct ptx_inst *in, unsigned width, const struct xinst *x);
exec_fn access_store(const struct ptx_inst *in, unsigned width, const struct xinst *x);
exec_fn atomic_select(const struct ptx_inst *in);
float min_f32(float a, float b); /* a number rather than a NaN; -0 < +0 */
float max_f32(float a, float b);
exec_fn async_select(const struct ptx_inst *in);
exec_fn matrix_select(const struct ptx_inst *in);
void mem_fence(void);

static inline void warp_spin(struct warp *w)
{
	w->budget -= SPIN_COST;
	w->spins++;
}

static inline uint64_t lane_local(const struct warp *w, unsigned lane)
{
	return (uint64_t)(uintptr_t)w->local + lane * w->block->grid->local_size;
}

/* ---- mov.c ------------------------------------------------------------------------------------------ */

exec_fn mov_select(const struct ptx_inst *in);
void x_sreg(struct warp *w, const struct xinst *x);       /* aux: enum ptx_sreg, imm: component */
void x_local_addr(struct warp *w, const struct xinst *x); /* imm: offset in the frame's local variables */
void x_param_addr(struct warp *w, const struct xinst *x); /* imm: offset in the .param frame */
void x_nop(struct warp *w, const struct xinst *x);

/* ---- builtin.c, format.c ---------------------------------------------------------------------------- */

exec_fn builtin_find(const char *name);
/* Argument n of a call in one lane, up to 8 bytes or as many as wanted; 0 if there is none.  The result. */
uint64_t builtin_arg(struct warp *w, const struct call_site *s, unsigned n, unsigned lane);
void builtin_bytes(struct warp *w, const struct call_site *s, unsigned n, unsigned lane, void *to, size_t size);
void builtin_result(struct warp *w, const struct call_site *s, unsigned lane, uint64_t v);
/* Formats like printf, arguments packed at args; malloc'ed text or NULL (fault raised or no memory). */
char *format_device(struct warp *w, const char *fmt, uint64_t args, size_t *len, int *nargs);

/* ---- nested.c, launch.c ----------------------------------------------------------------------------- */

exec_fn nested_find(const char *name);
int nested_run(struct grid *g, int fault); /* all that it launched, if there is no fault; returns the fault */
enum interp_fault grid_launch(const struct interp_kernel *k, struct interp_launch *l, unsigned depth);

/* ---- decode.c, program.c ---------------------------------------------------------------------------- */

struct decode_error {
	int err;
	char *why;
	size_t size;
};
int decode_function(struct interp_program *p, struct xfunc *x, struct decode_error *e);
struct xfunc *program_func(struct interp_program *p, struct ptx_function *f);
const struct xfunc *kernel_func_at(const struct interp_kernel *k, uint64_t address);
unsigned slot_width(unsigned type); /* enum width of a register of this type */

/* ---- run.c ------------------------------------------------------------------------------------------ */

enum run { RUN_DONE, RUN_BLOCKED, RUN_PROGRESS, RUN_SPINNING, RUN_FAULT };
enum run block_run(struct block *b);
void worker_run(void *data, uint64_t number);
