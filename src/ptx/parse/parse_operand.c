/* Parses operands: registers, literals, addresses, vectors and names. */
#include "ptx/parse/parse.h"

#include <string.h>

static uint32_t token_pos(const struct parser *p, const struct token *t)
{
	return t->s - p->m->text;
}

static bool fail_undeclared(struct parser *p, const struct token *t)
{
	char buf[80];

	parse_fail(p, t, "%s is not declared", token_text(t, buf, sizeof buf));
	return false;
}

/* callees and shared_used hold each entry once; the lists are short. */
void parse_use_function(struct parser *p, struct ptx_function *callee, bool called)
{
	struct ptx_function *f = p->f, **l;

	if (!called) {
		callee->address_taken = true;
		return;
	}
	callee->called = true;
	for (uint32_t i = 0; i < f->ncallees; i++)
		if (f->callees[i] == callee)
			return;
	l = arena_push(p->m->arena, f->callees, f->ncallees, sizeof *l);
	if (!l) {
		parse_fail_memory(p);
		return;
	}
	f->callees = l;
	l[f->ncallees++] = callee;
}

void parse_use_var(struct parser *p, struct ptx_var *v)
{
	struct ptx_function *f = p->f;
	struct ptx_var **l;

	v->used = true;
	if (v->space != PTX_SHARED)
		return;
	for (uint32_t i = 0; i < f->nshared_used; i++)
		if (f->shared_used[i] == v)
			return;
	l = arena_push(p->m->arena, f->shared_used, f->nshared_used, sizeof *l);
	if (!l) {
		parse_fail_memory(p);
		return;
	}
	f->shared_used = l;
	l[f->nshared_used++] = v;
}

/* The index of .x .y .z .w or, with the same meaning, .r .g .b .a; -1: not a component. */
static int register_component(const struct token *t)
{
	static const char names[] = "xyzwrgba";
	const char *c;

	if (t->kind != T_DOT || t->len != 1)
		return -1;
	c = memchr(names, t->s[0], 8);
	return c ? (c - names) % 4 : -1;
}

/* .b0 .h1 .b7654 .h10: selects parts of a register, for the video instructions. */
static void parse_selector(struct parser *p, struct ptx_operand *o)
{
	const struct token *t = &p->tok;
	bool byte = t->kind == T_DOT && t->s[0] == 'b', half = t->kind == T_DOT && t->s[0] == 'h';
	uint32_t digits = 1, last = 0;

	if ((!byte && !half) || t->len < 2 || t->len > 5)
		return;
	for (uint32_t i = 1; i < t->len; i++) {
		last = (uint32_t)(t->s[i] - '0');
		if (last > (byte ? 7 : 3))
			return;
		digits = digits << 4 | last;
	}
	if (t->len == 2 && last > (byte ? 3 : 1))
		return;
	o->comp = t->len == 2 ? (byte ? PTX_SEL_B0 : PTX_SEL_H0) + last : byte ? PTX_SEL_BYTES : PTX_SEL_HALVES;
	o->n = t->len == 2 ? 0 : digits;
	parse_next(p);
}

static bool parse_vector_register(struct parser *p, struct ptx_operand *o, const struct ptx_name *n)
{
	int c = register_component(&p->tok);

	if (c >= 0) {
		if (c >= n->vec) {
			parse_fail(p, &p->tok, "the vector has only %u elements", n->vec);
			return false;
		}
		parse_next(p);
		o->kind = PTX_O_REG;
		o->reg = n->regs[c];
		return true;
	}
	o->kind = PTX_O_VEC;
	o->n = n->vec;
	o->elem = arena_alloc(p->m->arena, n->vec, sizeof *o->elem);
	if (!o->elem) {
		parse_fail_memory(p);
		return false;
	}
	for (unsigned i = 0; i < n->vec; i++)
		o->elem[i] = (struct ptx_operand){.kind = PTX_O_REG, .reg = n->regs[i], .pos = o->pos};
	return true;
}

static bool parse_special_register(struct parser *p, struct ptx_operand *o, const struct token *t)
{
	bool dims;
	int sreg = table_sreg(t->s, t->len, &o->comp, &dims);
	int c = register_component(&p->tok);

	if (sreg < 0)
		return fail_undeclared(p, t);
	o->kind = PTX_O_SREG;
	o->reg = sreg;
	if (!dims)
		return true;
	if (c < 0) {
		parse_fail(p, t, "a component such as .x is needed");
		return false;
	}
	o->comp = c;
	parse_next(p);
	return true;
}

