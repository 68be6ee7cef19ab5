/* Parses function bodies: scopes, declarations, labels and lists of labels; the instructions are in parse_inst.c. */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <string.h>

static void open_scope(struct parser *p)
{
	uint32_t *l = arena_push(p->m->arena, p->parents, p->nscopes, sizeof *l);

	if (p->depth++ == MAX_SCOPES) {
		parse_fail(p, &p->tok, "blocks are nested too deeply");
		return;
	}
	if (!l) {
		parse_fail_memory(p);
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

void parse_declare_vector(struct parser *p, struct ptx_name *n, const struct token *t, unsigned type, unsigned vec)
{
	n->kind = NAME_REG;
	n->type = type;
	n->vec = vec;
	n->regs = arena_alloc(p->m->arena, vec, sizeof *n->regs);
	if (!n->regs) {
		parse_fail_memory(p);
		return;
	}
	for (unsigned i = 0; i < vec; i++) {
		char *name = arena_alloc(p->m->arena, t->len + 3, 1);

		if (!name) {
			parse_fail_memory(p);
			return;
		}
		memcpy(name, t->s, t->len);
		name[t->len] = '.';
		name[t->len + 1] = "xyzw"[i];
		n->regs[i] = parse_new_reg(p, name, type);
	}
}

static void declare_reg(struct parser *p, const struct token *t, unsigned type, unsigned vec)
{
	struct ptx_name *n;
	int64_t count;

	if (parse_accept(p, '<')) {
		struct token at = p->tok;

		if (p->tok.kind != T_INT) {
			parse_fail(p, &at, "expected a number of registers");
			return;
		}
		count = p->tok.u > INT32_MAX ? -1 : (int64_t)p->tok.u;
		parse_next(p);
		if (!parse_expect(p, '>', "'>'"))
			return;
		if (count < 0) {
			parse_fail(p, &at, "too many registers");
			return;
		}
		n = parse_declare(p, t, NAME_RANGE);
		if (n) {
			n->type = type;
			n->vec = vec;
			n->n = count;
		}
		return;
	}
	n = parse_declare(p, t, NAME_REG);
	if (!n)
		return;
	n->type = type;
	if (vec)
		parse_declare_vector(p, n, t, type, vec);
	else
		n->n = parse_new_reg(p, token_copy(p, t), type);
}

/* .reg .b32 %r<10>, x; */
static void parse_regs(struct parser *p)
{
	unsigned type = 0, vec = 0;
	struct token t;
	char buf[80];

	for (; p->tok.kind == T_DOT; parse_next(p)) {
		int found = table_type(p->tok.s, p->tok.len);

		if (found > 0 && !type && ptx_type_kind(found) != PTX_KIND_OPAQUE)
			type = found;
		else if (!vec && (token_is(&p->tok, T_DOT, "v2") || token_is(&p->tok, T_DOT, "v4")))
			vec = p->tok.s[1] - '0';
		else {
			parse_fail(p, &p->tok, "%s is not a register type", token_text(&p->tok, buf, sizeof buf));
			return;
		}
	}
	if (!type) {
		parse_fail(p, &p->tok, "declaration has no type");
		return;
	}
	do {
		t = p->tok;
		if (!parse_expect(p, T_IDENT, "a register name"))
			return;
		declare_reg(p, &t, type, vec);
	} while (parse_accept(p, ','));
	parse_expect(p, ';', "';'");
}

static void place_var(struct parser *p, struct ptx_var *v)
{
	struct ptx_function *f = p->f;
	uint64_t *end = v->space == PTX_LOCAL ? &f->local_size : v->space == PTX_PARAM ? &f->param_frame_size : NULL;

	if (!end)
		return;
	if (v->unsized)
		v->size = 0;
	v->offset = ptx_align_up(*end, v->align);
	*end = v->offset + v->size;
	if (*end >> 31) {
		struct token at = {.line = v->line, .column = 1};

		parse_fail(p, &at, "frame is too large");
	}
	if (v->space == PTX_LOCAL && v->align > f->local_align)
		f->local_align = v->align;
}

static void parse_local_var(struct parser *p, unsigned space, unsigned linkage)
{
	struct ptx_var *v, first = {0};
	struct token name;
	struct ptx_name *n;

	do {
		v = parse_var_like(p, space, linkage, &name, &first);
		if (!v)
			return;
		if (parse_accept(p, '='))
			parse_init(p, v);
		if (v->unsized)
			v->size = 0;
		n = parse_failed(p) ? NULL : parse_declare(p, &name, NAME_VAR);
		if (!n)
			return;
		n->var = v;
		place_var(p, v);
		*p->vars_end = v;
		p->vars_end = &v->next;
	} while (parse_accept(p, ','));
	parse_expect(p, ';', "';'");
}

/* name: .branchtargets L0, L1; */
static void parse_branch_targets(struct parser *p, struct ptx_name *n)
{
	struct token *names = NULL, *l;

	n->kind = NAME_LABELS;
	do {
		l = arena_push(p->m->arena, names, n->n, sizeof *l);
		if (!l) {
			parse_fail_memory(p);
			return;
		}
		names = l;
		l[n->n++] = p->tok;
		if (!parse_expect(p, T_IDENT, "a label"))
			return;
	} while (parse_accept(p, ','));
	n->targets = arena_alloc(p->m->arena, n->n, sizeof *n->targets);
	for (uint32_t i = 0; n->targets && i < n->n; i++) {
		struct label_fixup *f = arena_push(p->m->arena, p->fixups, p->nfixups, sizeof *f);

		if (!f) {
			parse_fail_memory(p);
			return;
		}
		p->fixups = f;
		f[p->nfixups++] = (struct label_fixup){&n->targets[i], names[i], p->scope};
		n->targets[i].kind = PTX_O_LABEL;
	}
	if (!n->targets)
		parse_fail_memory(p);
}

static void parse_call_targets(struct parser *p, struct ptx_proto *proto)
{
	do {
		struct ptx_function **l;
		struct ptx_name *n = p->tok.kind == T_IDENT ? names_find(p->m->names, 0, p->tok.s, p->tok.len) : NULL;
		char buf[80];

		if (!n || n->kind != NAME_FUNC) {
			parse_fail(p, &p->tok, "%s is not a function", token_text(&p->tok, buf, sizeof buf));
			return;
		}
		l = arena_push(p->m->arena, proto->targets, proto->ntargets, sizeof *l);
		if (!l) {
			parse_fail_memory(p);
			return;
		}
		proto->targets = l;
		l[proto->ntargets++] = n->fn;
		parse_use_function(p, n->fn, false);
		parse_next(p);
	} while (parse_accept(p, ','));
}

/* name: .callprototype (.param .b32 _) _ (.param .b64 _); */
static void parse_prototype(struct parser *p, struct ptx_proto *proto)
{
	if (p->tok.kind == '(' && !parse_signature(p, &proto->rets, &proto->nrets))
		return;
	if (!parse_expect(p, T_IDENT, "'_'"))
		return;
	if (p->tok.kind == '(' && !parse_signature(p, &proto->params, &proto->nparams))
		return;
	while (p->tok.kind == T_DOT) {
		if (token_is(&p->tok, T_DOT, "noreturn"))
			proto->noreturn = true;
		parse_next(p);
		parse_accept(p, T_INT);
	}
}

/* At "name :": a label, or the name of a list of labels, of call targets or of a prototype. */
static void parse_label_or_list(struct parser *p)
{
	struct token t = p->tok;
	struct ptx_name *n;

	parse_next(p);
	parse_next(p);
	n = parse_declare(p, &t, NAME_LABEL);
	if (!n)
		return;
	n->n = p->last_label = p->f->ninsts;
	if (token_is(&p->tok, T_DOT, "branchtargets")) {
		parse_next(p);
		n->n = 0;
		parse_branch_targets(p, n);
	} else if (token_is(&p->tok, T_DOT, "calltargets") || token_is(&p->tok, T_DOT, "callprototype")) {
		bool targets = token_is(&p->tok, T_DOT, "calltargets");

		parse_next(p);
		n->kind = NAME_PROTO;
		n->proto = arena_alloc(p->m->arena, 1, sizeof *n->proto);
		if (!n->proto) {
			parse_fail_memory(p);
			return;
		}
		n->proto->name = token_copy(p, &t);
		if (targets)
			parse_call_targets(p, n->proto);
		else
			parse_prototype(p, n->proto);
	} else {
		return;
	}
	parse_expect(p, ';', "';'");
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

/* .loc file line column[, function_name ..., inlined_at ...] ends with the line, not with a semicolon. */
static void parse_loc(struct parser *p)
{
	uint32_t line = p->tok.line;

	parse_next(p);
	if (p->tok.kind == T_INT && p->tok.line == line) {
		p->loc_file = p->tok.u;
		parse_next(p);
	}
	if (p->tok.kind == T_INT && p->tok.line == line)
		p->loc_line = p->tok.u;
	while (p->tok.kind != T_EOF && p->tok.line == line)
		parse_next(p);
}

static void parse_pragma(struct parser *p)
{
	parse_next(p);
	while (p->tok.kind == T_STRING || p->tok.kind == ',')
		parse_next(p);
	parse_accept(p, ';');
}

static void parse_inner_directive(struct parser *p)
{
	unsigned linkage = parse_accept_word(p, "extern") ? PTX_LINK_EXTERN : PTX_LINK_STATIC;
	struct token t = p->tok;
	char buf[80];

	if (parse_accept_word(p, "reg"))
		parse_regs(p);
	else if (parse_accept_word(p, "local"))
		parse_local_var(p, PTX_LOCAL, linkage);
	else if (parse_accept_word(p, "shared"))
		parse_local_var(p, PTX_SHARED, linkage);
	else if (parse_accept_word(p, "param"))
		parse_local_var(p, PTX_PARAM, linkage);
	else if (token_is(&t, T_DOT, "global") || token_is(&t, T_DOT, "const"))
		inner_var_parse(p);
	else if (token_is(&t, T_DOT, "loc"))
		parse_loc(p);
	else if (token_is(&t, T_DOT, "pragma"))
		parse_pragma(p);
	else
		parse_fail(p, &t, "%s is not expected inside a function", token_text(&t, buf, sizeof buf));
}

static void parse_statement(struct parser *p)
{
	if (p->tok.kind == '{') {
		open_scope(p);
		parse_next(p);
	} else if (p->tok.kind == '}') {
		if (p->depth <= 1)
			parse_fail(p, &p->tok, "'}' without '{'");
		else
			close_scope(p);
		parse_next(p);
	} else if (at_label(p)) {
		parse_label_or_list(p);
	} else if (p->tok.kind == T_DOT) {
		parse_inner_directive(p);
	} else if (!parse_accept(p, ';')) {
		parse_instruction(p);
	}
}

/* The registers of a parameter; a vector has an entry of the list for each element. */
static void declare_param_regs(struct parser *p, struct ptx_name *name, const struct token *t, struct ptx_var **list)
{
	struct ptx_var *v = list[0];

	name->type = v->type;
	if (!v->vec) {
		name->n = v->reg = parse_new_reg(p, v->name, v->type);
		return;
	}
	parse_declare_vector(p, name, t, v->type, v->vec);
	for (unsigned i = 0; i < v->vec && !parse_failed(p); i++) {
		list[i]->owner = p->f;
		list[i]->reg = name->regs[i];
	}
}

static void declare_params(struct parser *p, struct ptx_var **list, uint32_t n)
{
	for (uint32_t i = 0, next; i < n && !parse_failed(p); i = next) {
		struct token t = {.kind = T_IDENT, .s = list[i]->name, .len = strlen(list[i]->name)};
		struct ptx_name *name;

		next = i + (list[i]->space == PTX_REGSPACE && list[i]->vec ? list[i]->vec : 1);
		t.line = list[i]->line;
		t.column = 1;
		if (t.len == 1 && *t.s == '_')
			continue;
		name = parse_declare(p, &t, list[i]->space == PTX_REGSPACE ? NAME_REG : NAME_VAR);
		if (!name)
			return;
		list[i]->owner = p->f;
		if (name->kind == NAME_VAR) {
			name->var = list[i];
			continue;
		}
		declare_param_regs(p, name, &t, &list[i]);
	}
}

static void resolve_labels(struct parser *p)
{
	for (uint32_t i = 0; i < p->nfixups; i++) {
		struct label_fixup *x = &p->fixups[i];
		struct ptx_name *n = NULL;
		char buf[80];

		for (uint32_t s = x->scope; s && !n; s = p->parents[s])
			n = names_find(p->names, s, x->name.s, x->name.len);
		if (!n || n->kind != NAME_LABEL) {
			parse_fail(p, &x->name, "%s is not a label", token_text(&x->name, buf, sizeof buf));
			return;
		}
		if (x->op) {
			x->op->reg = n->n;
			x->op->n = 0;
		}
	}
}

/* Appends a ret if control can reach the end of the body. */
static void end_body(struct parser *p)
{
	struct ptx_inst ret = {.op = PTX_OP_ret, .guard = PTX_NOREG, .line = p->line};
	struct ptx_function *f = p->f;

	if (!f->ninsts || p->last_label == f->ninsts || !ptx_inst_ends(&f->insts[f->ninsts - 1]))
		parse_emit(p, &ret);
}

void parse_body(struct parser *p)
{
	struct ptx_function *f = p->f;

	p->names = names_create(p->m->arena);
	p->vars_end = &f->vars;
	p->nscopes = 0;
	open_scope(p); /* scope 0 is the module, so that parents[] can be indexed by scope */
	p->depth = 0;
	open_scope(p);
	if (!p->names)
		parse_fail_memory(p);
	declare_params(p, f->rets, f->nrets);
	declare_params(p, f->params, f->nparams);
	while (p->tok.kind != T_EOF && !parse_failed(p))
		parse_statement(p);
	if (!parse_failed(p) && p->depth > 1)
		parse_fail(p, &p->tok, "'{' is not closed");
	if (!parse_failed(p))
		end_body(p);
	if (!parse_failed(p))
		resolve_labels(p);
	names_destroy(p->names);
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
	parse_start(&p, f->module, &f->error, f->body_start, f->body_end, f->body_line, f->body_column);
	p.f = f;
	parse_body(&p);
	if (p.nomem || f->error.line) {
		f->state |= STATE_FAILED;
		return p.nomem ? out_of_memory(f) : -EINVAL;
	}
	f->state |= STATE_BODY;
	return 0;
}
