/* Bodies: scopes, declarations inside functions, labels. */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <string.h>

static void open_scope(struct parser *p)
{
	uint32_t *l = arena_push(p->m->arena, p->parents, p->nscopes, sizeof *l);

	if (p->depth++ == MAX_SCOPES) {
		fail(p, &p->tok, "blocks are nested too deeply");
		return;
	}
	if (!l) {
		fail_memory(p);
		return;
	}
	p->parents = l;
	l[p->nscopes] = p->scope;
	p->scope = p->nscopes++;
}

static void close_scope(struct parser *p)
{
	p->scope = p->parents[p->scope];
	p->depth--;
}

static void declare_vector_reg(struct parser *p, struct name *n, const struct token *t, unsigned type, unsigned vec)
{
	n->vec = vec;
	n->regs = arena_alloc(p->m->arena, vec, sizeof *n->regs);
	if (!n->regs) {
		fail_memory(p);
		return;
	}
	for (unsigned i = 0; i < vec; i++) {
		char *name = arena_alloc(p->m->arena, t->len + 3, 1);

		if (!name) {
			fail_memory(p);
			return;
		}
		memcpy(name, t->s, t->len);
		name[t->len] = '.';
		name[t->len + 1] = "xyzw"[i];
		n->regs[i] = new_reg(p, name, type);
	}
}

static void declare_reg(struct parser *p, const struct token *t, unsigned type, unsigned vec)
{
	struct name *n;
	int64_t count;

	if (accept(p, '<')) {
		struct token at = p->tok;

		if (p->tok.kind != T_INT) {
			fail(p, &at, "expected a number of registers");
			return;
		}
		count = p->tok.u > INT32_MAX ? -1 : (int64_t)p->tok.u;
		next(p);
		if (!expect(p, '>', "'>'"))
			return;
		if (count < 0 || vec) {
			fail(p, &at, vec ? "vector registers cannot be a range" : "too many registers");
			return;
		}
		n = declare(p, t, NAME_RANGE);
		if (n) {
			n->type = type;
			n->n = count;
		}
		return;
	}
	n = declare(p, t, NAME_REG);
	if (!n)
		return;
	n->type = type;
	if (vec)
		declare_vector_reg(p, n, t, type, vec);
	else
		n->n = new_reg(p, tok_name(p, t), type);
}

/* .reg .b32 %r<10>, x; */
static void parse_regs(struct parser *p)
{
	unsigned type = 0, vec = 0;
	struct token t;
	char buf[80];

	for (; p->tok.kind == T_DOT; next(p)) {
		int found = table_type(p->tok.s, p->tok.len);

		if (found > 0 && !type && ptx_type_kind(found) != PTX_KIND_OPAQUE)
			type = found;
		else if (!vec && (tok_is(&p->tok, T_DOT, "v2") || tok_is(&p->tok, T_DOT, "v4")))
			vec = p->tok.s[1] - '0';
		else {
			fail(p, &p->tok, "%s is no type of a register", tok_text(&p->tok, buf, sizeof buf));
			return;
		}
	}
	if (!type) {
		fail(p, &p->tok, "declaration has no type");
		return;
	}
	do {
		t = p->tok;
		if (!expect(p, T_IDENT, "a register name"))
			return;
		declare_reg(p, &t, type, vec);
	} while (accept(p, ','));
	expect(p, ';', "';'");
}

static void place_var(struct parser *p, struct ptx_var *v)
{
	struct ptx_function *f = p->f;
	uint64_t *end = v->space == PTX_LOCAL ? &f->local_size : v->space == PTX_PARAM ? &f->param_frame_size : NULL;

	if (!end)
		return;
	if (v->unsized)
		v->size = 0;
	v->offset = align_up(*end, v->align);
	*end = v->offset + v->size;
	if (*end >> 31) {
		struct token at = {.line = v->line, .column = 1};

		fail(p, &at, "frame is too large");
	}
	if (v->space == PTX_LOCAL && v->align > f->local_align)
		f->local_align = v->align;
}

static void parse_local_var(struct parser *p, unsigned space, unsigned linkage)
{
	struct ptx_var *v, first = {0};
	struct token name;
	struct name *n;

	do {
		v = parse_var_like(p, space, linkage, &name, &first);
		if (!v)
			return;
		if (accept(p, '='))
			parse_init(p, v);
		if (v->unsized)
			v->size = 0;
		n = failed(p) ? NULL : declare(p, &name, NAME_VAR);
		if (!n)
			return;
		n->var = v;
		place_var(p, v);
		*p->vars_end = v;
		p->vars_end = &v->next;
	} while (accept(p, ','));
	expect(p, ';', "';'");
}

