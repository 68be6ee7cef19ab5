/* Parses the operands of a call: call (returns), callee, (arguments), prototype. Only the callee is mandatory. */
#include "ptx/parse/parse.h"

static bool call_list_push(struct parser *p, struct ptx_operand *o, const struct ptx_operand *e)
{
	struct ptx_operand *l = arena_push(p->m->arena, o->elem, o->n, sizeof *l);

	if (!l) {
		parse_fail_memory(p);
		return false;
	}
	o->elem = l;
	l[o->n++] = *e;
	return true;
}

/* A vector register stands for its elements, as in the signature. */
static bool parse_call_list(struct parser *p, struct ptx_operand *o)
{
	struct ptx_operand e;

	*o = (struct ptx_operand){.kind = PTX_O_VEC, .pos = p->tok.s - p->m->text};
	parse_next(p);
	while (p->tok.kind != ')' && !parse_failed(p)) {
		if (!parse_operand(p, &e))
			return false;
		if (e.kind != PTX_O_VEC && !call_list_push(p, o, &e))
			return false;
		for (uint32_t i = 0; e.kind == PTX_O_VEC && i < e.n; i++)
			if (!call_list_push(p, o, &e.elem[i]))
				return false;
		if (!parse_accept(p, ','))
			break;
	}
	return parse_expect(p, ')', "')'");
}

static bool parse_callee(struct parser *p, struct ptx_operand *o)
{
	struct token t = p->tok;
	struct ptx_name *n;
	char buf[80];

	*o = (struct ptx_operand){.kind = PTX_O_FUNC, .pos = t.s - p->m->text};
	if (!parse_expect(p, T_IDENT, "a function"))
		return false;
	n = parse_lookup(p, t.s, t.len);
	if (parse_failed(p))
		return false;
	if (!n) {
		parse_fail(p, &t, "%s is not declared", token_text(&t, buf, sizeof buf));
	} else if (n->kind == NAME_FUNC) {
		o->fn = n->fn;
		parse_use_function(p, n->fn, true);
	} else if (n->kind == NAME_REG && !n->vec) {
		o->kind = PTX_O_REG;
		o->reg = n->n;
		p->f->has_indirect_call = true;
	} else {
		parse_fail(p, &t, "%s cannot be called", token_text(&t, buf, sizeof buf));
	}
	return !parse_failed(p);
}

static bool parse_call_prototype(struct parser *p, struct ptx_operand *o)
{
	struct token t = p->tok;
	struct ptx_name *n;
	char buf[80];

	if (!parse_expect(p, T_IDENT, "a prototype"))
		return false;
	n = parse_lookup(p, t.s, t.len);
	if (parse_failed(p))
		return false;
	if (!n || n->kind != NAME_PROTO) {
		parse_fail(p, &t, "%s is not a prototype", token_text(&t, buf, sizeof buf));
		return false;
	}
	*o = (struct ptx_operand){.kind = PTX_O_PROTO, .proto = n->proto, .pos = t.s - p->m->text};
	return true;
}

bool parse_call(struct parser *p, struct operands *ops)
{
	struct ptx_operand *o = ops->op;

	o[1] = o[2] = (struct ptx_operand){.kind = PTX_O_VEC};
	ops->n = 3;
	if (p->tok.kind == '(' && (!parse_call_list(p, &o[1]) || !parse_expect(p, ',', "','")))
		return false;
	if (!parse_callee(p, &o[0]))
		return false;
	if (parse_accept(p, ',')) {
		if (p->tok.kind == '(') {
			if (!parse_call_list(p, &o[2]))
				return false;
			if (!parse_accept(p, ','))
				return true;
		}
		ops->n = 4;
		return parse_call_prototype(p, &o[3]);
	}
	return true;
}
