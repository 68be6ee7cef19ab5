/*
 * core.h - a running grid: blocks, warps, their splits, joins and frames.  Private to the interpreter's core; the ALU
 * and the textures see only warp.h.
 *
 * A warp runs as a whole as long as its lanes agree.  At a divergent branch it becomes several splits: sets of lanes,
 * each with its own place in the code, one of which runs at a time.
 *
 *	     @p bra ELSE		split {0-7}  at ELSE  ┐ both have the join
 *	     ...			split {8-31} here     ┘ {pc END, expected 0-31}
 *	END:				the join collects arrivals; when all have come, one split continues
 *
 * A join lies at the immediate post-dominator of the branch.  Waiting there is best effort: if lanes wait at a join for
 * others that spin (on a lock, say, that a waiting lane holds), the waiting lanes are released.  Lanes that wait for
 * the members of a shfl.sync, or at a barrier, are splits that are not ready.
 *
 * A call gives the calling lanes a frame: registers, .param memory, and the join at which they return.  Frames form a
 * tree, since lanes may be in different calls.  All of this is data: a waiting warp holds no native stack, so the
 * thread that runs a block can leave it at any time and continue with another.
 *
 * Ownership: the program owns decoded functions and kernels, for its whole life.  A launch owns its struct grid.
 * Each grid thread (a host thread that runs its share of the grid) owns its blocks, with their warps, shared and
 * local memory, and its frames; none of it is shared between threads, so no lock protects it.  Threads share only
 * struct grid.
 */
#pragma once

#define WARP_PRIVATE
#include <pthread.h>
#include <stdatomic.h>

#include "ptx/interp/compiled.h"
#include "ptx/interp/interp.h"
#include "ptx/interp/warp.h"
#include "ptx/jit/tier.h"

enum {
	MAX_WARPS = 32,        /* warps of a block */
	MAX_BARS = 16,         /* named barriers of a block */
	MAX_JOINS = 64,        /* joins of a warp; a branch that finds none free does without */
	CACHED_RANGES = 8,     /* allocations that a grid thread remembers */
	HOT_RANGES = 64,       /* allocations that a grid thread remembers by instruction */
	BRANCH_BUDGET = 4096,  /* backward branches of a warp until another one runs */
	SPIN_COST = 128,       /* budget that an atomic or volatile access costs */
	STALL_LIMIT = 64,      /* stalls of a warp until its waiting lanes are released */
	SPIN_STALL = 16,       /* stalls for a budget spent mostly on spinning; else 1 */
	RESERVED_SHARED = 1024 /* bytes after the kernel's shared memory, for %reserved_smem_offset */
};

/* ---- decoded code ----------------------------------------------------------------------------------- */

/* A constant slot whose value is an address known only at launch. */
struct const_reloc {
	uint32_t slot;
	uint8_t width;
	const struct ptx_var *var;
	int64_t addend;
};

/* The place of an argument or a result: in the .param frame, or in a slot. */
struct call_arg {
	uint32_t offset; /* in the .param frame, or NO_SLOT */
	uint32_t slot;
	uint8_t width;
	uint32_t size;
};

/* A decoded function. */
struct xfunc {
	struct ptx_function *fn;
	struct xinst *insts;
	uint32_t ninsts;
	uint32_t index;       /* in the program */
	uint32_t frame_size;  /* bytes of all slots: registers first, then constants */
	uint32_t consts_size; /* bytes of the constants at the end of the frame */
	uint8_t *consts;
	struct const_reloc *relocs;
	uint32_t nrelocs;
	uint32_t param_stride; /* .param bytes of one lane */
	uint32_t stack_use;    /* bytes that a call counts against the stack limit */
	uint32_t *lists;       /* the slots of vector operands (xinst.list) */
	uint8_t *list_widths;
	struct call_site *calls;
	struct call_arg *params, *rets; /* places in the function's own frame */
	struct checked_site *sites;     /* checked mode: its checked instructions */
	uint32_t *slots;                /* by register: its slot */
	uint32_t *first;                /* by instruction: its first decoded instruction; the last one: ninsts */
	bool *join_at;                  /* by instruction: the first one is an x_join */
};

/* A call instruction; x->data of x_call. */
struct call_site {
	struct xfunc *callee;         /* NULL: indirect or builtin */
	exec_fn builtin;              /* NULL: not a builtin */
	struct call_arg *args, *rets; /* places in the caller's frame */
	uint32_t nargs, nrets;
	struct call_site *next; /* next call of the same function */
};

