/* Checks the operands of an instruction against the operand letters of its row in ops.def. */
#include "ptx/check/check.h"

#include <string.h>

/* With .v2, .v4 or .v8 a vector of that size; else one value, with or without braces. */
static bool check_maybe_vector(struct check *c, struct ptx_operand *o, bool is_result)
{
	unsigned n = c->in->m.vec, type = c->in->m.type[0];
	bool wider = c->in->op != PTX_OP_mov_vector;

	if (o->kind != PTX_O_VEC && !n)
		return check_value(c, o, type, true, is_result);
	if (o->kind != PTX_O_VEC || o->n != (n ? n : 1))
		return check_refuse(c, o, "must be a vector of %u", n ? n : 1);
	o->type = type;
	for (uint32_t i = 0; i < o->n; i++)
		if (!check_value(c, &o->elem[i], type, wider, is_result))
			return false;
	if (!n)
		*o = o->elem[0];
	return true;
}

static bool check_fragment(struct check *c, struct ptx_operand *o, bool is_result)
{
	if (o->kind != PTX_O_VEC)
		return check_value(c, o, o->kind == PTX_O_REG ? c->p->f->regs[o->reg].type : PTX_B32, false, is_result);
	for (uint32_t i = 0; i < o->n; i++) {
		struct ptx_operand *e = &o->elem[i];
		unsigned type = e->kind == PTX_O_REG ? c->p->f->regs[e->reg].type : PTX_B32;

		if (!check_value(c, e, type, false, is_result))
			return false;
	}
	return true;
}

static unsigned double_width(unsigned type)
{
	switch (type) {
	case PTX_U16:
		return PTX_U32;
	case PTX_S16:
		return PTX_S32;
	case PTX_U32:
		return PTX_U64;
	case PTX_S32:
		return PTX_S64;
	}
	return PTX_NONE;
}

static bool check_predicate(struct check *c, struct ptx_operand *o)
{
	return check_source(c, o, PTX_PRED, false);
}

/* The base register has 32 or 64 bits, in any state space, and is no float. */
static bool check_memory(struct check *c, struct ptx_operand *o)
{
	const struct ptx_reg *r;

	if (o->kind != PTX_O_ADDR)
		return check_refuse(c, o, "must be an address in brackets");
	if (o->reg == PTX_NOREG)
		return true;
	r = &c->p->f->regs[o->reg];
	if ((ptx_type_bits(r->type) == 32 || ptx_type_bits(r->type) == 64) && ptx_type_kind(r->type) != PTX_KIND_FLOAT)
		return true;
	return check_refuse(c, o, "has the base register '%.40s' of type .%s", r->name, ptx_type_name(r->type));
}

/* A texture or surface handle: a 64-bit register, or the name of a texref. */
static bool check_handle(struct check *c, struct ptx_operand *o)
{
	if (o->kind == PTX_O_NONE)
		return true;
	if (o->imm || (!o->var && o->reg == PTX_NOREG))
		return check_refuse(c, o, "must be a handle");
	if (o->reg == PTX_NOREG) {
		o->kind = PTX_O_VAR;
		o->type = PTX_U64;
		return true;
	}
	o->kind = PTX_O_REG;
	return check_reg(c, o, PTX_U64, false);
}

static bool check_coordinates(struct check *c, struct ptx_operand *o)
{
	static const uint8_t needed[] = {[PTX_1D] = 1,
		[PTX_2D] = 2,
		[PTX_3D] = 3,
		[PTX_A1D] = 2,
		[PTX_A2D] = 3,
		[PTX_CUBE] = 3,
		[PTX_ACUBE] = 4,
		[PTX_2DMS] = 3,
		[PTX_A2DMS] = 4};
	unsigned n = needed[c->in->m.geom];

	if (o->kind != PTX_O_VEC || (o->n != n && !(n == 3 && o->n == 4)))
		return check_refuse(c, o, "must be %u coordinates", n);
	return check_fragment(c, o, false);
}

/* A vector in a mov: equal parts that fill the register. */
static bool check_pack(struct check *c, struct ptx_operand *o, bool is_result)
{
	static const uint8_t parts[] = {[8] = PTX_B8, [16] = PTX_B16, [32] = PTX_B32, [64] = PTX_B64};
	unsigned bits = ptx_type_bits(c->in->m.type[0]), part = o->n ? bits / o->n : 0;

	if (part < 8 || part > 64 || part * o->n != bits || !parts[part])
		return check_refuse(c, o, "cannot be %u parts of .%s", o->n, ptx_type_name(c->in->m.type[0]));
	o->type = c->in->m.type[0];
	for (uint32_t i = 0; i < o->n; i++)
		if (!check_value(c, &o->elem[i], parts[part], false, is_result))
			return false;
	return true;
}

