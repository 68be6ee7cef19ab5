/*
 * Parses a module: directives, variables and signatures.  Bodies are only skipped here; ptx_function_body parses each
 * on first use.
 */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Far beyond the limit of any device; keeps offsets and sizes of kernel parameters in 32 bits. */
#define MAX_KERNEL_PARAMS (1u << 20)

struct ptx_function *parse_declare_function(struct parser *p, const struct token *name)
{
	struct ptx_name *n = names_find(p->m->names, 0, name->s, name->len);
	struct ptx_function *f;

	if (n && n->kind == NAME_FUNC)
		return n->fn;
	n = parse_declare(p, name, NAME_FUNC);
	f = n ? arena_alloc(p->m->arena, 1, sizeof *f) : NULL;
	if (!f) {
		if (n)
			parse_fail_memory(p);
		return NULL;
	}
	n->fn = f;
	f->module = p->m;
	f->name = token_copy(p, name);
	f->line = name->line;
	*p->m->functions_end = f;
	p->m->functions_end = &f->next;
	return f;
}

/* Places parameters in order, each at its alignment; returns the end. */
static uint64_t place_params(struct ptx_var **list, uint32_t n, uint64_t offset)
{
	for (uint32_t i = 0; i < n; i++) {
		if (list[i]->space == PTX_REGSPACE)
			continue;
		offset = ptx_align_up(offset, list[i]->align);
		list[i]->offset = offset;
		offset += list[i]->size;
	}
	return offset;
}

static void parse_three(struct parser *p, uint32_t v[3])
{
	for (int i = 0; i < 3 && !parse_failed(p); i++) {
		struct token at = p->tok;
		int64_t n;

		v[i] = 1;
		if (i && !parse_accept(p, ','))
			continue;
		if (parse_const(p, &n)) {
			if (n < 0 || n > INT32_MAX)
				parse_fail(p, &at, "dimension is out of range");
			v[i] = n;
		}
	}
}

static uint32_t parse_count(struct parser *p)
{
	struct token at = p->tok;
	int64_t n = 0;

	if (parse_const(p, &n) && (n < 0 || n > INT32_MAX))
		parse_fail(p, &at, "number is out of range");
	return n;
}

/* Parses one directive between a signature and its body; false if the next token starts none. */
static bool parse_function_attribute(struct parser *p, struct ptx_function *f)
{
	if (parse_accept_word(p, "maxntid"))
		parse_three(p, f->maxntid);
	else if (parse_accept_word(p, "reqntid"))
		parse_three(p, f->reqntid);
	else if (parse_accept_word(p, "minnctapersm"))
		f->minnctapersm = parse_count(p);
	else if (parse_accept_word(p, "maxnctapersm"))
		f->maxnctapersm = parse_count(p);
	else if (parse_accept_word(p, "maxnreg"))
		f->maxnreg = parse_count(p);
	else if (parse_accept_word(p, "noreturn"))
		f->noreturn = true;
	else if (parse_accept_word(p, "reqnctapercluster"))
		parse_three(p, f->reqnctapercluster);
	else if (parse_accept_word(p, "maxclusterrank"))
		f->maxclusterrank = parse_count(p);
	else if (parse_accept_word(p, "explicitcluster"))
		f->explicitcluster = true;
	else if (parse_accept_word(p, "blocksareclusters"))
		f->blocksareclusters = true;
	else if (parse_accept_word(p, "abi_preserve") || parse_accept_word(p, "abi_preserve_control"))
		parse_count(p);
	else if (parse_accept_word(p, "unified"))
		return true;
	else if (parse_accept_word(p, "attribute"))
		parse_attribute(p);
	else if (parse_accept_word(p, "pragma")) {
		while (p->tok.kind == T_STRING || p->tok.kind == ',')
			parse_next(p);
		parse_accept(p, ';');
	} else {
		return false;
	}
	return true;
}

static bool same_signature(const struct ptx_function *f, struct ptx_var **params, uint32_t nparams, uint32_t nrets)
{
	if (f->nparams != nparams || f->nrets != nrets)
		return false;
	for (uint32_t i = 0; i < nparams; i++)
		if (params[i]->size != f->params[i]->size)
			return false;
	return true;
}