struct interp_kernel {
	struct interp_program *program;
	struct xfunc *entry;
	struct xfunc **funcs; /* all functions it can reach, the entry first */
	uint32_t nfuncs;
	uint64_t local_total;
	bool has_alloca;        /* one of its functions has an alloca: stack.c */
	struct jit_kernel *jit; /* compiled code; NULL: never compiled */
	struct interp_kernel *next;
};

struct interp_program {
	struct ptx_module *module;
	struct xfunc **funcs;
	_Atomic(uint32_t) nfuncs; /* may grow while older kernels run */
	struct interp_kernel *kernels;
	bool checked;              /* interp_set_checked: all its functions are decoded for the checked mode */
	bool uses_reserved_shared; /* checked mode: a kernel reads %reserved_smem_offset */
	/* Compilations of its kernels that are queued or in progress, and what happens after the last one: jit/service.c. */
	unsigned jobs;
	void (*then)(void *arg);
	void *then_arg;
};

/* ---- a warp ----------------------------------------------------------------------------------------- */

struct join {
	const struct xinst *pc; /* an x_join instruction */
	struct frame *frame;
	uint32_t expected, arrived; /* lane masks */
	struct join *parent;        /* the enclosing join */
};

struct frame {
	const struct xfunc *fn;
	struct frame *parent; /* the caller's; NULL: the kernel */
	uint8_t *regs, *params;
	uint32_t stack_used;
	uint64_t stack_top[LANES]; /* the caller's, if the kernel has an alloca */
	uint64_t local_base;       /* offset of its .local variables in each lane's local memory */
	const struct call_site *site;
	struct join join;       /* where the call returns */
	struct frame *next;     /* in the grid thread's free list */
	struct frame *next_all; /* in the grid thread's list of all frames */
};

/* SYNC: waits for the members of a warp-wide instruction. BAR: waits at barrier `bar`. */
enum split_state { SPLIT_READY, SPLIT_SYNC, SPLIT_BAR };

struct split {
	const struct xinst *pc;
	struct frame *frame;
	struct join *join;
	uint32_t mask;
	uint8_t state;
	uint8_t bar;
};

/* Why warp_dispatch stops: the running split ended or waits, the budget is spent, a fault was raised. */
enum { EV_NEXT = 1, EV_BUDGET = 2, EV_FAULT = 4 };

struct warp {
	WARP_COMMON
	/* The running split. */
	const struct xinst *pc; /* the next instruction */
	uint32_t mask;
	uint32_t event; /* EV_* flags; nonzero stops the dispatch loop */
	struct frame *frame;
	struct join *join;
	int budget;
	uint32_t spins;   /* atomic and volatile accesses since the budget was refilled */
	uint32_t stalled; /* stalls since waiting lanes were last released */

	bool reconverge_off; /* lanes waited for each other: splits no longer hold back for those behind them */
	bool mixed;          /* lanes may have met at different iterations of a loop: compiled.h */
	bool waits;          /* all live lanes wait at the barrier at pc, which has not counted them: compiled.h */
	const struct compiled_helpers *helpers;

	uint32_t live;            /* lanes that have not exited */
	uint32_t cluster_arrived; /* lanes that have arrived at the cluster's barrier */
	uint32_t cluster_passed;  /* lanes whose barrier is complete and that have not waited yet */
	uint32_t number;
	struct block *block;
	struct frame *root;         /* the kernel's frame; NULL before the warp runs, and after */
	struct split splits[LANES]; /* the splits that do not run; the last is taken next */
	uint32_t nsplits;
	uint64_t free_joins; /* bit i: joins[i] is free */
	struct join joins[MAX_JOINS];
	uint8_t *local;            /* local memory, lane after lane, local_size bytes each */
	uint64_t stack_top[LANES]; /* end of the last alloca: an offset in the lane's local memory */
	uint32_t tid[3][LANES] __attribute__((aligned(64)));
};

/* ---- a block ---------------------------------------------------------------------------------------- */

struct barrier {
	uint32_t count;              /* threads to wait for; 0: all of the block */
	uint32_t arrived[MAX_WARPS]; /* by warp: a lane mask */
	uint32_t popc, threads;      /* bar.red: threads with a true predicate, and all that arrived */
};

struct block {
	struct grid *grid;
	struct grid_thread *thread;
	uint32_t ctaid[3];
	uint32_t rank;       /* in its cluster */
	struct block *peer;  /* next block of the cluster, a ring; itself if alone */
	bool at_cluster_bar; /* a thread of the cluster has arrived at its barrier */
	uint8_t *shared;
	uint32_t nwarps;
	uint32_t live;                 /* threads that have not exited */
	struct barrier bars[MAX_BARS]; /* all zero, but for those in use */
	uint32_t bars_used;            /* bit i: some lanes have arrived at bars[i] */
	struct warp *warps;
	uint8_t *local;                /* local memory of all warps */
	uint32_t idle;                 /* rounds in which all warps were spinning */
	struct block *next;            /* in the grid thread's list of resident or free blocks */
	struct checked_block *checked; /* NULL: the program is not checked */
	const struct jit_code *code;   /* compiled code for this block's warps; NULL: interpret */
};

