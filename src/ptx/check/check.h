/*
 * check.h - checks the parsed operands of an instruction against its row of ops.def.  Private to check*.c; the parser
 * calls check_operands (parse.h).
 *
 *	check.c		the operands, one letter of the row after the other
 *	check_value.c	one value against a type
 *	check_call.c	the arguments and results of a call against the callee's signature
 *	check_video.c	selectors and modifiers of the video instructions
 *
 * Each check returns false after recording an error at the operand's place in the text.
 */
#pragma once

#include "ptx/parse/parse.h"

struct check {
	struct parser *p;
	const struct op_row *row;
	struct ptx_inst *in;
	unsigned index; /* number of the operand, from 1, for messages */
};

/* Records an error at the operand's place; returns false. */
__attribute__((format(printf, 3, 4))) bool check_refuse(
	struct check *c, const struct ptx_operand *o, const char *fmt, ...);

/* Check an operand as a value of this type, and set its type; `wider` allows a wider register. */
bool check_reg(struct check *c, struct ptx_operand *o, unsigned type, bool wider);
bool check_literal(struct check *c, struct ptx_operand *o, unsigned type);
bool check_source(struct check *c, struct ptx_operand *o, unsigned type, bool wider);
bool check_result(struct check *c, struct ptx_operand *o, unsigned type, bool wider);
bool check_value(struct check *c, struct ptx_operand *o, unsigned type, bool wider, bool is_result);
bool check_address_sized(struct check *c, struct ptx_operand *o);

bool check_call(struct check *c, struct operands *ops, const struct token *at);
bool check_video(struct parser *p, const struct op_row *row, const struct ptx_inst *in, const struct operands *ops,
	const struct token *at);
