/*
 * Variables in .global and .const memory that are declared inside a function.
 *
 * Bodies are parsed on first use, but the loader places all variables of a module before.  Skipping a body therefore
 * notes these declarations, and each becomes a variable of the module under the name "function::name@position", which
 * no text can spell.  The body then finds the variable by its position and declares the plain name in its scope.
 */
#include "ptx/parse/parse.h"

#include <stdio.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* True if `dot` is the dot of .global or .const at the start of a statement; ld.global has a letter before it. */
static bool starts_declaration(const struct parser *p, const char *dot)
{
	size_t n = (size_t)(p->end - dot), len;

	if (!is_blank(dot[-1]) && !strchr(";{}:", dot[-1]))
		return false;
	len = n > 7 && !memcmp(dot, ".global", 7) ? 7 : n > 6 && !memcmp(dot, ".const", 6) ? 6 : 0;
	return len && (is_blank(dot[len]) || dot[len] == '.');
}

void inner_var_note(struct parser *p)
{
	struct inner_var *l;

	if (p->cur == p->m->text || !starts_declaration(p, p->cur))
		return;
	l = arena_push(p->m->arena, p->inner, p->ninner, sizeof *l);
	if (!l) {
		parse_fail_memory(p);
		return;
	}
	p->inner = l;
	l[p->ninner++] =
		(struct inner_var){(size_t)(p->cur - p->m->text), p->line, (uint32_t)(p->cur - p->line_start + 1)};
}

/* The name of the variable in the module; NULL: out of memory. */
static char *module_name(struct parser *p, const struct ptx_function *f, const struct token *name)
{
	size_t size = strlen(f->name) + name->len + 24;
	char *s = arena_alloc(p->m->arena, size, 1);

	if (!s) {
		parse_fail_memory(p);
		return NULL;
	}
	snprintf(s, size, "%s::%.*s@%zu", f->name, (int)name->len, name->s, (size_t)(name->s - p->m->text));
	return s;
}

/* One declarator with its initialiser. NULL: failed. */
static struct ptx_var *parse_inner_declarator(
	struct parser *p, unsigned space, struct token *name, struct ptx_var *first)
{
	struct ptx_var *v = parse_var_like(p, space, PTX_LINK_STATIC, name, first);

	if (v && parse_accept(p, '='))
		parse_init(p, v);
	if (v && v->unsized)
		v->size = 0;
	return parse_failed(p) ? NULL : v;
}

static unsigned parse_inner_space(struct parser *p)
{
	unsigned space = parse_accept_word(p, "global") ? PTX_GLOBAL : PTX_CONST;

	if (space == PTX_CONST)
		parse_accept_word(p, "const");
	return space;
}

static void inner_var_declare(struct parser *p, struct ptx_function *f, unsigned space)
{
	struct ptx_var *v, first = {0};
	struct ptx_name *n;
	struct token name;

	do {
		v = parse_inner_declarator(p, space, &name, &first);
		if (!v)
			return;
		v->name = module_name(p, f, &name);
		n = v->name ? names_add(p->m->names, p->m->arena, 0, v->name, strlen(v->name)) : NULL;
		if (!n) {
			parse_fail_memory(p);
			return;
		}
		n->kind = NAME_VAR;
		n->var = v;
		parse_append_var(p, v);
	} while (parse_accept(p, ','));
}

void inner_vars_declare(struct parser *p, struct ptx_function *f)
{
	for (uint32_t i = 0; i < p->ninner && !parse_failed(p); i++) {
		struct inner_var *v = &p->inner[i];
		struct parser q;

		parse_start(&q, p->m, p->error, v->at, f->body_end, v->line, v->column);
		inner_var_declare(&q, f, parse_inner_space(&q));
		p->nomem |= q.nomem;
	}
	if (parse_failed(p))
		parse_next(p); /* T_EOF: the error is q's, and p has not seen it */
}

void inner_var_parse(struct parser *p)
{
	struct ptx_var first = {0};
	unsigned space = parse_inner_space(p);
	struct ptx_name *n, *module;
	struct token name;

	do {
		if (!parse_inner_declarator(p, space, &name, &first))
			return;
		const char *s = module_name(p, p->f, &name);
		module = s ? names_find(p->m->names, 0, s, strlen(s)) : NULL;
		if (!module) {
			parse_fail(p, &name, "the declaration is not at the start of a statement");
			return;
		}
		n = parse_declare(p, &name, NAME_VAR);
		if (!n)
			return;
		n->var = module->var;
	} while (parse_accept(p, ','));
	parse_expect(p, ';', "';'");
}