/* ---- a grid ----------------------------------------------------------------------------------------- */

struct range {
	uint64_t base, end;
};

/* A host thread that runs its share of a grid. */
struct grid_thread {
	struct grid *grid;
	struct range ranges[CACHED_RANGES]; /* accessible allocations, most recently used first */
	struct range hot[HOT_RANGES]; /* the allocation an instruction last used; hashed by the instruction's address */
	struct access_site *sites;    /* of compiled code; NULL without such code */
	uint32_t nsites;
	uint64_t warps[2];          /* for the profile: interpreted, compiled */
	struct frame **free_frames; /* by function index */
	struct frame *frames;       /* list of all frames */
	struct block *free_blocks;
	struct block *resident, **resident_end; /* blocks that have begun and not ended */
	uint32_t nresident;
	uint32_t number;
	uint32_t blocks_begun;
};

/* Work that a grid has launched itself (nested_launch.c); grid.lock protects the lists. */
struct nested {
	struct nested_work *first, *end;     /* in order of launching */
	struct nested_work *tail, *tail_end; /* for the tail stream: runs after all other work */
	struct nested_work *buffers;         /* parameter buffers that wait for their launch */
	uint32_t pending;
	atomic_int error; /* cudaError_t of the last call that failed */
};

struct grid {
	struct interp_launch *launch;
	const struct interp_kernel *kernel;
	struct jit_launch jit;  /* compiled code for its blocks */
	const uint8_t **consts; /* by function index: the constants, with the addresses of this launch */
	uint8_t *params;
	uint64_t params_size;
	uint64_t shared_size, shared_static;
	uint64_t local_size; /* local memory of a lane: calls_size for variables, the rest for alloca */
	uint64_t calls_size;
	uint64_t stack_size; /* limit for frame.stack_used */
	uint64_t nblocks;
	uint32_t cluster[3], cluster_size; /* in blocks */
	/* All threads write the number of the next block to start, and read the other fields all the time: it has a cache
	 * line of its own. */
	_Alignas(64) atomic_uint_fast64_t next;
	_Alignas(64) atomic_int fault; /* enum interp_fault: the first one */
	atomic_int checked_fault;      /* checked mode: of the first invalid access; the launch went on */
	atomic_bool asserted;          /* an assertion failed: the launch ends with INTERP_ASSERT soon */
	pthread_mutex_t lock;          /* protects launch->message and nested, and serialises printing */
	uint64_t workspace[32];        /* for grid-wide barriers: %envreg1 and %envreg2 hold its address */
	uint32_t nthreads, nwarps;     /* of a block */
	unsigned depth;                /* number of launching grids above this one; 0: launched by the host */
	struct nested nested;
};

/* ---- flow/flow.c, flow/call.c: splits, joins, calls ------------------------------------------------- */

void warp_start(struct warp *w, uint32_t lanes); /* resets the warp for a new block */
bool warp_enter(struct warp *w);                 /* gives the warp its first frame; false: a fault was raised */
bool warp_take_split(struct warp *w);            /* makes a ready split the running one; false: there is none */
bool warp_release_waiting(struct warp *w);       /* releases lanes that wait for others; false: none do */
/* The active lanes wait at x; the others of the running split continue after it. */
void warp_suspend(struct warp *w, const struct xinst *x, enum split_state state, unsigned bar);
void warp_push(struct warp *w, const struct split *s);
void warp_push_ready(struct warp *w, const struct xinst *pc, struct frame *f, struct join *j, uint32_t mask);
/* Takes a free join, inside the current one, for the lanes `expected`. NULL: none is free. */
struct join *warp_create_join(struct warp *w, const struct xinst *pc, uint32_t expected, uint32_t arrived);
/* Removes lanes that will never arrive from the joins `from` to `end` (exclusive), innermost first. */
void warp_leave_joins(struct warp *w, struct join *from, const struct join *end, uint32_t lanes);
void warp_pass_join(struct warp *w, struct join *j); /* all lanes have arrived: they continue as one split */
void warp_exit(struct warp *w, uint32_t lanes);
uint8_t *frame_param(struct warp *w, struct frame *f, unsigned lane, uint64_t offset); /* an address in .param memory */
void warp_rotate(struct warp *w); /* the running split goes to the end of the queue */