/* name: .branchtargets L0, L1; */
static void parse_branch_targets(struct parser *p, struct name *n)
{
	struct token *names = NULL, *l;

	n->kind = NAME_LABELS;
	do {
		l = arena_push(p->m->arena, names, n->n, sizeof *l);
		if (!l) {
			fail_memory(p);
			return;
		}
		names = l;
		l[n->n++] = p->tok;
		if (!expect(p, T_IDENT, "a label"))
			return;
	} while (accept(p, ','));
	n->targets = arena_alloc(p->m->arena, n->n, sizeof *n->targets);
	for (uint32_t i = 0; n->targets && i < n->n; i++) {
		struct fixup *f = arena_push(p->m->arena, p->fixups, p->nfixups, sizeof *f);

		if (!f) {
			fail_memory(p);
			return;
		}
		p->fixups = f;
		f[p->nfixups++] = (struct fixup){&n->targets[i], names[i], p->scope};
		n->targets[i].kind = PTX_O_LABEL;
	}
	if (!n->targets)
		fail_memory(p);
}

static void parse_call_targets(struct parser *p, struct ptx_proto *proto)
{
	do {
		struct ptx_function **l;
		struct name *n = p->tok.kind == T_IDENT ? names_find(p->m->names, 0, p->tok.s, p->tok.len) : NULL;
		char buf[80];

		if (!n || n->kind != NAME_FUNC) {
			fail(p, &p->tok, "%s is no function", tok_text(&p->tok, buf, sizeof buf));
			return;
		}
		l = arena_push(p->m->arena, proto->targets, proto->ntargets, sizeof *l);
		if (!l) {
			fail_memory(p);
			return;
		}
		proto->targets = l;
		l[proto->ntargets++] = n->fn;
		use_function(p, n->fn, false);
		next(p);
	} while (accept(p, ','));
}

/* name: .callprototype (.param .b32 _) _ (.param .b64 _); */
static void parse_prototype(struct parser *p, struct ptx_proto *proto)
{
	if (p->tok.kind == '(' && !parse_signature(p, &proto->rets, &proto->nrets))
		return;
	if (!expect(p, T_IDENT, "'_'"))
		return;
	if (p->tok.kind == '(' && !parse_signature(p, &proto->params, &proto->nparams))
		return;
	while (p->tok.kind == T_DOT) {
		if (tok_is(&p->tok, T_DOT, "noreturn"))
			proto->noreturn = true;
		next(p);
		accept(p, T_INT);
	}
}

/* At "name :". */
static void parse_label_or_list(struct parser *p)
{
	struct token t = p->tok;
	struct name *n;

	next(p);
	next(p);
	n = declare(p, &t, NAME_LABEL);
	if (!n)
		return;
	n->n = p->last_label = p->f->ninsts;
	if (tok_is(&p->tok, T_DOT, "branchtargets")) {
		next(p);
		n->n = 0;
		parse_branch_targets(p, n);
	} else if (tok_is(&p->tok, T_DOT, "calltargets") || tok_is(&p->tok, T_DOT, "callprototype")) {
		bool targets = tok_is(&p->tok, T_DOT, "calltargets");

		next(p);
		n->kind = NAME_PROTO;
		n->proto = arena_alloc(p->m->arena, 1, sizeof *n->proto);
		if (!n->proto) {
			fail_memory(p);
			return;
		}
		n->proto->name = tok_name(p, &t);
		if (targets)
			parse_call_targets(p, n->proto);
		else
			parse_prototype(p, n->proto);
	} else {
		return;
	}
	expect(p, ';', "';'");
}

static bool at_label(struct parser *p)
{
	const char *s = p->cur;

	if (p->tok.kind != T_IDENT)
		return false;
	while (s < p->end && (*s == ' ' || *s == '\t'))
		s++;
	return s < p->end && *s == ':';
}

/* .loc file line column[, function_name ..., inlined_at ...]: there is no semicolon. */
static void parse_loc(struct parser *p)
{
	uint32_t line = p->tok.line;

	next(p);
	if (p->tok.kind == T_INT && p->tok.line == line) {
		p->loc_file = p->tok.u;
		next(p);
	}
	if (p->tok.kind == T_INT && p->tok.line == line)
		p->loc_line = p->tok.u;
	while (p->tok.kind != T_EOF && p->tok.line == line)
		next(p);
}

static void parse_pragma(struct parser *p)
{
	next(p);
	while (p->tok.kind == T_STRING || p->tok.kind == ',')
		next(p);
	accept(p, ';');
}