/* An operand that starts with a name, without a following offset. */
static bool parse_named_operand(struct parser *p, struct ptx_operand *o)
{
	struct token t = p->tok;
	struct ptx_name *n;

	parse_next(p);
	if (t.len == 1 && *t.s == '_') {
		o->kind = PTX_O_SINK;
		return true;
	}
	n = parse_lookup(p, t.s, t.len);
	if (parse_failed(p))
		return false;
	if (!n)
		return parse_special_register(p, o, &t);
	switch (n->kind) {
	case NAME_REG:
		if (n->vec)
			return parse_vector_register(p, o, n);
		o->kind = PTX_O_REG;
		o->reg = n->n;
		parse_selector(p, o);
		return true;
	case NAME_VAR:
		o->kind = PTX_O_VAR;
		o->var = n->var;
		parse_use_var(p, n->var);
		return !parse_failed(p);
	case NAME_FUNC:
		o->kind = PTX_O_FUNC;
		o->fn = n->fn;
		parse_use_function(p, n->fn, false);
		return !parse_failed(p);
	}
	parse_fail(p, &t, "a label is not allowed here");
	return false;
}

/* The + 4, - 4 or +-4 after a name; absent, *imm stays as it is. */
static bool parse_offset(struct parser *p, int64_t *imm)
{
	if (p->tok.kind != '+' && p->tok.kind != '-')
		return true;
	return parse_const(p, imm);
}

static bool parse_literal(struct parser *p, struct ptx_operand *o)
{
	struct parse_mark k;
	bool negative;

	o->kind = PTX_O_IMM;
	parse_mark(p, &k);
	negative = parse_accept(p, '-');
	if (p->tok.kind == T_F32 || p->tok.kind == T_F64) {
		o->n = p->tok.kind;
		o->imm = p->tok.u ^ (negative ? UINT64_C(1) << (p->tok.kind == T_F32 ? 31 : 63) : 0);
		parse_next(p);
		return true;
	}
	parse_rewind(p, &k);
	o->n = T_INT;
	return parse_const(p, &o->imm);
}

/* The inside of [ ] up to its end or a comma: a register, variable or number, with an offset. */
static bool parse_address(struct parser *p, struct ptx_operand *o)
{
	struct token at = p->tok;

	o->reg = PTX_NOREG;
	if (p->tok.kind != T_IDENT) {
		o->kind = PTX_O_ADDR;
		return parse_const(p, &o->imm);
	}
	if (!parse_named_operand(p, o))
		return false;
	if (o->kind != PTX_O_REG && o->kind != PTX_O_VAR) {
		parse_fail(p, &at, "an address needs a register, a variable or a number");
		return false;
	}
	if (o->kind == PTX_O_VAR)
		o->reg = PTX_NOREG;
	o->kind = PTX_O_ADDR;
	return parse_offset(p, &o->imm);
}

static bool parse_vector(struct parser *p, struct ptx_operand *o)
{
	struct ptx_operand *e;

	o->kind = PTX_O_VEC;
	parse_next(p);
	while (p->tok.kind != '}') {
		struct token at = p->tok;

		e = arena_push(p->m->arena, o->elem, o->n, sizeof *e);
		if (!e) {
			parse_fail_memory(p);
			return false;
		}
		o->elem = e;
		e += o->n++;
		*e = (struct ptx_operand){.pos = token_pos(p, &at)};
		if (o->n > 256 || p->tok.kind == '{' || p->tok.kind == '[') {
			parse_fail(p, &at, "not allowed inside a vector");
			return false;
		}
		if (!parse_operand(p, e))
			return false;
		if (!parse_accept(p, ','))
			break;
	}
	return parse_expect(p, '}', "'}'");
}

/* -%r1 (vmad): consumes the sign if a name follows it. */
static bool parse_negated_name(struct parser *p)
{
	struct parse_mark k;

	parse_mark(p, &k);
	parse_next(p);
	if (p->tok.kind == T_IDENT && !token_is(&p->tok, T_IDENT, "WARP_SZ"))
		return true;
	parse_rewind(p, &k);
	return false;
}

bool parse_operand(struct parser *p, struct ptx_operand *o)
{
	*o = (struct ptx_operand){.pos = token_pos(p, &p->tok)};
	switch (p->tok.kind) {
	case '{':
		return parse_vector(p, o);
	case '[':
		parse_next(p);
		return parse_address(p, o) && parse_expect(p, ']', "']'");
	case '-':
		if (parse_negated_name(p)) {
			o->neg = 1;
			return parse_named_operand(p, o);
		}
		break;
	case '!':
		parse_next(p);
		if (p->tok.kind != T_IDENT) {
			parse_fail(p, &p->tok, "expected a predicate after '!'");
			return false;
		}
		o->neg = 1;
		return parse_named_operand(p, o);
	case T_IDENT:
		if (token_is(&p->tok, T_IDENT, "WARP_SZ"))
			return parse_literal(p, o);
		if (!parse_named_operand(p, o))
			return false;
		if (o->kind == PTX_O_REG && p->tok.kind == '+') /* check_reg adds it */
			return parse_offset(p, &o->imm);
		return o->kind != PTX_O_VAR || parse_offset(p, &o->imm);
	}
	return parse_literal(p, o);
}

