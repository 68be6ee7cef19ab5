/*
 * engine.h - what the software driver needs from something that can run kernels.
 *
 * soft implements CUDA (contexts, streams, memory, modules, errors) once, on host memory, over this narrow
 * table.  Device addresses are host addresses.  An engine loads code, fills in the first values of its
 * variables, and runs one grid at a time; soft decides when, and on which thread.
 *
 *	application image ─ image/ ─► one PTX text or cubin, or several to link ─ load ─► struct code
 *	struct code + addresses of its variables ─ init_globals ─► ready to launch, once per context
 *	struct code + kernel + struct launch ─ launch ─► done (called on a worker thread)
 *
 * Trust: images are hostile, and load must survive them.  soft has checked geometry and parameter sizes
 * before launch is called.  All functions are called from several threads at once.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "image/image.h"

/* What the engine's device is like; soft fills in defaults first, the engine changes what differs. */
struct engine_device {
	char name[256];
	int major, minor;    /* compute capability */
	int multiprocessors; /* default: usable processors */
	int clock_khz;
	int memory_khz, memory_bits; /* clock and width of the memory bus; 0: not known */
	size_t cache;                /* bytes of the last level */
	bool integrated;             /* its memory is the host's */
	size_t shared_per_block;     /* without opting in */
	size_t shared_optin;         /* the most a block may ask for, opted in */
	size_t shared_reserved;      /* per block, taken by the system */
	int max_threads_per_block;
	int max_threads_per_multiprocessor;
	int max_blocks_per_multiprocessor;
	int registers_per_block; /* and per multiprocessor */
	int max_cluster_size;    /* 1: no clusters */
};

/* Messages of the loader, for the application's JIT log buffers.  Appending cuts at the end of the buffer. */
struct engine_log {
	char *text; /* NUL-terminated; NULL: nobody asked */
	size_t size, used;
};

void engine_log(struct engine_log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Loaded code.  An engine puts this first in a struct of its own; names and arrays live as long. */
struct code {
	const struct image_kernel *kernels;
	size_t nkernels; /* sorted by name */
	const struct image_global *globals;
	size_t nglobals; /* sorted by name */
	int ptx_version; /* 80 = PTX made for compute_80; what cuFuncGetAttribute answers */
	int binary_version;
	size_t const_bytes;
};

/* What load reads.  PTX is NUL-terminated at data[size]. */
struct engine_piece {
	enum image_kind kind; /* IMAGE_PTX or IMAGE_CUBIN */
	const void *data;
	size_t size;
};

enum {
	LAUNCH_COOPERATIVE = 1, /* all blocks run at once: grid-wide barriers must make progress */
};

/* One grid.  Everything in it stays valid and unchanged until launch returns. */
struct launch {
	unsigned grid[3], block[3], cluster[3];
	unsigned flags;     /* LAUNCH_* */
	size_t shared;      /* dynamic shared memory, bytes a block */
	const void *params; /* laid out as image_kernel.params says */
	size_t params_size;
	const uint64_t *globals;                      /* address of each of code->globals, in this context */
	size_t stack_limit, heap_limit, printf_limit; /* CU_LIMIT_* of the context; stack is bytes a thread */
	uint64_t grid_id;                             /* unique in the process: %gridid */
	struct prints *prints;                        /* for soft_print */
	_Atomic(void *) *engine_data; /* the engine's, of this context: NULL at first, and leave() ends it */
	int device;
	const atomic_bool *stop; /* set: nobody wants the result any more; return soon, with any error */
	uint64_t deadline;       /* CLOCK_MONOTONIC, ns: then CUDA_ERROR_LAUNCH_TIMEOUT; 0: never */
};

struct engine {
	const char *name;
	unsigned accepts;       /* IMAGE_WANT_*: what load can read */
	const char *capability; /* the environment's name for the compute capability that devices claim; may be NULL */

	/* A remark for those who trace.  May be NULL. */
	void (*note)(const char *text);

	/* Describe device `ordinal`; dev holds the defaults.  May be NULL. */
	void (*describe)(int ordinal, struct engine_device *dev);

	/* One piece, or several that make one program together.  They are only borrowed for the call. */
	CUresult (*load)(const struct engine_piece *pieces, unsigned n, const struct engine_device *dev,
		struct engine_log *log, struct code **code);
	void (*unload)(struct code *code);

	/*
	 * Write the first values of the managed variables, or of all others: the former are there once for
	 * all contexts, the latter in each.  Memory at addresses[i] is zeroed and code->globals[i].size long;
	 * 0: it is not there, or not yet.
	 */
	CUresult (*init_globals)(struct code *code, const uint64_t *addresses, bool managed);

	/* Run a grid to its end.  What goes wrong sticks to the context (700, 710, 719 ...). */
	CUresult (*launch)(struct code *code, const struct image_kernel *kernel, const struct launch *l);

	/* A context has ended that had something of the engine's, and none of its kernels runs.  May be NULL. */
	void (*destroy_context_data)(void *engine_data);
};

/*
 * Helpers soft gives to engines.
 *
 * soft_parallel: call fn(arg, i, who) for every i < n, on this thread and on idle workers, in ascending order
 * of starting; returns when all have returned.  who tells the threads at work apart: who <
 * soft_parallelism(). Never use it from within fn.
 */
unsigned soft_parallelism(void);
void soft_parallel(uint64_t n, void (*fn)(void *arg, uint64_t i, unsigned who), void *arg);

/* The allocation that holds addr, if a kernel may touch it.  For checking accesses; cache it. */
bool soft_accessible(uint64_t addr, uint64_t *base, uint64_t *size);

/* What a kernel prints.  The application sees it where CUDA shows it: see prints.h. */
void soft_print(const struct launch *l, const char *text, size_t len);

/* Why something cannot be run: to those who trace, and once to the user where `gangway run` has asked for it. */
void soft_explain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What a kernel's cudaGraphSetConditional does, for any handle; false: there is no such condition. */
bool soft_set_condition(uint64_t handle, uint32_t value);
