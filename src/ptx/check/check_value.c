/*
 * Checks one value against the type that the instruction uses.  PTX's rules: a register has exactly the width of the
 * type and a compatible kind (bits fit every kind but predicates, signed fits unsigned); ld, st and cvt also take wider
 * registers, as ptxas does: .bits registers for all types, and all registers for .bits types.  A float over 16 bits in a
 * wider register is a result of ld only: as a source, ptxas converts the integer in the register.
 */
#include "ptx/check/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool check_refuse(struct check *c, const struct ptx_operand *o, const char *fmt, ...)
{
	struct token at = parse_token_at(c->p, o->pos);
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	parse_fail(c->p, &at, "operand %u of '%s' %s", c->index, c->row->base, text);
	return false;
}

/* A register of type .f16x2 also counts as an integer, other than those of type .bf16x2. */
static enum ptx_kind register_kind(unsigned type)
{
	return type == PTX_F16X2 ? PTX_KIND_INT : ptx_type_kind(type);
}

static bool same_kind(unsigned reg, unsigned use)
{
	enum ptx_kind a = register_kind(reg), b = ptx_type_kind(use);

	if (reg == use)
		return true;
	if (a == PTX_KIND_PRED || b == PTX_KIND_PRED)
		return a == b;
	if (a == PTX_KIND_FLOAT && b == PTX_KIND_FLOAT)
		return reg == use;
	return a == PTX_KIND_BITS || b == PTX_KIND_BITS || a == b;
}

static bool register_fits(unsigned reg, unsigned use, bool wider)
{
	unsigned a = ptx_type_bits(reg), b = ptx_type_bits(use);

	if (a == b)
		return same_kind(reg, use);
	if (!wider || a < b || ptx_type_kind(reg) == PTX_KIND_PRED || ptx_type_kind(use) == PTX_KIND_PRED)
		return false;
	/* Floats of 16 bits or less also come in integer registers. */
	return ptx_type_kind(reg) == PTX_KIND_BITS || ptx_type_kind(use) == PTX_KIND_BITS ||
	       (register_kind(reg) != PTX_KIND_FLOAT && (ptx_type_kind(use) != PTX_KIND_FLOAT || b <= 16));
}

/* The source %r1 + 4: an add before the instruction computes it. */
static bool through_add(struct check *c, struct ptx_operand *o, unsigned reg_type)
{
	static const uint8_t types[] = {[16] = PTX_U16, [32] = PTX_U32, [64] = PTX_U64};
	unsigned bits = ptx_type_bits(reg_type), t = bits == 16 || bits == 32 || bits == 64 ? types[bits] : PTX_NONE;
	struct ptx_inst in = {.op = PTX_OP_add, .nops = 3, .guard = PTX_NOREG, .line = c->in->line};

	if (t == PTX_NONE || ptx_type_kind(reg_type) == PTX_KIND_FLOAT)
		return check_refuse(
			c, o, "is the sum of a constant and a register of type .%s", ptx_type_name(reg_type));
	in.ops = arena_alloc(c->p->m->arena, 3, sizeof *in.ops);
	if (!in.ops)
		return parse_fail_memory(c->p), false;
	in.m.type[0] = t;
	in.m.ntypes = 1;
	in.ops[0] = (struct ptx_operand){
		.kind = PTX_O_REG, .type = t, .reg = parse_new_reg(c->p, "%tmp", reg_type), .pos = o->pos};
	in.ops[1] = *o;
	in.ops[1].type = t;
	in.ops[1].imm = 0;
	in.ops[2] = (struct ptx_operand){.kind = PTX_O_IMM,
		.type = t,
		.imm = bits < 64 ? o->imm & ((INT64_C(1) << bits) - 1) : o->imm,
		.pos = o->pos};
	parse_emit(c->p, &in);
	o->reg = in.ops[0].reg;
	o->imm = 0;
	return !parse_failed(c->p);
}

bool check_reg(struct check *c, struct ptx_operand *o, unsigned type, bool wider)
{
	const struct ptx_reg *r = &c->p->f->regs[o->reg];

	if (o->comp && c->row->operands[0] != 'V')
		return check_refuse(c, o, "must be a whole register");
	o->type = type;
	if (ptx_type_kind(type) == PTX_KIND_FLOAT && ptx_type_bits(type) > 16)
		wider &= c->in->op == PTX_OP_ld;
	if (register_fits(r->type, type, wider))
		return !o->imm || through_add(c, o, r->type);
	return check_refuse(c, o, "is '%.40s' of type .%s where .%s is needed", r->name, ptx_type_name(r->type),
		ptx_type_name(type));
}

