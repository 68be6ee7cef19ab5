/*
 * ptxlex.h - PTX text as words, for the reader of declarations. Not a PTX parser: that is src/ptx.
 *
 * Words borrow the text. The text may end anywhere; it need not be terminated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum word_kind {
	WORD_END,
	WORD_DIRECTIVE, /* .entry, with its dot */
	WORD_NAME,      /* foo, $L1, %r1 */
	WORD_NUMBER,    /* 12, 0x1fU, 9.0, 0f3f800000 */
	WORD_STRING,    /* with its quotes */
	WORD_MARK,      /* any other single character */
};

struct word {
	enum word_kind kind;
	const char *text;
	size_t size;
	bool glued; /* no space before it: the .shared of ld.shared */
};

struct ptxlex {
	const char *at, *end;
	unsigned line;
	bool bad; /* a comment or a string has no end */
};

void ptxlex_init(struct ptxlex *lex, const char *text, size_t size);
struct word ptxlex_next(struct ptxlex *lex);

bool ptxword_is(const struct word *w, const char *text);
bool ptxword_number(const struct word *w, uint64_t *value); /* an integer that fits */
