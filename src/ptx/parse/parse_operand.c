/* Operands: registers, literals, addresses, vectors, names. */
#include "ptx/parse/parse.h"

#include <string.h>

static uint32_t pos_of(const struct parser *p, const struct token *t)
{
	return t->s - p->m->text;
}

static bool undeclared(struct parser *p, const struct token *t)
{
	char buf[80];

	fail(p, t, "%s is not declared", tok_text(t, buf, sizeof buf));
	return false;
}

/* Each function and shared variable is listed once per body; the lists are short. */
void use_function(struct parser *p, struct ptx_function *callee, bool called)
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
		fail_memory(p);
		return;
	}
	f->callees = l;
	l[f->ncallees++] = callee;
}

void use_var(struct parser *p, struct ptx_var *v)
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
		fail_memory(p);
		return;
	}
	f->shared_used = l;
	l[f->nshared_used++] = v;
}

/* .x .y .z .w, and for registers the .r .g .b .a that mean the same. -1: no component. */
static int component(const struct token *t)
{
	static const char names[] = "xyzwrgba";
	const char *c;

	if (t->kind != T_DOT || t->len != 1)
		return -1;
	c = memchr(names, t->s[0], 8);
	return c ? (c - names) % 4 : -1;
}

/* .b0 .h1 .b7654 .h10: parts of a register, for the video instructions. */
static void selector(struct parser *p, struct ptx_operand *o)
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
	next(p);
}

static bool vector_register(struct parser *p, struct ptx_operand *o, const struct name *n)
{
	int c = component(&p->tok);

	if (c >= 0) {
		if (c >= n->vec) {
			fail(p, &p->tok, "the vector has only %u elements", n->vec);
			return false;
		}
		next(p);
		o->kind = PTX_O_REG;
		o->reg = n->regs[c];
		return true;
	}
	o->kind = PTX_O_VEC;
	o->n = n->vec;
	o->elem = arena_alloc(p->m->arena, n->vec, sizeof *o->elem);
	if (!o->elem) {
		fail_memory(p);
		return false;
	}
	for (unsigned i = 0; i < n->vec; i++)
		o->elem[i] = (struct ptx_operand){.kind = PTX_O_REG, .reg = n->regs[i], .pos = o->pos};
	return true;
}

static bool special_register(struct parser *p, struct ptx_operand *o, const struct token *t)
{
	bool dims;
	int sreg = table_sreg(t->s, t->len, &o->comp, &dims);
	int c = component(&p->tok);

	if (sreg < 0)
		return undeclared(p, t);
	o->kind = PTX_O_SREG;
	o->reg = sreg;
	if (!dims)
		return true;
	if (c < 0) {
		fail(p, t, "a component such as .x is needed");
		return false;
	}
	o->comp = c;
	next(p);
	return true;
}

/* What a name stands for, without any offset. */
static bool named(struct parser *p, struct ptx_operand *o)
{
	struct token t = p->tok;
	struct name *n;

	next(p);
	if (t.len == 1 && *t.s == '_') {
		o->kind = PTX_O_SINK;
		return true;
	}
	n = lookup(p, t.s, t.len);
	if (failed(p))
		return false;
	if (!n)
		return special_register(p, o, &t);
	switch (n->kind) {
	case NAME_REG:
		if (n->vec)
			return vector_register(p, o, n);
		o->kind = PTX_O_REG;
		o->reg = n->n;
		selector(p, o);
		return true;
	case NAME_VAR:
		o->kind = PTX_O_VAR;
		o->var = n->var;
		use_var(p, n->var);
		return !failed(p);
	case NAME_FUNC:
		o->kind = PTX_O_FUNC;
		o->fn = n->fn;
		use_function(p, n->fn, false);
		return !failed(p);
	}
	fail(p, &t, "a label cannot stand here");
	return false;
}