void x_join(struct warp *w, const struct xinst *x);
void x_bra(struct warp *w, const struct xinst *x);
void x_bra_back(struct warp *w, const struct xinst *x);
void x_brx(struct warp *w, const struct xinst *x);
void x_call(struct warp *w, const struct xinst *x);
void x_ret(struct warp *w, const struct xinst *x);
void x_exit(struct warp *w, const struct xinst *x);
void x_trap(struct warp *w, const struct xinst *x);

/* ---- flow/stack.c: alloca --------------------------------------------------------------------------- */

void stack_start(struct warp *w); /* resets stack_top of all lanes */
exec_fn stack_select(const struct ptx_inst *in);

/* ---- flow/barrier.c --------------------------------------------------------------------------------- */

void x_bar(struct warp *w, const struct xinst *x);
void block_bars_update(struct block *b); /* after lanes exited: releases the barriers that are complete now */

/* ---- flow/cluster.c --------------------------------------------------------------------------------- */

void cluster_leave(struct block *b); /* a block that has ended leaves the ring */
/* The block of b's cluster in whose shared memory a generic address lies; NULL: none. */
struct block *cluster_owner(struct block *b, uint64_t a);
/* True if n bytes at a generic address lie in the shared memory of b's cluster, and that has several blocks. */
bool cluster_accessible(struct block *b, uint64_t a, uint64_t n);
uint8_t *cluster_shared(struct block *b, uint64_t a, uint64_t n); /* n bytes of shared::cluster; NULL: out of bounds */
uint64_t cluster_to_generic(struct block *b, uint64_t a);
uint64_t cluster_from_generic(struct block *b, uint64_t a);
void cluster_bar_update(struct block *b);      /* after lanes arrived or exited: releases the barrier if complete */
bool cluster_bar_waits(const struct block *b); /* true if lanes of b wait for other blocks of its cluster */
void x_cluster_arrive(struct warp *w, const struct xinst *x);
void x_cluster_wait(struct warp *w, const struct xinst *x);
void x_mapa(struct warp *w, const struct xinst *x);
void x_ctarank(struct warp *w, const struct xinst *x);

/* ---- flow/warp_sync.c: instructions over several lanes of a warp ------------------------------------ */

void x_sync(struct warp *w, const struct xinst *x); /* waits for the members, then runs x->op */
/* Runs the waiting warp-wide instructions whose members have all come; lenient: runs one without waiting for the rest.
 * True if a split became ready. */
bool warp_sync_resolve(struct warp *w, bool lenient);
uint32_t warp_sync_missing(struct warp *w); /* the lanes that waiting warp-wide instructions lack */
exec_fn warp_sync_select(const struct ptx_inst *in);

/* ---- memory/: address.c, access.c, atomic.c, async.c, matrix.c -------------------------------------- */

/* The addresses of the lanes: consecutive, all equal, or anything else. */
enum address_shape { ADDRESSES_FAULT, ADDRESSES_DENSE, ADDRESSES_UNIFORM, ADDRESSES_LOOSE };

/*
 * Computes the host addresses of `size` bytes for every active lane, and checks access rights and alignment.  Dense:
 * all lanes are active, and lane i's address is the first one + i * size.  Entries of inactive lanes are readable
 * addresses. src: index in x->src of the address operand.  ADDRESSES_FAULT: a fault was raised.
 */
enum address_shape mem_resolve(
	struct warp *w, const struct xinst *x, unsigned src, unsigned space, uint64_t size, uint64_t a[LANES]);
/* The host address of n bytes at `offset` from the address operand (source 0) of a lane; NULL: a fault was raised. */
uint8_t *mem_bytes(struct warp *w, const struct xinst *x, unsigned lane, uint64_t offset, uint64_t n);
/* The values of address operand `src` of all lanes, with the displacement; not checked. */
void mem_addresses(struct warp *w, const struct xinst *x, unsigned src, uint64_t a[LANES]);
/* True if the warp may access these bytes at a generic address. */
bool mem_accessible(struct warp *w, uint64_t addr, uint64_t size);
/* Copies a string from a generic address, truncated to size; false: a fault was raised. */
bool mem_string(struct warp *w, uint64_t addr, char *buf, size_t size);
/* The function for an ld or st whose register has a slot of this width; x is complete but for that function. */
exec_fn access_load(const struct ptx_inst *in, unsigned width, const struct xinst *x);
exec_fn access_store(const struct ptx_inst *in, unsigned width, const struct xinst *x);
exec_fn atomic_select(const struct ptx_inst *in);
float number_min_f32(float a, float b); /* prefers a number to a NaN; -0 < +0 */
float number_max_f32(float a, float b);
exec_fn async_select(const struct ptx_inst *in);
exec_fn matrix_select(const struct ptx_inst *in);

