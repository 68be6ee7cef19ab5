/*
 * engine.h - the interface between the software driver and an engine, which runs kernels.
 *
 * The software driver implements CUDA (contexts, streams, memory, modules, errors) once, on host memory, over this
 * narrow table.  Device addresses are host addresses.  An engine loads code, initialises its variables, and runs
 * one grid per call; the driver decides when, and on which thread.
 *
 *	application image ─ image/ ─► one PTX text or cubin, or several to link ─ load ─► struct code
 *	struct code + addresses of its variables ─ init_globals ─► ready to launch, once per context
 *	struct code + kernel + struct launch ─ launch ─► done (called on a worker thread)
 *
 * Trust: images may be malicious, and load must survive them.  The driver checks geometry and parameter sizes
 * before it calls launch.  Several threads call these functions at once.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "image/image.h"

/* Properties of a device.  The driver fills in defaults, the engine overwrites those that differ. */
struct engine_device {
	char name[256];
	int major, minor;    /* compute capability */
	int multiprocessors; /* default: the processors that this process may use */
	int clock_khz;
	int memory_khz, memory_bits; /* clock and width of the memory bus; 0: unknown */
	size_t cache;                /* bytes of the last-level cache */
	bool integrated;             /* device memory is host memory */
	size_t shared_per_block;     /* bytes, without opt-in */
	size_t shared_optin;         /* bytes, the maximum with opt-in */
	size_t shared_reserved;      /* bytes per block that the system takes */
	int max_threads_per_block;
	int max_threads_per_multiprocessor;
	int max_blocks_per_multiprocessor;
	int registers_per_block; /* also the number per multiprocessor */
	int max_cluster_size;    /* 1: no clusters */
};

/* Messages of the loader, for the application's JIT log buffers.  Text beyond the buffer is cut off. */
struct engine_log {
	char *text; /* NUL-terminated; NULL: the application wants no log */
	size_t size, used;
};

void engine_log(struct engine_log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Loaded code: the first member of the engine's own struct, which also owns the names and arrays. */
struct code {
	const struct image_kernel *kernels;
	size_t nkernels; /* sorted by name */
	const struct image_global *globals;
	size_t nglobals; /* sorted by name */
	int ptx_version; /* 80: PTX for compute_80; the value that cuFuncGetAttribute returns */
	int binary_version;
	size_t const_bytes;
};

/* Input of load.  PTX is NUL-terminated at data[size]. */
struct engine_piece {
	enum image_kind kind; /* IMAGE_PTX or IMAGE_CUBIN */
	const void *data;
	size_t size;
	bool whole; /* refuse PTX with any unknown instruction, even where the engine otherwise reads bodies when needed */
};

enum {
	LAUNCH_COOPERATIVE = 1, /* all blocks must make progress together: the grid has grid-wide barriers */
};

/* One grid.  All of it, and all it points to, stays valid and unchanged until launch returns. */
struct launch {
	unsigned grid[3], block[3], cluster[3];
	unsigned flags;     /* LAUNCH_* */
	size_t shared;      /* dynamic shared memory, bytes per block */
	const void *params; /* laid out as image_kernel.params describes */
	size_t params_size;
	const uint64_t *globals;                      /* address of each of code->globals, in this context */
	size_t stack_limit, heap_limit, printf_limit; /* the context's CU_LIMIT_*; stack in bytes per thread */
	uint64_t grid_id;                             /* unique in the process: %gridid */
	struct printf_buffer *printf_buffer;          /* for soft_print */
	_Atomic(void *) *engine_data; /* the engine's data of this context, initially NULL: see destroy_context_data */
	int device;
	const atomic_bool *stop; /* set: the context is ending; return soon, with any error */
	uint64_t deadline;       /* CLOCK_MONOTONIC, ns; past it, fail with CUDA_ERROR_LAUNCH_TIMEOUT; 0: none */
};

struct engine {
	const char *name;
	unsigned accepts; /* IMAGE_WANT_*: the kinds of image that load reads */

	/* Add a line to the trace.  May be NULL. */
	void (*note)(const char *text);

	/* Describe device `ordinal`; dev holds the defaults on entry.  May be NULL. */
	void (*describe)(int ordinal, struct engine_device *dev);

	/* Load one image, or link several into one program.  The pieces are valid only during the call. */
	CUresult (*load)(const struct engine_piece *pieces, unsigned n, const struct engine_device *dev,
		struct engine_log *log, struct code **code);
	void (*unload)(struct code *code); /* NULL is allowed */

	/*
	 * Sets the shared and local memory of an `unmeasured` kernel and clears that mark; the sizes stay 0 where they
	 * cannot be found. May be NULL: load measures all kernels.
	 */
	void (*measure)(struct code *code, const struct image_kernel *kernel);

	/*
	 * Write the initial values of the managed variables (one instance for all contexts) or of all others (one
	 * instance per context).  Memory at addresses[i] is zeroed and code->globals[i].size bytes long.  Address 0:
	 * the variable does not exist, or not yet.
	 */
	CUresult (*init_globals)(struct code *code, const uint64_t *addresses, bool managed);

	/* Run a grid to completion.  An error becomes the context's sticky error (700, 710, 719 ...). */
	CUresult (*launch)(struct code *code, const struct image_kernel *kernel, const struct launch *l);

	/* Free a context's engine_data after the context has ended and its kernels have finished.  May be NULL. */
	void (*destroy_context_data)(void *engine_data);
};

/*
 * Functions of the driver that engines call.
 *
 * soft_parallel: call fn(arg, i, who) for every i < n, on this thread and on idle workers, starting in ascending
 * order of i; return when all calls have returned.  `who` numbers the participating threads, from 0 to
 * soft_parallelism() - 1.  fn must not call soft_parallel.
 */
unsigned soft_parallelism(void);
void soft_parallel(uint64_t n, void (*fn)(void *arg, uint64_t i, unsigned who), void *arg);

/* Find the allocation that contains addr, if kernels may access it.  Callers cache the result. */
bool soft_accessible(uint64_t addr, uint64_t *base, uint64_t *size);

/* Find the accessible allocation closest to addr, for messages; false: there is none within 1 GiB. */
bool soft_nearest(uint64_t addr, uint64_t *base, uint64_t *size);

/* Print from a kernel.  The output appears where CUDA shows it: see code/kernel_printf.h. */
void soft_print(const struct launch *l, const char *text, size_t len);

/* Report why code cannot run, or failed: in the trace, and, if `gangway run` asked for it, once on the terminal. */
void soft_explain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Set a graph condition (cudaGraphSetConditional in a kernel).  False: no condition has this handle. */
bool soft_set_condition(uint64_t handle, uint32_t value);
