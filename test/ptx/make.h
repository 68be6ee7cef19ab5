/*
 * make.h - the parts of make-tests, which writes the bulk of the test files.
 *
 * A form is a mnemonic, its types, and a C function that says what one lane
 * must give.  The functions are written from the PTX manual alone, on integers
 * or on the exact numbers of exact.h.
 */
#pragma once

#include "exact.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_LANES = 96, MAX_IN = 4 };

/* A lane's inputs as bits; answers the result's bits. ANY: may be anything. */
struct form;
typedef uint64_t lane_fn(const struct form *f, const uint64_t *in);

struct form {
	const char *folder;
	const char *mnemonic; /* also the file's name */
	const char *note;
	const char *result;     /* type of the result; pred: a comparison, stored as 0 or 1 */
	const char *in[MAX_IN]; /* types of the operands; pred: from a buffer of 0 and 1 */
	lane_fn *fn;
	const char *tail;         /* further operands, as text: ", 0xca" */
	double ulp, absolute;     /* tolerance */
	const struct format *fmt; /* for fn's use, as what follows */
	int op, mode, bits, cmp;
	bool sign, ftz, sat;
	bool any_nan;           /* the manual leaves a NaN's bits open */
	uint64_t limit[MAX_IN]; /* operands must not have other bits; 0: any */
	uint64_t avoid;         /* no operand may be this; 0: all may */
	const char *target;     /* sm_90 if not said */
};

FILE *open_test(const char *folder, const char *name); /* ends the program if it cannot */
void write_form(const struct form *f);
/* Values for operand `which` of a type in lane i: special ones first. */
uint64_t sample(const char *type, unsigned which, unsigned i);
const struct format *format_named(const char *type);
unsigned size_named(const char *type); /* bits */

void make_int(void);
void make_float(void);
void make_convert(void);
void make_half(void);
void make_memory(void);
void make_atomic(void);
