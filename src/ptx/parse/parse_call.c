/* call (returns), callee, (arguments), prototype; each part but the callee may be missing. */
#include "ptx/parse/parse.h"

static bool list(struct parser *p, struct ptx_operand *o)
{
	struct ptx_operand *e;

	*o = (struct ptx_operand){.kind = PTX_O_VEC, .pos = p->tok.s - p->m->text};
	next(p);
	while (p->tok.kind != ')' && !failed(p)) {
		e = arena_push(p->m->arena, o->elem, o->n, sizeof *e);
		if (!e) {
			fail_memory(p);
			return false;
		}
		o->elem = e;
		if (!parse_operand(p, &e[o->n++]))
			return false;
		if (!accept(p, ','))
			break;
	}
	return expect(p, ')', "')'");
}

static bool callee(struct parser *p, struct ptx_operand *o)
{
	struct token t = p->tok;
	struct name *n;
	char buf[80];

	*o = (struct ptx_operand){.kind = PTX_O_FUNC, .pos = t.s - p->m->text};
	if (!expect(p, T_IDENT, "a function"))
		return false;
	n = lookup(p, t.s, t.len);
	if (failed(p))
		return false;
	if (!n) {
		fail(p, &t, "%s is not declared", tok_text(&t, buf, sizeof buf));
	} else if (n->kind == NAME_FUNC) {
		o->fn = n->fn;
		use_function(p, n->fn, true);
	} else if (n->kind == NAME_REG && !n->vec) {
		o->kind = PTX_O_REG;
		o->reg = n->n;
		p->f->has_indirect_call = true;
	} else {
		fail(p, &t, "%s cannot be called", tok_text(&t, buf, sizeof buf));
	}
	return !failed(p);
}

static bool prototype(struct parser *p, struct ptx_operand *o)
{
	struct token t = p->tok;
	struct name *n;
	char buf[80];

	if (!expect(p, T_IDENT, "a prototype"))
		return false;
	n = lookup(p, t.s, t.len);
	if (failed(p))
		return false;
	if (!n || n->kind != NAME_PROTO) {
		fail(p, &t, "%s is no prototype", tok_text(&t, buf, sizeof buf));
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
	if (p->tok.kind == '(' && (!list(p, &o[1]) || !expect(p, ',', "','")))
		return false;
	if (!callee(p, &o[0]))
		return false;
	if (accept(p, ',')) {
		if (p->tok.kind == '(') {
			if (!list(p, &o[2]))
				return false;
			if (!accept(p, ','))
				return true;
		}
		ops->n = 4;
		return prototype(p, &o[3]);
	}
	return true;
}
