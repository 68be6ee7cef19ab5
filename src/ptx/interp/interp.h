/*
 * interp.h - runs PTX kernels on this machine's processors, one warp (32 lanes) at a time.
 *
 *	ptx_module ─ interp_create ─► program ─ interp_kernel ─► kernel, pre-decoded ─ interp_launch ─► done
 *
 * Device addresses are host addresses.  The interpreter knows nothing of CUDA contexts: what it needs from
 * the world (threads, which memory a kernel may touch, textures, where printf goes) comes in struct
 * interp_host.
 *
 * Trust: kernels are hostile.  Whatever they do ends in a fault code, never in a crash of the process, and
 * they reach no memory that host->accessible does not grant.  The caller is trusted: geometry and
 * parameter sizes have been checked.
 *
 * Locking: interp_create and interp_kernel parse lazily, so the caller holds one lock a module around them.
 * interp_launch may run any number of times at once, without it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/ptx.h"

struct interp_program;
struct interp_kernel;
struct texture; /* texture.h */

/* How a launch ended.  The numbers are the CUresult that CUDA gives for it. */
enum interp_fault {
	INTERP_OK = 0,
	INTERP_OUT_OF_MEMORY = 2,
	INTERP_ILLEGAL_ADDRESS = 700,
	INTERP_TIMEOUT = 702,
	INTERP_ASSERT = 710,
	INTERP_ILLEGAL_INSTRUCTION = 715,
	INTERP_MISALIGNED_ADDRESS = 716,
	INTERP_INVALID_SPACE = 717, /* an address of the wrong space */
	INTERP_INVALID_PC = 718,    /* indirect call or jump to nowhere */
	INTERP_TRAP = 719,
	INTERP_NOT_SUPPORTED = 801, /* a kernel launched by a kernel: a form we do not run */
	INTERP_STOPPED = 999
};

/* What the interpreter asks of its surroundings.  All are called from several threads at once. */
struct interp_host {
	void *arg; /* first argument of each */
	/* Call fn(data, i) for every i < n, on this and other threads; they start in ascending order.
	 * NULL: one after the other. */
	void (*parallel)(void *arg, uint64_t n, void (*fn)(void *data, uint64_t i), void *data);
	unsigned threads; /* how many of these may run at once; at least 1 */
	/* The allocation that holds addr, if a kernel may touch it. */
	bool (*accessible)(void *arg, uint64_t addr, uint64_t *base, uint64_t *size);
	/* Where a .global or .const variable of module scope lies; never a mere declaration's. */
	uint64_t (*address)(void *arg, const struct ptx_var *v);
	/* Texture, surface or sampler behind a handle (a .u64 object, or the address of a texref). NULL:
	 * none. */
	const struct texture *(*texture)(void *arg, uint64_t handle);
	/* What device printf wrote; whole calls, never cut. NULL: dropped. */
	void (*print)(void *arg, const char *text, size_t len);
	/* A failed assert, as the line that CUDA writes to stderr. NULL: dropped. */
	void (*assertion)(void *arg, const char *text, size_t len);
	/* In-kernel malloc and free; memory must be accessible() and stay after the launch. NULL: fails. */
	uint64_t (*alloc)(void *arg, uint64_t size);
	void (*release)(void *arg, uint64_t addr);
	/* A kernel that a kernel launches: interp_kernel under the caller's lock, and its answer. NULL: kernels cannot
	 * launch any. */
	int (*kernel)(void *arg, struct ptx_function *f, struct interp_kernel **k, char *why, size_t size);
	/* cudaGraphSetConditional: a graph's handle gets a value. NULL: nothing happens. */
	void (*condition)(void *arg, uint64_t handle, uint32_t value);
};

/* One grid.  Everything in it stays valid until interp_launch returns. */
struct interp_launch {
	const struct interp_host *host;
	unsigned grid[3], block[3];
	unsigned cluster[3]; /* blocks that run together, a divisor of grid; 0: each is alone */
	size_t shared;       /* dynamic shared memory, bytes a block */
	const void *params;
	size_t params_size;
	size_t stack_limit; /* bytes a thread, beyond what the frames are known to need; 0: 1024 */
	uint64_t grid_id;
	bool cooperative;
	const atomic_bool *stop; /* NULL, or set by someone who no longer wants the result */
	uint64_t deadline;       /* CLOCK_MONOTONIC ns, or 0 */
	/* Out: what went wrong, in words; "" if nothing did. */
	char message[256];
};

/* A module, or the first of several that ptx_link joined; all of them must outlive it. NULL: no memory. */
struct interp_program *interp_create(struct ptx_module *m);
void interp_destroy(struct interp_program *p); /* NULL is fine */

/*
 * Pre-decodes an entry and everything it can call; the second time costs nothing.  0, or -EINVAL (bad PTX),
 * -ENOTSUP (a form we do not run), -ENOENT, -ENOMEM; then `why` names line, opcode and form.
 */
int interp_kernel(struct interp_program *p, struct ptx_function *f, struct interp_kernel **k, char *why, size_t size);
size_t interp_kernel_local(const struct interp_kernel *k); /* bytes a thread: cuFuncGetAttribute */

/* Is this one of the functions that every device has (vprintf, malloc)? */
bool interp_provides(const char *name);

/* The value of a pointer to a function, for initialisers of variables. */
uint64_t interp_function_address(const struct ptx_function *f);

/* Runs the grid to its end on this and the host's threads. */
enum interp_fault interp_launch(const struct interp_kernel *k, struct interp_launch *l);
