/*
 * random.h - random PTX kernels, run by several engines whose results must be the same bits.
 *
 *	forms.c		the catalogue: every arithmetic form of ops.def that the front end and the interpreter accept
 *	kernel.c	a kernel as a list of lines in groups, and its text
 *	generate*.c	a kernel from a seed
 *	engine.c	runs a kernel on the CPU device in a process of its own, with an environment of its own
 *	reduce.c	removes groups as long as two engines still disagree
 *	main.c		the command
 *
 * Every generated kernel has one right result: no data races, no endless loops, no values that PTX leaves open. Results
 * of approximations are left out for this reason, and NaNs of f64 become the canonical NaN before their bits matter.
 * Other lanes' values are read only where all members of the instruction are known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- random numbers ------------------------------------------------------------------------------------- */

struct rng {
	uint64_t state;
};

uint64_t rng_next(struct rng *r);
unsigned rng_below(struct rng *r, unsigned n);
static inline bool rng_percent(struct rng *r, unsigned p)
{
	return rng_below(r, 100) < p;
}

/* ---- the catalogue of instruction forms ----------------------------------------------------------------- */

enum { MAX_OPERANDS = 6 };

/*
 * An operand's class is the register it takes: h f d l p (16 bits, f32, f64, 64 bits, predicate), r (32 bits), i (an
 * immediate of 8 bits).
 */
struct form {
	char mnemonic[56];
	char letters[MAX_OPERANDS + 1]; /* of ops.def; '|' before a second predicate result */
	char classes[MAX_OPERANDS + 1];
	uint8_t kinds[MAX_OPERANDS]; /* enum ptx_kind of the operand's type */
	uint8_t bits[MAX_OPERANDS];
	unsigned base; /* number of its mnemonic's first word */
};

struct forms {
	struct form *list;
	unsigned n;
	unsigned first[128], nbases; /* the forms of a base are adjacent; first[nbases] is n */
};

bool forms_make(struct forms *f, struct rng *r);
void forms_free(struct forms *f);
bool form_is_result(char letter);

/* ---- kernels -------------------------------------------------------------------------------------------- */

/* Each thread has OWN bytes of its own, CELLS words of 8 bytes in rows of all threads, and RESULTS rows of 16 bytes at the end. */
enum { IN_BYTES = 4096 * 16 + 1024, OWN = 256, CELLS = 4, ACCUMULATORS = 64, RESULTS = 20, MAX_THREADS = 4096 };

/* The unit of removal: a statement, or the frame of a compound one. A group leaves with each group that it needs. */
struct group {
	unsigned needs[6], nneeds;
	bool removed, pinned;
};

struct line {
	unsigned group;
	char *text;
};

struct kernel {
	uint64_t seed;
	unsigned grid[3], block[3];
	unsigned threads; /* of the grid, as the text assumes it */
	struct line *lines;
	unsigned nlines;
	struct group *groups;
	unsigned ngroups;
	unsigned nmasks, ncounters, nlabels;
	unsigned mask_group[512], counter_group[512]; /* the groups that define %m and %c registers */
};

unsigned kernel_group(struct kernel *k); /* a new group */
void kernel_line(struct kernel *k, unsigned group, const char *text);
char *kernel_text(const struct kernel *k); /* malloc; without the removed groups, and those that need them */
unsigned kernel_lines_left(const struct kernel *k);
void kernel_free(struct kernel *k);
struct kernel *kernel_generate(uint64_t seed, const struct forms *f);
/* A kernel from a printed text: geometry from its first line. NULL: not such a text. */
struct kernel *kernel_from_text(const char *text);

/* ---- engines -------------------------------------------------------------------------------------------- */

/* Where the parts of a kernel's memory lie. */
struct memory {
	size_t own, cells, accumulators, results, size;
};
struct memory memory_of(const struct kernel *k);

enum { MEMORY_MAX = 12 << 20, TEXT_MAX = 1 << 20 };
enum { ENGINE_CRASHED = -1, ENGINE_HUNG = -2, ENGINE_NOT_LOADED = -3, ENGINE_ABSENT = -4 };

struct engine;
/* environment: NAME=VALUE[,NAME=VALUE ...] */
struct engine *engine_create(const char *environment);
void engine_destroy(struct engine *e);
const char *engine_name(const struct engine *e);
/* Runs the text: 0, a CUresult or ENGINE_*. */
int engine_run(struct engine *e, const struct kernel *k, const char *text);
const uint8_t *engine_memory(const struct engine *e); /* after engine_run */
const char *engine_message(const struct engine *e);

/* ---- comparison ----------------------------------------------------------------------------------------- */

/* True if both engines give the same; otherwise why says what differs. */
bool engines_agree(struct engine *a, struct engine *b, const struct kernel *k, char *why, size_t size);
void kernel_reduce(struct kernel *k, struct engine *a, struct engine *b);