static bool operand_push(struct parser *p, struct operands *ops, struct ptx_operand **o)
{
	if (ops->n == PTX_MAX_OPERANDS) {
		parse_fail(p, &p->tok, "too many operands");
		return false;
	}
	*o = &ops->op[ops->n++];
	**o = (struct ptx_operand){.pos = token_pos(p, &p->tok)};
	return true;
}

/* Coordinates written as one register become a vector of one element: engines see only vectors. */
static bool parse_coordinates(struct parser *p, struct ptx_operand *o)
{
	struct ptx_operand *e;

	if (!parse_operand(p, o))
		return false;
	if (o->kind == PTX_O_VEC)
		return true;
	e = arena_alloc(p->m->arena, 1, sizeof *e);
	if (!e) {
		parse_fail_memory(p);
		return false;
	}
	*e = *o;
	*o = (struct ptx_operand){.kind = PTX_O_VEC, .n = 1, .elem = e, .pos = e->pos};
	return true;
}

/* [texture, coordinates], [texture, sampler, coordinates], [surface, coordinates]. */
static bool parse_texture_address(struct parser *p, struct operands *ops, bool texture)
{
	struct ptx_operand *handle, *sampler = NULL, *coords;

	if (!operand_push(p, ops, &handle) || (texture && !operand_push(p, ops, &sampler)) ||
		!operand_push(p, ops, &coords))
		return false;
	if (!parse_expect(p, '[', "'['"))
		return false;
	if (!parse_address(p, handle) || !parse_expect(p, ',', "','"))
		return false;
	if (texture && p->tok.kind == T_IDENT) {
		struct parse_mark k;
		bool more;

		parse_mark(p, &k);
		if (!parse_address(p, sampler))
			return false;
		more = parse_accept(p, ',');
		if (!more) {
			parse_rewind(p, &k);
			*sampler = (struct ptx_operand){0};
		}
	}
	return parse_coordinates(p, coords) && parse_expect(p, ']', "']'");
}

static bool parse_label(struct parser *p, struct ptx_operand *o)
{
	struct label_fixup *f = arena_push(p->m->arena, p->fixups, p->nfixups, sizeof *f);

	if (!f) {
		parse_fail_memory(p);
		return false;
	}
	p->fixups = f;
	f[p->nfixups] = (struct label_fixup){.op = NULL, .name = p->tok, .scope = p->scope};
	*o = (struct ptx_operand){.kind = PTX_O_LABEL, .n = p->nfixups++, .pos = token_pos(p, &p->tok)};
	return parse_expect(p, T_IDENT, "a label");
}

static bool parse_label_list(struct parser *p, struct ptx_operand *o)
{
	struct token t = p->tok;
	struct ptx_name *n;

	if (!parse_expect(p, T_IDENT, "the name of a list of labels"))
		return false;
	n = parse_lookup(p, t.s, t.len);
	if (!n || n->kind != NAME_LABELS)
		return n ? (parse_fail(p, &t, "not a list of labels"), false) : fail_undeclared(p, &t);
	*o = (struct ptx_operand){.kind = PTX_O_LABELS, .n = n->n, .elem = n->targets, .pos = token_pos(p, &t)};
	return true;
}

static bool parse_one_operand(struct parser *p, const char *letter, struct operands *ops)
{
	struct ptx_operand *o;

	if (*letter == 't' || *letter == 's')
		return parse_texture_address(p, ops, *letter == 't');
	if (!operand_push(p, ops, &o))
		return false;
	if (*letter == 'l')
		return parse_label(p, o);
	if (*letter == 'L')
		return parse_label_list(p, o);
	return parse_operand(p, o);
}

bool parse_operands(struct parser *p, const struct op_row *row, struct operands *ops)
{
	const char *letter = row->operands;

	ops->n = 0;
	ops->bar = false;
	if (*letter == 'k')
		return parse_call(p, ops);
	while (p->tok.kind != ';' && !parse_failed(p)) {
		while (*letter == '?' || *letter == '|')
			letter++;
		if (!parse_one_operand(p, letter, ops))
			return false;
		if (*letter)
			letter++;
		if (p->tok.kind == '|') {
			if (ops->n != 1) {
				parse_fail(p, &p->tok, "'|' is allowed only after the first operand");
				return false;
			}
			parse_next(p);
			ops->bar = true;
			if (!parse_one_operand(p, "P", ops))
				return false;
		}
		if (!parse_accept(p, ','))
			break;
	}
	return !parse_failed(p);
}
