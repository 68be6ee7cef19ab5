/*
 * Checks the selectors, second operations and signs of the video instructions.
 *
 *	vadd	selects one element of a and one of b: .b0 to .b3, .h0, .h1; likewise for the result
 *	vadd2	selects two halves (.h10) of the four in a and b; the result has a mask: .h0, .h1, .h10
 *	vadd4	selects four bytes (.b3210) of the eight; the result has a mask: .b0 ... .b320 ...
 */
#include "ptx/check/check.h"

#include <string.h>

/* Number of elements of a word that the instruction processes: 1, 2 or 4, by the digit at the end of its name. */
static unsigned video_elements(const struct op_row *row)
{
	char last = row->base[strlen(row->base) - 1];

	return last == '2' ? 2 : last == '4' ? 4 : 1;
}

static bool selector_is_single(const struct ptx_operand *o)
{
	return o->comp < PTX_SEL_BYTES;
}

/* Number of digits of a selector with several elements. */
static unsigned selector_digits(const struct ptx_operand *o)
{
	unsigned n = 0;

	for (uint32_t d = o->n; d > 1; d >>= 4)
		n++;
	return n;
}

/* A mask names each written element at most once, the highest first. */
static bool mask_fits(const struct ptx_operand *o, unsigned n)
{
	unsigned last = 0;

	if (!o->comp)
		return true;
	if (selector_is_single(o))
		return (o->comp >= PTX_SEL_H0) == (n == 2);
	if (o->comp != (n == 2 ? PTX_SEL_HALVES : PTX_SEL_BYTES))
		return false;
	for (uint32_t d = o->n; d > 1; d >>= 4) {
		if ((d & 15) >= n || (d != o->n && (d & 15) <= last))
			return false;
		last = d & 15;
	}
	return true;
}

static bool source_fits(const struct ptx_operand *o, unsigned n)
{
	if (n == 1)
		return selector_is_single(o);
	return !o->comp || (o->comp == (n == 2 ? PTX_SEL_HALVES : PTX_SEL_BYTES) && selector_digits(o) == n);
}

/* Each returns the second half of an error message, or NULL. */
static const char *scalar_fault(const struct ptx_inst *in, const struct operands *ops)
{
	const struct ptx_operand *o = ops->op;
	bool minus = o[1].neg != o[2].neg;

	if (o[0].comp && (in->op == PTX_OP_vmad || ops->n < 4 || in->m.op || !selector_is_single(&o[0])))
		return "cannot have this selector on its result";
	if (in->m.op && ops->n < 4)
		return "needs a third source for its second operation";
	if (in->m.op && in->m.op != PTX_A_ADD && in->m.op != PTX_A_MIN && in->m.op != PTX_A_MAX)
		return "has .add, .min or .max as second operation, no other";
	if (in->op == PTX_OP_vmad && in->m.po && (o[1].neg || o[2].neg || o[3].neg))
		return "with .po has nothing negated";
	if (in->op == PTX_OP_vmad && minus && o[3].neg)
		return "can have its product negated or its last source, not both";
	return NULL;
}

static const char *simd_fault(const struct ptx_inst *in, const struct operands *ops, unsigned n)
{
	if (!mask_fits(&ops->op[0], n))
		return "cannot have this selector on its result";
	if (in->m.op && in->m.op != PTX_A_ADD)
		return "has .add as second operation, no other";
	if (in->m.op && in->m.sat)
		return "has either .sat or .add";
	return NULL;
}

static bool is_plain_comparison(unsigned cmp)
{
	return cmp == PTX_EQ || cmp == PTX_NE || cmp == PTX_LT || cmp == PTX_LE || cmp == PTX_GT || cmp == PTX_GE;
}

bool check_video(struct parser *p, const struct op_row *row, const struct ptx_inst *in, const struct operands *ops,
	const struct token *at)
{
	unsigned n = video_elements(row);
	const char *fault = n == 1 ? scalar_fault(in, ops) : simd_fault(in, ops, n);

	if (!fault && (!source_fits(&ops->op[1], n) || !source_fits(&ops->op[2], n) || (ops->n > 3 && ops->op[3].comp)))
		fault = "cannot have this selector on a source";
	if (!fault && in->m.cmp && !is_plain_comparison(in->m.cmp))
		fault = "compares with .eq .ne .lt .le .gt .ge only";
	if (fault)
		parse_fail(p, at, "'%s' %s", row->base, fault);
	return !fault;
}