static void parse_function_body_range(struct parser *p, struct ptx_function *f)
{
	f->is_defined = true;
	f->body_start = p->cur - p->m->text; /* p->tok is the opening brace, p->cur lies behind it */
	f->body_line = p->line;
	f->body_column = p->cur - p->line_start + 1;
	if (!parse_skip_braces(p))
		return;
	f->body_end = p->body_end - p->m->text;
	inner_vars_declare(p, f);
}

static void parse_function(struct parser *p, bool entry, unsigned linkage)
{
	struct ptx_var **params = NULL, **rets = NULL;
	uint32_t nparams = 0, nrets = 0;
	struct ptx_function *f;
	struct token name;
	char buf[80];

	while (parse_accept_word(p, "attribute"))
		parse_attribute(p);
	if (!entry && p->tok.kind == '(' && !parse_signature(p, &rets, &nrets))
		return;
	name = p->tok;
	if (!parse_expect(p, T_IDENT, "a function name"))
		return;
	if (p->tok.kind == '(' && !parse_signature(p, &params, &nparams))
		return;
	f = parse_declare_function(p, &name);
	if (!f || parse_failed(p))
		return;
	if ((f->params || f->rets) && !same_signature(f, params, nparams, nrets)) {
		parse_fail(p, &name, "%s was declared with another signature", token_text(&name, buf, sizeof buf));
		return;
	}
	while (parse_function_attribute(p, f))
		;
	if (p->tok.kind == '{' && f->is_defined) {
		parse_fail(p, &name, "%s already has a body", token_text(&name, buf, sizeof buf));
		return;
	}
	if (p->tok.kind == '{' || !f->params) {
		f->params = params;
		f->rets = rets;
		f->nparams = nparams;
		f->nrets = nrets;
	}
	f->is_entry = entry;
	if (linkage != PTX_LINK_STATIC)
		f->linkage = linkage;
	f->param_size = place_params(f->params, f->nparams, 0);
	if (entry && f->param_size > MAX_KERNEL_PARAMS) {
		parse_fail(p, &name, "the parameters of %s are larger than %u bytes",
			token_text(&name, buf, sizeof buf), MAX_KERNEL_PARAMS);
		return;
	}
	f->param_frame_size = place_params(f->rets, f->nrets, ptx_align_up(f->param_size, 16));
	if (p->tok.kind == '{')
		parse_function_body_range(p, f);
	else
		parse_accept(p, ';');
}

void parse_append_var(struct parser *p, struct ptx_var *v)
{
	*p->m->vars_end = v;
	p->m->vars_end = &v->next;
}

/* The definition of a variable replaces an earlier .extern declaration, and an .extern after it is ignored. */
static void declare_module_var(struct parser *p, struct ptx_var *v, const struct token *name)
{
	struct ptx_name *n = names_find(p->m->names, 0, name->s, name->len);

	if (n && n->kind == NAME_VAR && n->var->linkage != PTX_LINK_STATIC) {
		if (v->linkage == PTX_LINK_EXTERN)
			return;
		if (n->var->linkage == PTX_LINK_EXTERN) {
			struct ptx_var *next = n->var->next;

			*n->var = *v;
			n->var->next = next;
			return;
		}
	}
	n = parse_declare(p, name, NAME_VAR);
	if (!n)
		return;
	n->var = v;
	parse_append_var(p, v);
}

static void parse_variable(struct parser *p, unsigned space, unsigned linkage)
{
	struct ptx_var *v, first = {0};
	struct token name;

	if (parse_accept(p, '[')) { /* .const[3]: a bank number, ignored */
		parse_count(p);
		parse_expect(p, ']', "']'");
	}
	do {
		v = parse_var_like(p, space, linkage, &name, &first);
		if (!v)
			return;
		if (parse_accept(p, '='))
			parse_init(p, v);
		if (v->unsized)
			v->size = 0;
		if (!parse_failed(p))
			declare_module_var(p, v, &name);
	} while (parse_accept(p, ','));
	parse_expect(p, ';', "';'");
}

