/*
 * Links modules to one program (ptx_link).  All names with external linkage go into one sorted list; each run of equal
 * names is one symbol.  The linker chooses a definition for it and makes all other declarations point to that.
 */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct link_symbol {
	const char *name;
	size_t order; /* by module, then by place in the source: the first of several equal definitions wins */
	struct ptx_function *fn; /* either this */
	struct ptx_var *var;     /* or this */
};

struct ptx_linker {
	struct link_symbol *list;
	size_t n;
	char *why;
	size_t size;
};

/* Aliases of aliases are rare; the limit ends a cycle. */
struct ptx_function *ptx_function_definition(struct ptx_function *f)
{
	for (int i = 0; f->alias_of && i < 8; i++)
		f = f->alias_of;
	return f;
}

struct ptx_var *ptx_var_definition(struct ptx_var *v)
{
	return v->defined_by ? v->defined_by : v;
}

/* ---- collecting ------------------------------------------------------------------------------------ */

static bool symbol_add(struct ptx_linker *l, struct ptx_function *f, struct ptx_var *v)
{
	struct link_symbol *list;

	if (!(l->n & (l->n - 1))) {
		list = realloc(l->list, (l->n ? l->n * 2 : 1) * sizeof *list);
		if (!list)
			return false;
		l->list = list;
	}
	l->list[l->n] = (struct link_symbol){.name = f ? f->name : v->name, .order = l->n, .fn = f, .var = v};
	l->n++;
	return true;
}

/* Dynamic shared memory: all names for it denote the same place. */
static bool is_dynamic_shared(const struct ptx_var *v)
{
	return v->space == PTX_SHARED && v->unsized;
}

static bool collect_symbols(struct ptx_linker *l, struct ptx_module *m)
{
	for (struct ptx_function *f = m->functions; f; f = f->next)
		if (f->linkage != PTX_LINK_STATIC && !symbol_add(l, f, NULL))
			return false;
	for (struct ptx_var *v = m->vars; v; v = v->next)
		if (v->linkage != PTX_LINK_STATIC && !symbol_add(l, NULL, v))
			return false;
	return true;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct link_symbol *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : x->order < y->order ? -1 : 1;
}

/* ---- one symbol -------------------------------------------------------------------------------------- */

/* Precedence among definitions of one name; 0: a mere declaration. */
static int symbol_strength(const struct link_symbol *s)
{
	unsigned linkage = s->fn ? s->fn->linkage : s->var->linkage;

	if (s->fn && !s->fn->is_defined && !s->fn->alias_of)
		return 0;
	switch (linkage) {
	case PTX_LINK_EXTERN:
		/* Sized shared memory may be declared everywhere and defined nowhere: the first one defines it. */
		return s->var && s->var->space == PTX_SHARED && !s->var->unsized ? 1 : 0;
	case PTX_LINK_WEAK:
		return 2;
	case PTX_LINK_COMMON:
		return 3;
	default:
		return 4;
	}
}

static int link_refuse(struct ptx_linker *l, const char *name, const char *what)
{
	snprintf(l->why, l->size, "%s: %s", name, what);
	return -EINVAL;
}

static bool same_list(struct ptx_var **a, struct ptx_var **b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i]->size != b[i]->size || a[i]->space != b[i]->space)
			return false;
	return true;
}

static bool same_signature(const struct ptx_function *a, const struct ptx_function *b)
{
	return a->is_entry == b->is_entry && a->nparams == b->nparams && a->nrets == b->nrets &&
	       same_list(a->params, b->params, a->nparams) && same_list(a->rets, b->rets, a->nrets);
}

static bool same_size(const struct ptx_var *a, const struct ptx_var *b)
{
	bool loose = a->unsized || b->unsized || a->linkage == PTX_LINK_COMMON || b->linkage == PTX_LINK_COMMON;

	return a->space == b->space && (loose || a->size == b->size);
}

static int choose_definition(struct ptx_linker *l, struct link_symbol *s, size_t n, struct link_symbol **best)
{
	*best = NULL;
	for (size_t i = 0; i < n; i++) {
		int a = symbol_strength(&s[i]), b = *best ? symbol_strength(*best) : 0;

		if ((s[i].fn == NULL) != (s[0].fn == NULL))
			return link_refuse(l, s->name, "declared as a function and as a variable");
		if (a == 4 && b == 4)
			return link_refuse(l, s->name, "multiple definition");
		if (a > b || (a == 3 && b == 3 && s[i].var && s[i].var->size > (*best)->var->size))
			*best = &s[i];
	}
	return 0;
}

static int symbol_resolve(struct ptx_linker *l, struct link_symbol *s, size_t n)
{
	struct link_symbol *best;
	int err = choose_definition(l, s, n, &best);

	for (size_t i = 0; i < n && best && !err; i++) {
		if (&s[i] == best)
			continue;
		if (s[i].fn && !same_signature(ptx_function_definition(s[i].fn), ptx_function_definition(best->fn)))
			err = link_refuse(l, s->name, "declared with different signatures");
		else if (s[i].fn)
			s[i].fn->alias_of = best->fn;
		else if (!same_size(s[i].var, best->var))
			err = link_refuse(l, s->name, "declared with different sizes or state spaces");
		else if (!is_dynamic_shared(s[i].var) || !is_dynamic_shared(best->var))
			s[i].var->defined_by = best->var;
	}
	return err;
}

/* ---- all of them ------------------------------------------------------------------------------------- */

/* Aliases of two modules may form a cycle without a definition. */
static int check_aliases(struct ptx_linker *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->list[i].fn && ptx_function_definition(l->list[i].fn)->alias_of)
			return link_refuse(l, l->list[i].name, "an alias of itself");
	return 0;
}

static int resolve_symbols(struct ptx_linker *l)
{
	int err = 0;

	if (l->n)
		qsort(l->list, l->n, sizeof *l->list, compare_symbols);
	for (size_t i = 0, k; i < l->n && !err; i = k) {
		for (k = i + 1; k < l->n && !strcmp(l->list[k].name, l->list[i].name); k++)
			;
		err = symbol_resolve(l, &l->list[i], k - i);
	}
	return err ? err : check_aliases(l);
}

int ptx_link(struct ptx_module **modules, unsigned n, char *why, size_t size)
{
	struct ptx_linker l = {.why = why, .size = size};
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++) {
		modules[i]->head = modules[0];
		modules[i]->peer = i + 1 < n ? modules[i + 1] : NULL;
		if (!collect_symbols(&l, modules[i]))
			err = -ENOMEM;
	}
	if (!err)
		err = resolve_symbols(&l);
	free(l.list);
	return err;
}

void ptx_link_missing(struct ptx_module *head, void (*report)(void *arg, const char *name, bool function), void *arg)
{
	for (struct ptx_module *m = head; m; m = m->peer) {
		for (struct ptx_function *f = m->functions; f; f = f->next)
			if ((f->called || f->address_taken) && !ptx_function_definition(f)->is_defined)
				report(arg, f->name, true);
		for (struct ptx_var *v = m->vars; v; v = v->next)
			if (v->used && !v->defined_by && v->linkage == PTX_LINK_EXTERN && v->space != PTX_SHARED)
				report(arg, v->name, false);
	}
}
