/*
 * checked.h - the checked mode: every access of a kernel is examined before it is made, and errors are reported.
 *
 * A program is checked if interp_set_checked was called before its first kernel was decoded; its launches need
 * interp_host.checks.  The decoder then puts a checking function in front of each instruction that accesses memory or
 * orders accesses.  Programs that are not checked run exactly the code that they would run without this mode.
 *
 * An invalid access is reported and not made, and a load returns 0; the kernel goes on, so that one run shows several
 * errors.  After the last block the launch ends with the fault that it would have had without checks.  Uninitialized
 * reads and races are reported only.
 *
 * Trust: kernels are hostile, as in interp.h.  The functions of struct interp_checks are called from several threads.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct interp_program;

/* The optional checks. Bounds and alignment are always checked. */
enum { CHECK_INIT = 1, CHECK_RACES = 2 };

enum check_kind { CHECK_OUT_OF_BOUNDS, CHECK_MISALIGNED, CHECK_UNINITIALIZED, CHECK_RACE, CHECK_KINDS };

enum check_access { CHECK_READ, CHECK_WRITE, CHECK_ATOMIC };

/* The place of an instruction. */
struct check_place {
	const char *function;
	const char *file; /* NULL: the PTX has no .loc */
	uint32_t line, ptx_line;
};

/* One error; strings live as long as the program. */
struct check_report {
	enum check_kind kind;
	enum check_access access;
	unsigned space;         /* PTX_GLOBAL, PTX_SHARED or PTX_LOCAL */
	uint64_t address, size; /* of the access; an offset in shared and local memory */
	/* The variable that the address was computed from; NULL: unknown. `offset` is the place in it, maybe negative. */
	const char *variable;
	int64_t offset;
	uint64_t limit; /* bytes of the variable; without one, of the block's or thread's shared or local memory */
	const char *kernel;
	struct check_place at;
	uint32_t block[3], thread[3];
	/* CHECK_RACE: the earlier access. */
	enum check_access other_access;
	struct check_place other_at;
	uint32_t other_thread[3];
	bool other_known; /* other_thread is known: several threads may have read */
};

/* An allocation. written: a byte for each byte of the allocation, nonzero once it is initialized; NULL: it all is. */
struct check_memory {
	uint64_t base, size;
	uint8_t *written;
};

struct interp_checks {
	void *arg;
	unsigned what; /* CHECK_INIT, CHECK_RACES */
	/* The allocation that contains addr; false if a kernel may not access it. */
	bool (*find)(void *arg, uint64_t addr, struct check_memory *m);
	/* The first report of an instruction and kind. Returns the counter of further ones, which is never freed. */
	atomic_ullong *(*report)(void *arg, const struct check_report *r);
};

/* Call before the first interp_kernel. */
void interp_set_checked(struct interp_program *p);
