/*
 * compiled.h - compiled code and the interpreter: what each expects of the other.
 *
 * Compiled code (src/ptx/jit) runs a warp whose lanes are together: the kernel's own frame, one split, no join.  It starts
 * at a code entry, and returns with the warp in a state that the interpreter can continue: live registers in their
 * slots, w->pc, w->mask, and one split for each group of lanes that waits elsewhere.  So compiled and interpreted code take
 * turns in one warp as needed.
 *
 * Compiled code may assume that uniform registers are uniform.  Lanes that the interpreter has joined at different
 * iterations of a loop may disagree on one; once lanes of a warp have been apart in the interpreter without a join
 * (w->mixed), the warp is interpreted to its end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct warp;
struct xinst;

/* Why compiled code returned. */
enum compiled_status {
	COMPILED_EXITED,   /* all lanes have exited */
	COMPILED_HANDOVER, /* w->pc is for the interpreter */
	COMPILED_BARRIER,  /* all live lanes have come to the barrier 0, for all threads of the block, at w->pc */
	COMPILED_BUDGET,   /* w->pc is for the interpreter, and the warp's budget is spent */
	COMPILED_FAULT     /* a fault was raised, or the grid is over */
};

/* An allocation that an access has used last.  Offsets from base are compared as offset >>> log2(alignment) < limit, a
 * rotation, so that misaligned ones are far out of range. */
struct access_site {
	uint64_t base, limit;
};

/* Functions that compiled code calls. */
struct compiled_helpers {
	void (*exit)(struct warp *w, uint32_t lanes);
	/* `lanes` continue at a decoded instruction of the kernel, as a split of their own; 0 is fine. */
	void (*push)(struct warp *w, uint32_t at, uint32_t lanes);
	bool (*over)(struct warp *w); /* true if the grid is over */
	/* Executes an access, and notes the allocation in its site if that is possible. span: bytes from the first one that
	 * the site checks to the last; align: log2 of the alignment. */
	void (*access)(struct warp *w, const struct xinst *x, uint32_t site, uint32_t align, uint64_t span);
};
extern const struct compiled_helpers compiled_helpers;