static void parse_version(struct parser *p)
{
	struct token t = p->tok;
	uint32_t i = 0;
	unsigned v[2] = {0}, k = 0;

	for (; i < t.len && k < 2; i++) {
		if (t.s[i] == '.')
			k++;
		else if (t.s[i] >= '0' && t.s[i] <= '9' && v[k] < 1000)
			v[k] = v[k] * 10 + (t.s[i] - '0');
	}
	p->m->version = v[0] * 10 + v[1];
	if (t.kind != T_F64 && t.kind != T_INT)
		parse_fail(p, &t, "expected a version such as 8.0");
	else if (p->m->version < 10 || p->m->version > 199)
		parse_fail(p, &t, "unknown version %u.%u", v[0], v[1]);
	parse_next(p);
}

static void parse_target(struct parser *p)
{
	do {
		struct token t = p->tok;

		if (!parse_expect(p, T_IDENT, "a target"))
			return;
		if (t.len < 4 || memcmp(t.s, "sm_", 3))
			continue; /* texmode_independent, debug, map_f64_to_f32: ignored */
		p->m->target = token_copy(p, &t);
		p->m->sm = 0;
		for (uint32_t i = 3; i < t.len && i < 6 && t.s[i] >= '0' && t.s[i] <= '9'; i++)
			p->m->sm = p->m->sm * 10 + (t.s[i] - '0');
	} while (parse_accept(p, ','));
}

static void parse_alias(struct parser *p)
{
	struct token a = p->tok, b;
	struct ptx_function *fa, *fb;

	if (!parse_expect(p, T_IDENT, "a name") || !parse_expect(p, ',', "','"))
		return;
	b = p->tok;
	if (!parse_expect(p, T_IDENT, "a name"))
		return;
	fa = parse_declare_function(p, &a);
	fb = parse_declare_function(p, &b);
	if (fa && fb && !fa->is_defined && !fa->alias_of && ptx_function_definition(fb) != fa)
		fa->alias_of = fb;
	else if (fa && fb)
		parse_fail(p, &a, "the name of an alias is already in use");
	parse_expect(p, ';', "';'");
}

/* .file 1 "x.cu", 123, 456 and .loc 1 2 3 end with the line, not with a semicolon. */
static void skip_line(struct parser *p)
{
	uint32_t line = p->tok.line;

	while (p->tok.kind != T_EOF && p->tok.line == line)
		parse_next(p);
}

/* .file number "name" */
static void parse_file(struct parser *p)
{
	enum { MAX_FILES = 4096 };
	uint32_t line = p->tok.line;
	struct ptx_module *m = p->m;
	uint64_t number;

	parse_next(p);
	number = p->tok.u;
	if (p->tok.kind != T_INT || number >= MAX_FILES || p->tok.line != line) {
		skip_line(p);
		return;
	}
	parse_next(p);
	while (m->nfiles <= number && p->tok.kind == T_STRING) {
		const char **l = arena_push(m->arena, m->files, m->nfiles, sizeof *l);

		if (!l) {
			parse_fail_memory(p);
			return;
		}
		m->files = l;
		l[m->nfiles++] = NULL;
	}
	if (p->tok.kind == T_STRING)
		m->files[number] = token_copy(p, &p->tok);
	while (p->tok.kind != T_EOF && p->tok.line == line)
		parse_next(p);
}

const char *ptx_module_file(const struct ptx_module *m, uint32_t number)
{
	return number < m->nfiles ? m->files[number] : NULL;
}

static void skip_section(struct parser *p)
{
	while (p->tok.kind != '{' && p->tok.kind != T_EOF)
		parse_next(p);
	if (p->tok.kind == '{')
		parse_skip_braces(p);
}

static unsigned parse_linkage(struct parser *p)
{
	unsigned linkage = PTX_LINK_STATIC;

	for (;;) {
		if (parse_accept_word(p, "extern"))
			linkage = PTX_LINK_EXTERN;
		else if (parse_accept_word(p, "visible"))
			linkage = PTX_LINK_VISIBLE;
		else if (parse_accept_word(p, "weak"))
			linkage = PTX_LINK_WEAK;
		else if (parse_accept_word(p, "common"))
			linkage = PTX_LINK_COMMON;
		else
			return linkage;
	}
}