static bool check_mov_source(struct check *c, struct ptx_operand *o)
{
	unsigned type = c->in->m.type[0], t;

	o->type = type;
	switch (o->kind) {
	case PTX_O_VEC:
		return check_pack(c, o, false);
	case PTX_O_SREG:
		t = table_sreg_type(o->reg);
		/* Older code reads 64-bit clocks and ids as 32 bits, and vice versa. */
		if (ptx_type_bits(t) == ptx_type_bits(type) || (ptx_type_bits(type) >= 16 && t != PTX_PRED))
			return true;
		return check_refuse(c, o, "has type .%s where .%s is needed", ptx_type_name(t), ptx_type_name(type));
	case PTX_O_VAR:
	case PTX_O_FUNC:
		if (ptx_type_bits(type) == 32 || ptx_type_bits(type) == 64)
			return true;
		return check_refuse(c, o, "is an address, which .%s cannot hold", ptx_type_name(type));
	}
	return check_source(c, o, type, false);
}

static bool check_cvta_source(struct check *c, struct ptx_operand *o)
{
	if (o->kind == PTX_O_VAR) {
		o->type = c->in->m.type[0];
		return true;
	}
	return check_source(c, o, c->in->m.type[0], false);
}

static bool check_source_operand(struct check *c, char letter, struct ptx_operand *o)
{
	const uint8_t *type = c->in->m.type;

	switch (letter) {
	case 'a':
		return check_source(c, o, type[0], false);
	case 'b':
		return check_source(c, o, type[1], false);
	case 'c':
		return check_source(c, o, type[2], false);
	case 'z':
		return check_source(c, o, double_width(type[0]), false);
	case 'g':
		return check_maybe_vector(c, o, false);
	case 'h':
		return check_source(c, o, type[1], !strchr(c->row->operands, 'h')[1]);
	case 'w':
	case 'j':
		return check_source(c, o, PTX_U32, false);
	case 'e':
		return o->kind == PTX_O_REG && c->p->f->regs[o->reg].type == PTX_PRED
			       ? check_predicate(c, o)
			       : check_source(c, o, PTX_U32, false);
	case 'u':
		return check_source(c, o, o->kind == PTX_O_IMM && o->n != T_INT ? PTX_F32 : PTX_B32, false);
	case 'x':
		return check_source(c, o, PTX_U64, false);
	case 'y':
		return check_address_sized(c, o);
	case 'o':
		return check_source(c, o, PTX_B32, false);
	case 'p':
		return check_predicate(c, o);
	case 'n':
		return c->in->op == PTX_OP_mov
			       ? check_mov_source(c, o)
			       : o->kind == PTX_O_IMM || o->kind == PTX_O_REG || check_refuse(c, o, "must be a number");
	case 'v':
		return check_cvta_source(c, o);
	case 'i':
		return o->kind == PTX_O_IMM && o->n == T_INT ? check_literal(c, o, PTX_S32)
							     : check_refuse(c, o, "must be an integer constant");
	case 'm':
	case 'q':
		return check_memory(c, o);
	case 'f':
		return check_fragment(c, o, false);
	}
	return true; /* l, L and k: the parser has checked them */
}

static bool check_operand(struct check *c, char letter, struct ptx_operand *o)
{
	const uint8_t *type = c->in->m.type;

	if (o->neg && letter != 'p' && letter != 'e' && c->in->op != PTX_OP_vmad &&
		!((letter == 'a' || letter == 'n') && type[0] == PTX_PRED))
		return check_refuse(c, o, "cannot be negated");
	switch (letter) {
	case 'D':
		return check_result(c, o, type[0], false);
	case 'E':
		return check_result(c, o, type[1], false);
	case 'Z':
		return check_result(c, o, double_width(type[0]), false);
	case 'G':
		return check_maybe_vector(c, o, true);
	case 'H':
		return check_result(c, o, type[0], true);
	case 'W':
		return check_result(c, o, PTX_U32, false);
	case 'X':
		return check_result(c, o, PTX_U64, false);
	case 'P':
		return check_result(c, o, PTX_PRED, false);
	case 'V':
		return check_result(c, o, PTX_B32, false);
	case 'M':
		return o->kind == PTX_O_VEC ? check_pack(c, o, true) : check_result(c, o, type[0], false);
	case 'F':
		return check_fragment(c, o, true);
	}
	return check_source_operand(c, letter, o);
}

/* The smallest and largest number of operands that the letters allow. 't' and 's' stand for several. */
static void count_operands(const char *s, unsigned *min, unsigned *max)
{
	bool optional = false;

	for (*min = *max = 0; *s; s++) {
		unsigned n = *s == 't' ? 3 : *s == 's' ? 2 : 1;

		if (*s == '?') {
			optional = true;
			continue;
		}
		*max += n;
		if (!optional)
			*min += n;
	}
}

