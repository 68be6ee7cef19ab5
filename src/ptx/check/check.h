/*
 * check.h - fitting operands to a row of the table of instructions; for the files check*.c alone.
 *
 *	check.c		letter by letter of a row
 *	check_value.c	one value against a type
 *	check_call.c	what a call passes against what the function takes
 *	check_video.c	what only the video instructions have
 *
 * The module is hostile: what does not fit is refused at its place, with a sentence.
 */
#pragma once

#include "ptx/parse/parse.h"

struct check {
	struct parser *p;
	const struct op_row *row;
	struct ptx_inst *in;
	unsigned index; /* of the operand, from 1, for messages */
};

/* Says why at the operand's place; false. */
__attribute__((format(printf, 3, 4))) bool check_refuse(
	struct check *c, const struct ptx_operand *o, const char *fmt, ...);

/* A register, a number or a name as a value of this type; `wider`: a wider register will do. */
bool check_reg(struct check *c, struct ptx_operand *o, unsigned type, bool wider);
bool check_literal(struct check *c, struct ptx_operand *o, unsigned type);
bool check_source(struct check *c, struct ptx_operand *o, unsigned type, bool wider);
bool check_result(struct check *c, struct ptx_operand *o, unsigned type, bool wider);
bool check_value(struct check *c, struct ptx_operand *o, unsigned type, bool wider, bool is_result);
bool check_address_sized(struct check *c, struct ptx_operand *o);

bool check_call(struct check *c, struct operands *ops, const struct token *at);
bool check_video(struct parser *p, const struct op_row *row, const struct ptx_inst *in, const struct operands *ops,
	const struct token *at);