/* Charges the budget for an access by which a kernel may be waiting for another thread. */
static inline void warp_spin(struct warp *w)
{
	w->budget -= SPIN_COST;
	w->spins++;
}

/* The generic address of a lane's local memory. */
static inline uint64_t lane_local(const struct warp *w, unsigned lane)
{
	return (uint64_t)(uintptr_t)w->local + lane * w->block->grid->local_size;
}

/* ---- memory/mov.c, memory/address_space.c, flow/special_register.c ---------------------------------- */

exec_fn mov_select(const struct ptx_inst *in);
exec_fn address_space_select(const struct ptx_inst *in);
void x_mov64(struct warp *w, const struct xinst *x);
void x_sreg(struct warp *w, const struct xinst *x);       /* aux: enum ptx_sreg, imm: component */
void x_local_addr(struct warp *w, const struct xinst *x); /* imm: offset in the frame's local variables */
void x_param_addr(struct warp *w, const struct xinst *x); /* imm: offset in the .param frame */
void x_nop(struct warp *w, const struct xinst *x);

/* ---- flow/builtin.c, flow/printf_format.c ----------------------------------------------------------- */

exec_fn builtin_find(const char *name); /* NULL: no builtin has this name */
/* Argument n of a call in one lane, as a number or as bytes; zeros if the call has fewer or shorter arguments. */
uint64_t builtin_arg(struct warp *w, const struct call_site *s, unsigned n, unsigned lane);
void builtin_bytes(struct warp *w, const struct call_site *s, unsigned n, unsigned lane, void *to, size_t size);
void builtin_result(struct warp *w, const struct call_site *s, unsigned lane, uint64_t v);
/* Formats like printf, with the arguments packed at the generic address args. The caller frees the text; NULL: a fault
 * was raised, or out of memory. */
char *printf_format(struct warp *w, const char *fmt, uint64_t args, size_t *len, int *nargs);

/* ---- flow/nested_launch.c, launch.c ----------------------------------------------------------------- */

exec_fn nested_builtin_find(const char *name);
int nested_run(struct grid *g, int fault); /* runs the work that g launched, unless it failed; returns the fault */
enum interp_fault grid_launch(const struct interp_kernel *k, struct interp_launch *l, unsigned depth);

/* ---- checked/: the checked mode (checked.h); they do nothing in blocks without a shadow ------------- */

bool checked_block_create(struct block *b); /* gives b a shadow if its program is checked; false: no memory */
void checked_block_destroy(struct block *b);
void checked_block_begin(struct block *b);
void checked_barrier(struct block *b); /* all threads of b have passed a barrier */
void checked_bytes_written(struct warp *w, uint64_t generic, uint64_t n);
void checked_sites_destroy(struct checked_site *s);

/* ---- decode/, program.c ----------------------------------------------------------------------------- */

struct decode_error {
	int err; /* negative errno; 0: none */
	char *why;
	size_t size;
};
int decode_function(struct interp_program *p, struct xfunc *x, struct decode_error *e);
struct xfunc *program_func(
	struct interp_program *p, struct ptx_function *f); /* the existing or a new one; NULL: no memory */
const struct xfunc *kernel_func_at(const struct interp_kernel *k, uint64_t address); /* NULL: no function is there */

/* ---- compiled.c ------------------------------------------------------------------------------------- */

bool warp_enterable(const struct warp *w); /* the running split is at a code entry */
/* Runs compiled code. True: the interpreter must execute the instruction at w->pc next. */
bool warp_run_compiled(struct warp *w);

/* ---- run.c ------------------------------------------------------------------------------------------ */

/* How a warp, block or grid thread stopped. BLOCKED: all lanes wait. SPINNING: the budget went to spinning. WAITS: of a
 * warp that has w->waits set. */
enum run_state { RUN_DONE, RUN_BLOCKED, RUN_PROGRESS, RUN_SPINNING, RUN_FAULT, RUN_WAITS };
enum run_state block_run(struct block *b);
bool grid_over(
	struct grid *g); /* a fault was raised, or the launch was stopped or is past its deadline: g->fault is set */
void grid_thread_run(void *data, uint64_t number);                      /* data: the grid */
struct frame *frame_get(struct grid_thread *k, const struct xfunc *fn); /* NULL: out of memory */
void frame_put(struct grid_thread *k, struct frame *f);