static void parse_directive(struct parser *p)
{
	unsigned linkage = parse_linkage(p);
	struct token t = p->tok;
	char buf[80];

	if (parse_accept_word(p, "entry"))
		parse_function(p, true, linkage);
	else if (parse_accept_word(p, "func"))
		parse_function(p, false, linkage);
	else if (parse_accept_word(p, "global"))
		parse_variable(p, PTX_GLOBAL, linkage);
	else if (parse_accept_word(p, "const"))
		parse_variable(p, PTX_CONST, linkage);
	else if (parse_accept_word(p, "shared"))
		parse_variable(p, PTX_SHARED, linkage);
	else if (parse_accept_word(p, "local"))
		parse_variable(p, PTX_LOCAL, linkage);
	else if (parse_accept_word(p, "tex"))
		parse_variable(p, PTX_TEX, linkage);
	else if (parse_accept_word(p, "version"))
		parse_version(p);
	else if (parse_accept_word(p, "target"))
		parse_target(p);
	else if (parse_accept_word(p, "address_size"))
		p->m->address_size = parse_count(p);
	else if (parse_accept_word(p, "alias"))
		parse_alias(p);
	else if (token_is(&t, T_DOT, "file"))
		parse_file(p);
	else if (token_is(&t, T_DOT, "loc") || t.kind == '@')
		skip_line(p);
	else if (parse_accept_word(p, "section"))
		skip_section(p);
	else if (parse_accept_word(p, "pragma"))
		skip_line(p);
	else if (!parse_accept(p, ';'))
		parse_fail(p, &t, "%s is not expected at module level", token_text(&t, buf, sizeof buf));
}

/* Marks the functions and variables whose address an initialiser takes. */
static void mark_addresses(struct ptx_module *m)
{
	for (struct ptx_var *v = m->vars; v; v = v->next) {
		for (uint32_t i = 0; i < v->nrelocs; i++) {
			struct ptx_function *f = ptx_function_find(m, v->relocs[i].name);

			if (f)
				f->address_taken = true;
			else if (ptx_var_find(m, v->relocs[i].name))
				ptx_var_find(m, v->relocs[i].name)->used = true;
		}
	}
}

static void check_header(struct parser *p)
{
	struct ptx_module *m = p->m;
	struct token at = {.line = 1, .column = 1};

	if (parse_failed(p))
		return;
	if (!m->version)
		parse_fail(p, &at, "no .version directive");
	else if (!m->sm)
		parse_fail(p, &at, "no .target directive with an architecture");
	else if (m->address_size != 32 && m->address_size != 64)
		parse_fail(p, &at, "address size must be 32 or 64");
}

static void parse_module(struct ptx_module *m)
{
	struct parser p;

	parse_start(&p, m, &m->error, 0, m->text_len, 1, 1);
	while (p.tok.kind != T_EOF)
		parse_directive(&p);
	check_header(&p);
	if (p.nomem && !m->error.line) {
		m->error.line = m->error.column = 1;
		strcpy(m->error.message, "out of memory");
	}
	if (!m->error.line)
		mark_addresses(m);
}

struct ptx_module *ptx_module_create(const char *text, size_t len)
{
	struct ptx_arena *a = arena_create();
	struct ptx_module *m = a ? arena_alloc(a, 1, sizeof *m) : NULL;

	if (!m)
		goto fail;
	m->arena = a;
	m->address_size = 32; /* the default of the PTX manual */
	m->functions_end = &m->functions;
	m->vars_end = &m->vars;
	m->target = "";
	m->text = arena_strndup(a, text, len);
	m->text_len = len;
	m->names = names_create(a);
	if (!m->text || !m->names)
		goto fail;
	parse_module(m);
	return m;
fail:
	arena_destroy(a);
	return NULL;
}

void ptx_module_destroy(struct ptx_module *m)
{
	if (!m)
		return;
	names_destroy(m->names);
	arena_destroy(m->arena);
}

struct ptx_function *ptx_function_find(const struct ptx_module *m, const char *name)
{
	struct ptx_name *n = names_find(m->names, 0, name, strlen(name));
	struct ptx_function *f = n && n->kind == NAME_FUNC ? n->fn : NULL;

	return f ? ptx_function_definition(f) : NULL;
}

struct ptx_var *ptx_var_find(const struct ptx_module *m, const char *name)
{
	struct ptx_name *n = names_find(m->names, 0, name, strlen(name));

	return n && n->kind == NAME_VAR ? n->var : NULL;
}
