/*
 * make.h - shared by the parts of make-tests, which writes most of the spec files.
 *
 * A form is a mnemonic, its types, and a C function that computes the result of one lane.  The
 * functions follow the PTX manual alone and use integers or the exact numbers of exact.h.
 */
#pragma once

#include "exact.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_LANES = 96, MAX_IN = 4 };

/* Computes the bits of a lane's result from the bits of its inputs. */
struct form;
typedef uint64_t lane_fn(const struct form *f, const uint64_t *in);

struct form {
	const char *folder;
	const char *mnemonic; /* also the name of the file */
	const char *note;
	const char *result;     /* type of the result; pred: a comparison, stored as 0 or 1 */
	const char *in[MAX_IN]; /* types of the operands; pred: from a buffer of 0 and 1 */
	lane_fn *fn;
	const char *tail;         /* further operands, as text: ", 0xca" */
	double ulp, absolute;     /* tolerance */
	const struct format *fmt; /* this and the following fields are for fn */
	int op, mode, bits, cmp;
	bool sign, ftz, sat;
	bool any_nan;           /* the manual does not specify the bits of a NaN */
	uint64_t limit[MAX_IN]; /* mask of the bits that operands may have; 0: all */
	uint64_t avoid;         /* a value that no operand may have; 0: none */
	const char *target;     /* NULL: sm_90 */
};

FILE *open_test(const char *folder, const char *name); /* exits on failure */
void write_form(const struct form *f);
/* The value of operand `which` of a type in lane i; the first lanes get special values. */
uint64_t sample(const char *type, unsigned which, unsigned i);
const struct format *format_named(const char *type);
unsigned size_named(const char *type); /* bits */

void make_int(void);
void make_float(void);
void make_convert(void);
void make_half(void);
void make_memory(void);
void make_atomic(void);
