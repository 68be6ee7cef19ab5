/*
 * From which variable an address was computed.  PTX has no types that say so, but compilers compute the address of an
 * element from the variable's own address by additions.  A register's state rises, over all its definitions, in this
 * order:
 *
 *	unset < number, or address of one variable < unknown
 *
 * A number is anything that no variable's address went into.  A register that is unknown is not checked against a
 * variable.
 */
#include "ptx/interp/checked/checked_core.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PASSES = 32 };

/* States beside the variables' own addresses. */
static const struct ptx_var number, unknown;
#define UNSET   NULL
#define NUMBER  (&number)
#define UNKNOWN (&unknown)

static bool is_variable(const struct ptx_var *v)
{
	return v != UNSET && v != NUMBER && v != UNKNOWN;
}

static const struct ptx_var *state_join(const struct ptx_var *a, const struct ptx_var *b)
{
	if (a == UNSET || a == b)
		return b;
	return b == UNSET ? a : UNKNOWN;
}

/* A sum: a number leaves the other operand's state. */
static const struct ptx_var *state_sum(const struct ptx_var *a, const struct ptx_var *b)
{
	if (a == UNSET || a == NUMBER)
		return b == UNSET ? a : b;
	return b == UNSET || b == NUMBER ? a : UNKNOWN;
}

static const struct ptx_var *operand_state(const struct ptx_operand *o, const struct ptx_var *const *state)
{
	const struct ptx_var *r = UNSET;

	switch (o->kind) {
	case PTX_O_REG:
		return state[o->reg];
	case PTX_O_VAR:
		return ptx_var_definition(o->var);
	case PTX_O_VEC:
		for (uint32_t i = 0; i < o->n; i++)
			r = state_join(r, operand_state(&o->elem[i], state));
		return r;
	default:
		return NUMBER;
	}
}

/* The state of the results. */
static const struct ptx_var *result_state(const struct ptx_inst *in, const struct ptx_var *const *state)
{
	const struct ptx_var *s[PTX_MAX_OPERANDS], *r = UNSET;
	unsigned n = in->nops, first = ptx_inst_ndest(in);

	for (unsigned i = 0; i < n; i++)
		s[i] = operand_state(&in->ops[i], state);
	switch (in->op) {
	case PTX_OP_mov:
	case PTX_OP_cvt:
	case PTX_OP_cvta:
	case PTX_OP_shfl:
		return s[first];
	case PTX_OP_add:
	case PTX_OP_or:
	case PTX_OP_and:
		return state_sum(s[first], s[first + 1]);
	case PTX_OP_sub:
		if (is_variable(s[first + 1]))
			return NUMBER;
		return state_sum(s[first], s[first + 1]);
	case PTX_OP_mad:
		return state_sum(state_sum(s[first], s[first + 1]), s[first + 2]);
	case PTX_OP_selp:
		return state_join(s[first], s[first + 1]);
	case PTX_OP_ld:
	case PTX_OP_ldu:
	case PTX_OP_atom:
	case PTX_OP_atom_cas:
	case PTX_OP_call:
		return NUMBER;
	default:
		for (unsigned i = first; i < n; i++)
			if (is_variable(s[i]) || s[i] == UNKNOWN)
				r = UNKNOWN;
		return r == UNSET ? NUMBER : r;
	}
}

struct origin_walk {
	const struct ptx_var **state;
	const struct ptx_var *result;
	bool changed;
};

static void register_defined(void *data, uint32_t reg)
{
	struct origin_walk *w = data;
	const struct ptx_var *new = state_join(w->state[reg], w->result);

	w->changed |= new != w->state[reg];
	w->state[reg] = new;
}

bool checked_origins(const struct ptx_function *f, const struct ptx_var **origin)
{
	struct origin_walk w = {.state = calloc(f->nregs + 1u, sizeof(*w.state)), .changed = true};
	unsigned passes = 0;

	if (!w.state)
		return false;
	for (; w.changed && passes < MAX_PASSES; passes++) {
		w.changed = false;
		for (uint32_t i = 0; i < f->ninsts; i++) {
			w.result = result_state(&f->insts[i], w.state);
			ptx_inst_regs(&f->insts[i], NULL, register_defined, &w);
		}
	}
	for (uint32_t i = 0; i < f->nregs; i++)
		origin[i] = !w.changed && is_variable(w.state[i]) ? w.state[i] : NULL;
	free(w.state);
	return true;
}
