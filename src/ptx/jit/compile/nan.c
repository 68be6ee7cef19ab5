/*
 * Lazy NaNs.  f32 arithmetic gives the NaN 0x7fffffff on a GPU and another one on x86.  Replacing it after every operation
 * would double the cost of arithmetic, so registers that only arithmetic writes keep the processor's NaN, and readers
 * other than float arithmetic replace it (value.c).
 *
 * A register is lazy if all its values come from f32 arithmetic, are constants, or are copies of lazy registers: none may
 * hold a NaN whose bits must be kept, as those from memory must.
 */
#include "ptx/jit/compile/compile.h"

#include <string.h>

static bool is_f32_arithmetic(const struct ptx_inst *in)
{
	if (in->m.type[0] != PTX_F32)
		return false;
	switch (in->op) {
	case PTX_OP_add:
	case PTX_OP_sub:
	case PTX_OP_mul:
	case PTX_OP_mad:
	case PTX_OP_fma:
	case PTX_OP_div:
	case PTX_OP_rcp:
	case PTX_OP_sqrt:
		return true;
	}
	return false;
}

static bool is_copy(const struct ptx_inst *in)
{
	return in->op == PTX_OP_mov && in->ops[0].kind == PTX_O_REG &&
	       (in->ops[1].kind == PTX_O_REG || in->ops[1].kind == PTX_O_IMM) && ptx_type_bits(in->m.type[0]) == 32;
}

/* True if the instruction may leave any NaN in a lazy result. */
static bool spoils_nans(const struct compiler *c, const struct ptx_inst *in)
{
	const struct ptx_operand *o = &in->ops[1];

	if (is_f32_arithmetic(in))
		return false;
	if (!is_copy(in))
		return true;
	if (o->kind == PTX_O_REG)
		return !c->lazy_nan[o->reg];
	return ((uint32_t)o->imm & 0x7fffffff) > 0x7f800000;
}

struct spoiled {
	struct compiler *c;
	bool changed;
};

static void spoil_register(void *data, uint32_t r)
{
	struct spoiled *s = data;

	s->changed |= s->c->lazy_nan[r];
	s->c->lazy_nan[r] = false;
}

static void note_lazy(void *data, uint32_t r)
{
	((struct compiler *)data)->lazy_nan[r] = true;
}

void compile_nans(struct compiler *c)
{
	const struct ptx_function *f = c->f;
	struct spoiled s = {c, true};

	for (uint32_t i = 0; i < f->ninsts; i++)
		if (is_f32_arithmetic(&f->insts[i]))
			ptx_inst_regs(&f->insts[i], NULL, note_lazy, c);
	/* Copies of lazy registers. */
	for (bool grown = true; grown;) {
		grown = false;
		for (uint32_t i = 0; i < f->ninsts; i++) {
			const struct ptx_inst *in = &f->insts[i];

			if (is_copy(in) && in->ops[1].kind == PTX_O_REG && c->lazy_nan[in->ops[1].reg] &&
				!c->lazy_nan[in->ops[0].reg] && reg_bits(c, in->ops[0].reg) == 32)
				grown = c->lazy_nan[in->ops[0].reg] = true;
		}
	}
	while (s.changed) {
		s.changed = false;
		for (uint32_t i = 0; i < f->ninsts; i++)
			if (spoils_nans(c, &f->insts[i]))
				ptx_inst_regs(&f->insts[i], NULL, spoil_register, &s);
	}
}
