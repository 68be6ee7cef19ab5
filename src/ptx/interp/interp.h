/*
 * interp.h - the PTX interpreter: runs kernels on the host's processors, one warp (32 lanes) at a time.
 *
 *	ptx_module ─ interp_create ─► program ─ interp_kernel ─► kernel, pre-decoded ─ interp_launch ─► done
 *
 * Device addresses are host addresses.  The interpreter knows nothing of CUDA contexts: struct interp_host provides
 * threads, memory access rights, textures, and the output of printf.
 *
 * Ownership: a program owns its kernels.  The modules belong to the caller and must outlive the program.
 *
 * Trust: kernels are hostile.  The worst outcome is a fault code, never a crash of the process, and a kernel reaches no
 * memory that host->accessible does not grant.  The caller is trusted: it has checked geometry and parameter sizes.
 *
 * Locking: interp_create and interp_kernel parse lazily, so the caller serialises them with a lock of each module.
 * interp_launch needs no lock and may run several times at once.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/interp/checked.h"
#include "ptx/ptx.h"

struct interp_program;
struct interp_kernel;
struct texture; /* texture.h */

/* The result of a launch.  The numbers are CUDA's CUresult for it. */
enum interp_fault {
	INTERP_OK = 0,
	INTERP_OUT_OF_MEMORY = 2,
	INTERP_ILLEGAL_ADDRESS = 700,
	INTERP_TIMEOUT = 702,
	INTERP_ASSERT = 710,
	INTERP_ILLEGAL_INSTRUCTION = 715,
	INTERP_MISALIGNED_ADDRESS = 716,
	INTERP_INVALID_SPACE = 717, /* an address of the wrong state space */
	INTERP_INVALID_PC = 718,    /* an indirect call or jump to an invalid address */
	INTERP_TRAP = 719,
	INTERP_NOT_SUPPORTED = 801, /* a kernel launched by a kernel has an unsupported instruction */
	INTERP_STOPPED = 999
};

/* Services that the embedding driver provides.  All functions are called from several threads at once. */
struct interp_host {
	void *arg; /* first argument of each function */
	/* Calls fn(data, i) for every i < n, on this and other threads, starting in ascending order.
	 * NULL: the launch uses one thread. */
	void (*parallel)(void *arg, uint64_t n, void (*fn)(void *data, uint64_t i), void *data);
	unsigned threads; /* number of threads that parallel() uses at once; at least 1 */
	/* The allocation that contains addr; false if a kernel may not access it. */
	bool (*accessible)(void *arg, uint64_t addr, uint64_t *base, uint64_t *size);
	/* The allocation that is closest to an address in none, for messages; false if there is none. May be NULL. */
	bool (*nearest)(void *arg, uint64_t addr, uint64_t *base, uint64_t *size);
	/* The address of a .global or .const variable of module scope; v is always a definition. */
	uint64_t (*address)(void *arg, const struct ptx_var *v);
	/* The texture, surface or sampler of a handle: a .u64 object, or a texref address. NULL result: none. */
	const struct texture *(*texture)(void *arg, uint64_t handle);
	/* The output of one device printf, never truncated. NULL: discard. */
	void (*print)(void *arg, const char *text, size_t len);
	/* A failed assertion, as the line that CUDA writes to stderr. NULL: discard. */
	void (*assertion)(void *arg, const char *text, size_t len);
	/* In-kernel malloc and free; the memory must be accessible() and outlives the launch. NULL: malloc fails. */
	uint64_t (*alloc)(void *arg, uint64_t size);
	void (*release)(void *arg, uint64_t addr);
	/* Calls interp_kernel, under the caller's lock, for a kernel that a kernel launches. NULL: not possible. */
	int (*kernel)(void *arg, struct ptx_function *f, struct interp_kernel **k, char *why, size_t size);
	/* cudaGraphSetConditional: sets the value of a graph's conditional handle. NULL: ignored. */
	void (*condition)(void *arg, uint64_t handle, uint32_t value);
	const struct interp_checks *checks; /* for programs in checked mode; else NULL */
};

/* One grid.  Everything in it stays valid until interp_launch returns. */
struct interp_launch {
	const struct interp_host *host;
	unsigned grid[3], block[3];
	unsigned cluster[3]; /* blocks of a cluster, a divisor of grid; 0: no clusters */
	size_t shared;       /* dynamic shared memory, bytes per block */
	const void *params;
	size_t params_size;
	size_t stack_limit; /* bytes per thread, in addition to the known frames; 0: 1024 */
	uint64_t grid_id;
	bool cooperative;        /* all blocks must be able to run at the same time */
	const atomic_bool *stop; /* ends the launch with INTERP_STOPPED once true; may be NULL */
	uint64_t deadline;       /* CLOCK_MONOTONIC in ns; 0: none */
	char message[512];       /* result: the reason of a fault in words; "" without one */
};

/* m: a module, or the first of several that ptx_link joined. NULL: out of memory. */
struct interp_program *interp_create(struct ptx_module *m);
void interp_destroy(struct interp_program *p); /* NULL is fine; waits for a compilation of its kernels to end */
/*
 * To destroy a program without waiting.  True: a compilation of its kernels is in progress, and another thread calls
 * then(arg) when it has ended; until then the program and its modules must live.  False: the caller can destroy it now.
 */
bool interp_defer(struct interp_program *p, void (*then)(void *arg), void *arg);

/*
 * Decodes an entry and all functions it can call; repeated calls return the same kernel.  Returns 0, -EINVAL (invalid
 * PTX), -ENOTSUP (an unsupported form of an instruction), -ENOENT (an undefined function or variable) or -ENOMEM; `why`
 * then names line, opcode and form.
 */
int interp_kernel(struct interp_program *p, struct ptx_function *f, struct interp_kernel **k, char *why, size_t size);
size_t interp_kernel_local(const struct interp_kernel *k); /* local memory, bytes per thread: cuFuncGetAttribute */

/* True if the interpreter implements a function of this name (vprintf, malloc ...). */
bool interp_provides(const char *name);

/* The value of a function pointer, for initialisers of variables. */
uint64_t interp_function_address(const struct ptx_function *f);

/* Runs the grid to its end, on the calling thread and the threads of host->parallel. */
enum interp_fault interp_launch(const struct interp_kernel *k, struct interp_launch *l);
