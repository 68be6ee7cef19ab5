/*
 * ptxdecl.h - the declarations of PTX: .align 8 .b8 x[32], and the cursor that they are read with.
 *
 * Errors are sticky: after the first, the cursor stands at the end of the text and nothing matches any more.
 */
#pragma once

#include "image/image.h"
#include "image/ptxlex.h"

/* No device takes a tenth of this; it keeps sums of sizes from wrapping. */
#define SIZE_LIMIT (UINT64_C(1) << 40)

struct ptxcursor {
	struct ptxlex lex;
	struct word w; /* the current one */
	struct image_error *err;
	int error;
};

void ptxcur_fail(struct ptxcursor *c, int error, const char *what);
void ptxcur_next(struct ptxcursor *c);
bool ptxcur_at(const struct ptxcursor *c, const char *text);
bool ptxcur_accept(struct ptxcursor *c, const char *text);
void ptxcur_expect(struct ptxcursor *c, const char *text, const char *what);
uint64_t ptxcur_number(struct ptxcursor *c, uint64_t limit);

/* A declaration: what precedes the name holds for all names up to the semicolon. */
struct ptxdecl {
	uint64_t element, align; /* align 0: as the element */
	bool managed, opaque;    /* opaque: a texture, sampler or surface */
	struct word name;
	uint64_t size; /* 0: an array of unstated size */
};

/* What stands before the name: [.attribute(...)] [.align n] [.v4] .type [.ptr .space .align n]. */
void ptxdecl_type(struct ptxcursor *c, struct ptxdecl *d);

/* One name with its dimensions and its initialiser, which is skipped: x[4][2] = {...}. */
void ptxdecl_name(struct ptxcursor *c, struct ptxdecl *d);

uint64_t ptxdecl_align(const struct ptxdecl *d);