static bool float_literal(struct check *c, struct ptx_operand *o, unsigned type)
{
	uint64_t bits = o->imm;
	uint32_t b32 = bits;
	double d;
	float f;

	if (type == PTX_F64 && o->n == T_F32) {
		memcpy(&f, &b32, 4);
		d = f;
		memcpy(&bits, &d, 8);
	} else if (type == PTX_F32 && o->n == T_F64) {
		memcpy(&d, &bits, 8);
		f = (float)d;
		memcpy(&b32, &f, 4);
		bits = b32;
	} else if (ptx_type_bits(type) != (o->n == T_F32 ? 32 : 64) || ptx_type_kind(type) == PTX_KIND_INT) {
		return check_refuse(c, o, "is a floating-point number where .%s is needed", ptx_type_name(type));
	}
	o->imm = (int64_t)bits;
	return true;
}

/* Converts the literal to the bits of its type. */
bool check_literal(struct check *c, struct ptx_operand *o, unsigned type)
{
	unsigned bits = ptx_type_bits(type);

	o->type = type;
	if (o->n != T_INT) {
		if (!float_literal(c, o, type))
			return false;
	} else if (type == PTX_PRED) {
		o->imm = o->imm != 0;
	} else if (ptx_type_kind(type) == PTX_KIND_FLOAT) {
		return check_refuse(c, o, "is an integer where .%s is needed", ptx_type_name(type));
	} else if (bits < 64) {
		o->imm &= (INT64_C(1) << bits) - 1;
	}
	o->n = 0;
	return true;
}

/*
 * Special registers and addresses are allowed as any integer source.  Outside of mov they get a temporary register
 * and a mov before the instruction, so that engines see them only in mov.
 */
static bool through_mov(struct check *c, struct ptx_operand *o, unsigned type)
{
	unsigned t = o->kind == PTX_O_SREG                                      ? (unsigned)table_sreg_type(o->reg)
		     : c->p->m->address_size == 64 && ptx_type_bits(type) == 64 ? PTX_U64
										: PTX_U32;
	struct ptx_inst in = {.op = PTX_OP_mov, .nops = 2, .guard = PTX_NOREG, .line = c->in->line};
	struct ptx_operand *ops;

	if (!register_fits(t, type, c->in->op == PTX_OP_cvt || c->in->op == PTX_OP_st))
		return check_refuse(c, o, "has type .%s where .%s is needed", ptx_type_name(t), ptx_type_name(type));
	ops = in.ops = arena_alloc(c->p->m->arena, 2, sizeof *ops);
	if (!ops)
		return parse_fail_memory(c->p), false;
	in.m.type[0] = t;
	in.m.ntypes = 1;
	ops[0] = (struct ptx_operand){
		.kind = PTX_O_REG, .type = t, .reg = parse_new_reg(c->p, "%tmp", t), .pos = o->pos};
	ops[1] = *o;
	ops[1].type = t;
	parse_emit(c->p, &in);
	*o = ops[0];
	o->type = type;
	return !parse_failed(c->p);
}

bool check_source(struct check *c, struct ptx_operand *o, unsigned type, bool wider)
{
	switch (o->kind) {
	case PTX_O_REG:
		return check_reg(c, o, type, wider);
	case PTX_O_IMM:
		return check_literal(c, o, type);
	case PTX_O_SREG:
	case PTX_O_VAR:
	case PTX_O_FUNC:
		return through_mov(c, o, type);
	}
	return check_refuse(c, o, "must be a register or a number");
}

bool check_result(struct check *c, struct ptx_operand *o, unsigned type, bool wider)
{
	o->type = type;
	if (o->kind == PTX_O_SINK)
		return true;
	if (o->kind != PTX_O_REG || o->imm)
		return check_refuse(c, o, "must be a register");
	return check_reg(c, o, type, wider);
}

bool check_value(struct check *c, struct ptx_operand *o, unsigned type, bool wider, bool is_result)
{
	return is_result ? check_result(c, o, type, wider) : check_source(c, o, type, wider);
}

bool check_address_sized(struct check *c, struct ptx_operand *o)
{
	unsigned bits = o->kind == PTX_O_REG ? ptx_type_bits(c->p->f->regs[o->reg].type) : c->p->m->address_size;

	return check_source(c, o, bits == 64 ? PTX_U64 : PTX_U32, false);
}