/* + 4, - 4, +-4 behind a name. */
static bool offset(struct parser *p, int64_t *imm)
{
	if (p->tok.kind != '+' && p->tok.kind != '-')
		return true;
	return parse_const(p, imm);
}

static bool literal(struct parser *p, struct ptx_operand *o)
{
	struct mark k;
	bool negative;

	o->kind = PTX_O_IMM;
	mark(p, &k);
	negative = accept(p, '-');
	if (p->tok.kind == T_F32 || p->tok.kind == T_F64) {
		o->n = p->tok.kind;
		o->imm = p->tok.u ^ (negative ? UINT64_C(1) << (p->tok.kind == T_F32 ? 31 : 63) : 0);
		next(p);
		return true;
	}
	back(p, &k);
	o->n = T_INT;
	return parse_const(p, &o->imm);
}

/* The inside of [ ] up to its end or a comma: register, variable or number, with an offset. */
static bool address(struct parser *p, struct ptx_operand *o)
{
	struct token at = p->tok;

	o->reg = PTX_NOREG;
	if (p->tok.kind != T_IDENT) {
		o->kind = PTX_O_ADDR;
		return parse_const(p, &o->imm);
	}
	if (!named(p, o))
		return false;
	if (o->kind != PTX_O_REG && o->kind != PTX_O_VAR) {
		fail(p, &at, "an address needs a register, a variable or a number");
		return false;
	}
	if (o->kind == PTX_O_VAR)
		o->reg = PTX_NOREG;
	o->kind = PTX_O_ADDR;
	return offset(p, &o->imm);
}

static bool vector(struct parser *p, struct ptx_operand *o)
{
	struct ptx_operand *e;

	o->kind = PTX_O_VEC;
	next(p);
	while (p->tok.kind != '}') {
		struct token at = p->tok;

		e = arena_push(p->m->arena, o->elem, o->n, sizeof *e);
		if (!e) {
			fail_memory(p);
			return false;
		}
		o->elem = e;
		e += o->n++;
		*e = (struct ptx_operand){.pos = pos_of(p, &at)};
		if (o->n > 256 || p->tok.kind == '{' || p->tok.kind == '[') {
			fail(p, &at, "not possible inside a vector");
			return false;
		}
		if (!parse_operand(p, e))
			return false;
		if (!accept(p, ','))
			break;
	}
	return expect(p, '}', "'}'");
}

/* -%r1 (vmad): steps over the sign if a name stands behind it. */
static bool negated_name(struct parser *p)
{
	struct mark k;

	mark(p, &k);
	next(p);
	if (p->tok.kind == T_IDENT && !tok_is(&p->tok, T_IDENT, "WARP_SZ"))
		return true;
	back(p, &k);
	return false;
}

bool parse_operand(struct parser *p, struct ptx_operand *o)
{
	*o = (struct ptx_operand){.pos = pos_of(p, &p->tok)};
	switch (p->tok.kind) {
	case '{':
		return vector(p, o);
	case '[':
		next(p);
		return address(p, o) && expect(p, ']', "']'");
	case '-':
		if (negated_name(p)) {
			o->neg = 1;
			return named(p, o);
		}
		break;
	case '!':
		next(p);
		if (p->tok.kind != T_IDENT) {
			fail(p, &p->tok, "expected a predicate after '!'");
			return false;
		}
		o->neg = 1;
		return named(p, o);
	case T_IDENT:
		if (tok_is(&p->tok, T_IDENT, "WARP_SZ"))
			return literal(p, o);
		if (!named(p, o))
			return false;
		return o->kind != PTX_O_VAR || offset(p, &o->imm);
	}
	return literal(p, o);
}

static bool push(struct parser *p, struct operands *ops, struct ptx_operand **o)
{
	if (ops->n == PTX_MAX_OPERANDS) {
		fail(p, &p->tok, "too many operands");
		return false;
	}
	*o = &ops->op[ops->n++];
	**o = (struct ptx_operand){.pos = pos_of(p, &p->tok)};
	return true;
}

