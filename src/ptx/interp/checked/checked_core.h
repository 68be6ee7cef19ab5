/*
 * checked_core.h - the checked mode inside the interpreter: instructions with a checking function (struct
 * checked_site), and the shadow of a block's shared memory (struct checked_block).
 *
 * For each byte of shared memory, the shadow knows the last writer and the readers since the last barrier.  Time is
 * counted in epochs of the block, which barriers (and, to avoid false reports, fences, mbarriers, and acquire and
 * release operations) end, and in epochs of each warp, which warp-wide instructions end.  Two accesses by different
 * threads are a race if no epoch ended between them, at least one is a write, and not both are strong.
 *
 * Ownership: a site belongs to its xfunc, a shadow to its block.  The thread that runs a block is the only one that
 * uses the block's shadow.
 */
#pragma once

#include "ptx/interp/checked.h"
#include "ptx/interp/core.h"

/* A checked instruction; x->data. */
struct checked_site {
	exec_fn run; /* the function that executes it */
	const struct ptx_inst *in;
	struct ptx_function *fn;
	const struct ptx_var *var[2]; /* for each address: the variable that it was computed from; NULL: unknown */
	_Atomic(atomic_ullong *) counter[CHECK_KINDS]; /* NULL: nothing reported yet */
	struct checked_site *next;                     /* of the same function */
};

/* Readers of a byte in one epoch. Smaller numbers: one thread. */
enum { READERS_OF_WARP = 0x8000, READERS_MANY = 0xffff };

struct shadow_byte {
	uint32_t write_epoch, write_warp_epoch; /* 0: never */
	uint32_t read_epoch, read_warp_epoch;
	uint16_t writer, reader; /* threads of the block; reader may be READERS_* */
	uint8_t value;           /* the byte that st wrote */
	bool value_known;        /* st was the last writer */
	bool write_strong, read_strong;
	const struct checked_site *write_site, *read_site;
};

struct checked_block {
	uint32_t epoch;                 /* starts at 1, never goes back */
	uint32_t first_epoch;           /* of the block that runs */
	uint32_t warp_epoch[MAX_WARPS]; /* never goes back */
	struct check_memory last;       /* the allocation found last */
	struct shadow_byte shadow[];
};

/* One access of one lane. */
struct checked_access {
	struct checked_site *site;
	const struct ptx_var *var;
	enum check_access kind;
	unsigned space;
	bool strong;
	uint64_t size;        /* bytes of a lane */
	const uint8_t *value; /* st: the bytes to be written; NULL: unknown */
};

/* checked_decode.c */
struct decoder;
/* Puts the checking function in front of x, which is decoded completely. */
void checked_wrap(struct decoder *d, struct xinst *x);
void checked_sites_destroy(struct checked_site *s);

/* checked_origin.c: fills origin[] for every register of the function. False: no memory. */
bool checked_origins(const struct ptx_function *f, const struct ptx_var **origin);

/* checked_access.c: the exec functions. */
void x_checked(struct warp *w, const struct xinst *x);       /* accesses memory */
void x_checked_order(struct warp *w, const struct xinst *x); /* a fence */
void x_checked_sync(struct warp *w, const struct xinst *x);  /* warp-wide; may access memory */

/* checked_shared.c: notes an access to n bytes of the block's shared memory, and reports races. */
bool shared_initialized(const struct checked_block *c, uint64_t offset, uint64_t n, bool all);
void shared_read(struct warp *w, const struct checked_access *a, unsigned lane, uint64_t offset);
void shared_write(struct warp *w, const struct checked_access *a, unsigned lane, uint64_t offset);

/* checked_report.c */
struct check_report checked_report_init(
	const struct warp *w, const struct checked_access *a, enum check_kind kind, unsigned lane, uint64_t address);
struct check_place checked_place(const struct checked_site *s);
void checked_thread(const struct block *b, uint32_t thread, uint32_t id[3]);
void checked_report(struct warp *w, struct checked_site *s, const struct check_report *r);
/* Reports without filling r if this site and kind were reported before: true, and the error is counted. */
bool checked_repeated(struct checked_site *s, enum check_kind kind);
