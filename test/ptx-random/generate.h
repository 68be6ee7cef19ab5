/*
 * generate.h - shared by the parts of the generator.
 *
 * Registers: %r %h %l %f %d %p hold anything; %a begin affine in the thread's number, %u uniform; %k are uniform in the
 * block and never written again; %m are member masks, %c loop counters; %t... are temporaries of one group.
 */
#pragma once

#include "random.h"

/* Where a statement stands. */
struct place {
	struct place *outer;
	char mask[16];      /* the register that holds the lanes that are here; "" if they are not known */
	bool block_uniform; /* all threads of the block that have not exited are here */
	unsigned depth, loops;
	unsigned episode;    /* the group of the shared-memory episode around; 0: shared memory is read-only */
	unsigned counter;    /* of the loop whose body this is, plus 1 */
	char leave[16];      /* a label behind the enclosing loop that any lane may branch to; "": none */
	const char *bins_op; /* in an episode: the operation on all bins */
};

struct gen {
	struct rng rng;
	struct kernel *k;
	const struct forms *forms;
	unsigned group;  /* the current one */
	unsigned budget; /* statements left */
	bool exits;      /* lanes may have exited */
};

/* Adds a line to the current group; %% as in printf. */
__attribute__((format(printf, 2, 3))) void emit(struct gen *g, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void emit_in(struct gen *g, unsigned group, const char *fmt, ...);
unsigned group_begin(struct gen *g, const struct place *at);
unsigned pick(struct gen *g, unsigned n);
bool chance(struct gen *g, unsigned percent);
unsigned new_label(struct gen *g);
unsigned new_mask(struct gen *g);    /* defined by the current group */
unsigned new_counter(struct gen *g); /* defined by the current group */

/* The name of a register to read: one of 8 buffers that take turns. */
const char *source(struct gen *g, const struct place *at, char class);
const char *target(struct gen *g, char class); /* to write */
const char *guard(struct gen *g);              /* "@%p3 " or "" */

/* ---- generate_alu.c ---- */
void make_arithmetic(struct gen *g, const struct place *at);
void make_uniform(struct gen *g, const struct place *at); /* arithmetic on %u or %a alone */
void make_carry(struct gen *g, const struct place *at);
void make_bits(struct gen *g, const struct place *at); /* moves between the classes */

/* ---- generate_memory.c ---- */
void make_load(struct gen *g, const struct place *at);
void make_own(struct gen *g, const struct place *at); /* the thread's own bytes: global, local, cells */
void make_shared(struct gen *g, const struct place *at);
void make_reduction(struct gen *g, const struct place *at);

/* ---- generate_flow.c ---- */
void make_statements(struct gen *g, struct place *at, unsigned n);
void make_warp(struct gen *g, const struct place *at); /* generate_warp.c */