static void parse_inner_directive(struct parser *p)
{
	unsigned linkage = accept_word(p, "extern") ? PTX_LINK_EXTERN : PTX_LINK_STATIC;
	struct token t = p->tok;
	char buf[80];

	if (accept_word(p, "reg"))
		parse_regs(p);
	else if (accept_word(p, "local"))
		parse_local_var(p, PTX_LOCAL, linkage);
	else if (accept_word(p, "shared"))
		parse_local_var(p, PTX_SHARED, linkage);
	else if (accept_word(p, "param"))
		parse_local_var(p, PTX_PARAM, linkage);
	else if (tok_is(&t, T_DOT, "loc"))
		parse_loc(p);
	else if (tok_is(&t, T_DOT, "pragma"))
		parse_pragma(p);
	else
		fail(p, &t, "%s is not expected inside a function", tok_text(&t, buf, sizeof buf));
}

static void parse_statement(struct parser *p)
{
	if (p->tok.kind == '{') {
		open_scope(p);
		next(p);
	} else if (p->tok.kind == '}') {
		if (p->depth <= 1)
			fail(p, &p->tok, "'}' without '{'");
		else
			close_scope(p);
		next(p);
	} else if (at_label(p)) {
		parse_label_or_list(p);
	} else if (p->tok.kind == T_DOT) {
		parse_inner_directive(p);
	} else if (!accept(p, ';')) {
		parse_instruction(p);
	}
}

static void declare_params(struct parser *p, struct ptx_var **list, uint32_t n)
{
	for (uint32_t i = 0; i < n && !failed(p); i++) {
		struct token t = {.kind = T_IDENT, .s = list[i]->name, .len = strlen(list[i]->name)};
		struct name *name;

		t.line = list[i]->line;
		t.column = 1;
		if (t.len == 1 && *t.s == '_')
			continue;
		name = declare(p, &t, list[i]->space == PTX_REGSPACE ? NAME_REG : NAME_VAR);
		if (!name)
			return;
		list[i]->owner = p->f;
		if (name->kind == NAME_VAR) {
			name->var = list[i];
			continue;
		}
		name->type = list[i]->type;
		name->n = list[i]->reg = new_reg(p, list[i]->name, list[i]->type);
	}
}

static void resolve_labels(struct parser *p)
{
	for (uint32_t i = 0; i < p->nfixups; i++) {
		struct fixup *x = &p->fixups[i];
		struct name *n = NULL;
		char buf[80];

		for (uint32_t s = x->scope; s && !n; s = p->parents[s])
			n = names_find(p->names, s, x->name.s, x->name.len);
		if (!n || n->kind != NAME_LABEL) {
			fail(p, &x->name, "%s is no label", tok_text(&x->name, buf, sizeof buf));
			return;
		}
		if (x->op) {
			x->op->reg = n->n;
			x->op->n = 0;
		}
	}
}

/* Running off the end returns. */
static void end_body(struct parser *p)
{
	struct ptx_inst ret = {.op = PTX_OP_ret, .guard = PTX_NOREG, .line = p->line};
	struct ptx_function *f = p->f;

	if (!f->ninsts || p->last_label == f->ninsts || !ptx_inst_ends(&f->insts[f->ninsts - 1]))
		emit(p, &ret);
}

void parse_body(struct parser *p)
{
	struct ptx_function *f = p->f;

	p->names = names_create(p->m->arena);
	p->vars_end = &f->vars;
	p->nscopes = 0;
	open_scope(p); /* number 0 is the module, so that parents[] can be indexed by scope */
	p->depth = 0;
	open_scope(p);
	if (!p->names)
		fail_memory(p);
	declare_params(p, f->rets, f->nrets);
	declare_params(p, f->params, f->nparams);
	while (p->tok.kind != T_EOF && !failed(p))
		parse_statement(p);
	if (!failed(p) && p->depth > 1)
		fail(p, &p->tok, "'{' is not closed");
	if (!failed(p))
		end_body(p);
	if (!failed(p))
		resolve_labels(p);
	names_free(p->names);
}

static int out_of_memory(struct ptx_function *f)
{
	f->error = (struct ptx_error){.line = f->line, .column = 1, .message = "out of memory"};
	return -ENOMEM;
}

int ptx_function_body(struct ptx_function *f)
{
	struct parser p;

	if (f->state & STATE_FAILED)
		return -EINVAL;
	if (f->state & STATE_BODY)
		return 0;
	if (!f->is_defined)
		return -ENOENT;
	lex_start(&p, f->module, &f->error, f->body_start, f->body_end, f->body_line, f->body_column);
	p.f = f;
	parse_body(&p);
	if (p.nomem || f->error.line) {
		f->state |= STATE_FAILED;
		return p.nomem ? out_of_memory(f) : -EINVAL;
	}
	f->state |= STATE_BODY;
	return 0;
}
