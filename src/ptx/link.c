/*
 * Several modules, one program.  All names that others may see are put into
 * one list, sorted; each run of equal names is one symbol, with a definition
 * chosen for it and everything else made to point there.
 */
#include "ptx/parse/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
	const char *name;
	size_t order; /* of the command line, then of the source: the first of equals wins */
	struct ptx_function *fn;
	struct ptx_var *var; /* one of the two */
};

struct linker {
	struct symbol *list;
	size_t n;
	char *why;
	size_t size;
};

/* An alias of an alias is rare, and one that leads nowhere is cut off. */
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

static bool add(struct linker *l, struct ptx_function *f, struct ptx_var *v)
{
	struct symbol *list;

	if (!(l->n & (l->n - 1))) {
		list = realloc(l->list, (l->n ? l->n * 2 : 1) * sizeof *list);
		if (!list)
			return false;
		l->list = list;
	}
	l->list[l->n] = (struct symbol){.name = f ? f->name : v->name, .order = l->n, .fn = f, .var = v};
	l->n++;
	return true;
}

/* A block's dynamic shared memory has many names and one place. */
static bool dynamic(const struct ptx_var *v)
{
	return v->space == PTX_SHARED && v->unsized;
}

static bool collect(struct linker *l, struct ptx_module *m)
{
	for (struct ptx_function *f = m->functions; f; f = f->next)
		if (f->linkage != PTX_LINK_STATIC && !add(l, f, NULL))
			return false;
	for (struct ptx_var *v = m->vars; v; v = v->next)
		if (v->linkage != PTX_LINK_STATIC && !add(l, NULL, v))
			return false;
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : x->order < y->order ? -1 : 1;
}

/* ---- one symbol -------------------------------------------------------------------------------------- */

/* 0: a declaration. */
static int strength(const struct symbol *s)
{
	unsigned linkage = s->fn ? s->fn->linkage : s->var->linkage;

	if (s->fn && !s->fn->is_defined && !s->fn->alias_of)
		return 0;
	switch (linkage) {
	case PTX_LINK_EXTERN:
		/* Sized shared memory that everybody declares and nobody defines: the first gives it a
		 * place. */
		return s->var && s->var->space == PTX_SHARED && !s->var->unsized ? 1 : 0;
	case PTX_LINK_WEAK:
		return 2;
	case PTX_LINK_COMMON:
		return 3;
	default:
		return 4;
	}
}

static int refuse(struct linker *l, const char *name, const char *what)
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

static int choose(struct linker *l, struct symbol *s, size_t n, struct symbol **best)
{
	*best = NULL;
	for (size_t i = 0; i < n; i++) {
		int a = strength(&s[i]), b = *best ? strength(*best) : 0;

		if ((s[i].fn == NULL) != (s[0].fn == NULL))
			return refuse(l, s->name, "a function here and a variable there");
		if (a == 4 && b == 4)
			return refuse(l, s->name, "multiple definition");
		if (a > b || (a == 3 && b == 3 && s[i].var && s[i].var->size > (*best)->var->size))
			*best = &s[i];
	}
	return 0;
}

static int join(struct linker *l, struct symbol *s, size_t n)
{
	struct symbol *best;
	int err = choose(l, s, n, &best);

	for (size_t i = 0; i < n && best && !err; i++) {
		if (&s[i] == best)
			continue;
		if (s[i].fn && !same_signature(ptx_function_definition(s[i].fn), ptx_function_definition(best->fn)))
			err = refuse(l, s->name, "declared with different signatures");
		else if (s[i].fn)
			s[i].fn->alias_of = best->fn;
		else if (!same_size(s[i].var, best->var))
			err = refuse(l, s->name, "declared with different sizes or state spaces");
		else if (!dynamic(s[i].var) || !dynamic(best->var))
			s[i].var->defined_by = best->var;
	}
	return err;
}

/* ---- all of them ------------------------------------------------------------------------------------- */

/* Two modules may be each other's aliases; nobody is then the function. */
static int check_aliases(struct linker *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->list[i].fn && ptx_function_definition(l->list[i].fn)->alias_of)
			return refuse(l, l->list[i].name, "an alias of itself");
	return 0;
}

static int join_all(struct linker *l)
{
	int err = 0;

	if (l->n)
		qsort(l->list, l->n, sizeof *l->list, by_name);
	for (size_t i = 0, k; i < l->n && !err; i = k) {
		for (k = i + 1; k < l->n && !strcmp(l->list[k].name, l->list[i].name); k++)
			;
		err = join(l, &l->list[i], k - i);
	}
	return err ? err : check_aliases(l);
}

int ptx_link(struct ptx_module **modules, unsigned n, char *why, size_t size)
{
	struct linker l = {.why = why, .size = size};
	int err = 0;

	for (unsigned i = 0; i < n && !err; i++) {
		modules[i]->head = modules[0];
		modules[i]->peer = i + 1 < n ? modules[i + 1] : NULL;
		if (!collect(&l, modules[i]))
			err = -ENOMEM;
	}
	if (!err)
		err = join_all(&l);
	free(l.list);
	return err;
}

void ptx_link_missing(struct ptx_module *head, void (*tell)(void *arg, const char *name, bool function), void *arg)
{
	for (struct ptx_module *m = head; m; m = m->peer) {
		for (struct ptx_function *f = m->functions; f; f = f->next)
			if ((f->called || f->address_taken) && !ptx_function_definition(f)->is_defined)
				tell(arg, f->name, true);
		for (struct ptx_var *v = m->vars; v; v = v->next)
			if (v->used && !v->defined_by && v->linkage == PTX_LINK_EXTERN && v->space != PTX_SHARED)
				tell(arg, v->name, false);
	}
}