static void insert_none(struct operands *ops, unsigned at)
{
	memmove(&ops->op[at + 1], &ops->op[at], (ops->n - at) * sizeof ops->op[0]);
	ops->op[at] = (struct ptx_operand){.kind = PTX_O_NONE};
	ops->n++;
}

/* Inserts PTX_O_NONE for absent operands that others follow, and checks the number of operands. */
static bool place_operands(struct check *c, struct operands *ops, const struct token *at)
{
	const char *s = c->row->operands, *bar = strchr(s, '|'), *j = strchr(s, 'j');
	unsigned min, max, written = ops->n;

	if (ops->bar && !bar) {
		parse_fail(c->p, at, "'%s' has no second result", c->row->base);
		return false;
	}
	if (bar && !ops->bar && ops->n)
		insert_none(ops, 1);
	count_operands(s, &min, &max);
	if (j && ops->n == min - 1)
		insert_none(ops, j - s);
	if (ops->n >= min && ops->n <= max)
		return true;
	parse_fail(c->p, at, "'%s' takes %s%u operands, not %u", c->row->base, min == max ? "" : "at least ",
		min - (bar != NULL) - (strchr(s, 't') != NULL), written);
	return false;
}

static bool is_scalar_float(unsigned t)
{
	return t == PTX_F16 || t == PTX_BF16 || t == PTX_F32 || t == PTX_F64;
}

/* Between scalar floats, narrowing requires a rounding mode and widening forbids one. */
static bool check_cvt(struct check *c, const struct token *at)
{
	const struct ptx_mods *m = &c->in->m;
	unsigned d = ptx_type_bits(m->type[0]), s = ptx_type_bits(m->type[1]);
	bool floats = is_scalar_float(m->type[0]) && is_scalar_float(m->type[1]);

	if (c->in->op != PTX_OP_cvt || !floats || d == s)
		return true;
	if (d > s && m->rnd) {
		parse_fail(c->p, at, "'cvt' from .%s to .%s takes no rounding mode", ptx_type_name(m->type[1]),
			ptx_type_name(m->type[0]));
		return false;
	}
	if (d > s || m->rnd)
		return true;
	parse_fail(c->p, at, "'cvt' from .%s to .%s needs a rounding mode", ptx_type_name(m->type[1]),
		ptx_type_name(m->type[0]));
	return false;
}

/* setp, set and lop3 combine their result with a predicate: the operation and the operand come together. */
static bool check_combination(struct check *c, const struct operands *ops, const struct token *at)
{
	const struct ptx_inst *in = c->in;
	unsigned min, max;

	if (in->op != PTX_OP_setp && in->op != PTX_OP_set && in->op != PTX_OP_lop3)
		return true;
	count_operands(c->row->operands, &min, &max);
	if ((in->m.op != PTX_A_NONE) == (ops->n == max)) {
		if (in->op != PTX_OP_lop3 || !in->m.op == (ops->op[1].kind == PTX_O_NONE))
			return true;
		parse_fail(c->p, at, "'lop3' has a second result with a boolean operation, and only then");
		return false;
	}
	parse_fail(c->p, at,
		in->m.op ? "'%s' with a boolean operation takes a predicate as its last operand"
			 : "'%s' takes a predicate as its last operand only with a boolean operation",
		c->row->base);
	return false;
}

bool check_operands(
	struct parser *p, const struct op_row *row, struct ptx_inst *in, struct operands *ops, const struct token *at)
{
	struct check c = {.p = p, .row = row, .in = in};
	const char *s = row->operands;
	unsigned i = 0;

	if (*s == 'k')
		return check_call(&c, ops, at);
	if (!place_operands(&c, ops, at) || !check_combination(&c, ops, at) || !check_cvt(&c, at))
		return false;
	for (; *s && i < ops->n; s++) {
		struct ptx_operand *o = &ops->op[i];

		if (*s == '?')
			continue;
		i++;
		c.index += o->kind != PTX_O_NONE;
		if (*s == 't' || *s == 's') {
			i += *s == 't' ? 2 : 1;
			if (!check_handle(&c, o) || (*s == 't' && !check_handle(&c, o + 1)) ||
				!check_coordinates(&c, &ops->op[i - 1]))
				return false;
		} else if (o->kind == PTX_O_NONE && (*s == '|' || *s == 'j')) {
			continue;
		} else if (!check_operand(&c, *s == '|' ? 'P' : *s, o)) {
			return false;
		}
	}
	return row->operands[0] != 'V' || check_video(p, row, in, ops, at);
}