/* Coordinates may be one register; an engine always sees a vector. */
static bool coordinates(struct parser *p, struct ptx_operand *o)
{
	struct ptx_operand *e;

	if (!parse_operand(p, o))
		return false;
	if (o->kind == PTX_O_VEC)
		return true;
	e = arena_alloc(p->m->arena, 1, sizeof *e);
	if (!e) {
		fail_memory(p);
		return false;
	}
	*e = *o;
	*o = (struct ptx_operand){.kind = PTX_O_VEC, .n = 1, .elem = e, .pos = e->pos};
	return true;
}

/* [texture, coordinates], [texture, sampler, coordinates], [surface, coordinates]. */
static bool texture_address(struct parser *p, struct operands *ops, bool texture)
{
	struct ptx_operand *handle, *sampler = NULL, *coords;

	if (!push(p, ops, &handle) || (texture && !push(p, ops, &sampler)) || !push(p, ops, &coords))
		return false;
	if (!expect(p, '[', "'['"))
		return false;
	if (!address(p, handle) || !expect(p, ',', "','"))
		return false;
	if (texture && p->tok.kind == T_IDENT) {
		struct mark k;
		bool more;

		mark(p, &k);
		if (!address(p, sampler))
			return false;
		more = accept(p, ',');
		if (!more) {
			back(p, &k);
			*sampler = (struct ptx_operand){0};
		}
	}
	return coordinates(p, coords) && expect(p, ']', "']'");
}

static bool label(struct parser *p, struct ptx_operand *o)
{
	struct fixup *f = arena_push(p->m->arena, p->fixups, p->nfixups, sizeof *f);

	if (!f) {
		fail_memory(p);
		return false;
	}
	p->fixups = f;
	f[p->nfixups] = (struct fixup){.op = NULL, .name = p->tok, .scope = p->scope};
	*o = (struct ptx_operand){.kind = PTX_O_LABEL, .n = p->nfixups++, .pos = pos_of(p, &p->tok)};
	return expect(p, T_IDENT, "a label");
}

static bool label_list(struct parser *p, struct ptx_operand *o)
{
	struct token t = p->tok;
	struct name *n;

	if (!expect(p, T_IDENT, "the name of a list of labels"))
		return false;
	n = lookup(p, t.s, t.len);
	if (!n || n->kind != NAME_LABELS)
		return n ? (fail(p, &t, "not a list of labels"), false) : undeclared(p, &t);
	*o = (struct ptx_operand){.kind = PTX_O_LABELS, .n = n->n, .elem = n->targets, .pos = pos_of(p, &t)};
	return true;
}

static bool one(struct parser *p, const char *letter, struct operands *ops)
{
	struct ptx_operand *o;

	if (*letter == 't' || *letter == 's')
		return texture_address(p, ops, *letter == 't');
	if (!push(p, ops, &o))
		return false;
	if (*letter == 'l')
		return label(p, o);
	if (*letter == 'L')
		return label_list(p, o);
	return parse_operand(p, o);
}

/* All operands up to the semicolon. The row is needed only where the same text would mean different things.
 */
bool parse_operands(struct parser *p, const struct op_row *row, struct operands *ops)
{
	const char *letter = row->operands;

	ops->n = 0;
	ops->bar = false;
	if (*letter == 'k')
		return parse_call(p, ops);
	while (p->tok.kind != ';' && !failed(p)) {
		while (*letter == '?' || *letter == '|')
			letter++;
		if (!one(p, letter, ops))
			return false;
		if (*letter)
			letter++;
		if (p->tok.kind == '|') {
			if (ops->n != 1) {
				fail(p, &p->tok, "'|' is possible only behind the first operand");
				return false;
			}
			next(p);
			ops->bar = true;
			if (!one(p, "P", ops))
				return false;
		}
		if (!accept(p, ','))
			break;
	}
	return !failed(p);
}
