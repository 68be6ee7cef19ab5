/*
 * The table of names and their scopes.
 *
 * The module has one hash table, and each body has one while it is parsed.  The key is (scope, text), so that leaving a
 * scope costs nothing.  A range such as .reg .b32 %r<1000000>; is one entry: its registers get numbers when the text
 * first names them.  The range declares %r0, %r1 ... but not %r, so its prefix is stored under a scope of its own.
 */
#include "ptx/parse/parse.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t RANGE_PREFIX = 1u << 31; /* scope | RANGE_PREFIX holds the prefixes of that scope's ranges */

struct ptx_names {
	struct ptx_name **slots;
	size_t nslots, count;
};

static size_t name_hash(uint32_t scope, const char *s, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u ^ scope;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
	return h ^ h >> 29;
}

struct ptx_names *names_create(struct ptx_arena *a)
{
	struct ptx_names *t = arena_alloc(a, 1, sizeof *t);

	if (!t)
		return NULL;
	t->nslots = 64;
	t->slots = calloc(t->nslots, sizeof *t->slots);
	return t->slots ? t : NULL;
}

void names_destroy(struct ptx_names *t)
{
	if (t)
		free(t->slots);
}

struct ptx_name *names_find(const struct ptx_names *t, uint32_t scope, const char *s, size_t len)
{
	struct ptx_name *n;

	for (n = t->slots[name_hash(scope, s, len) & (t->nslots - 1)]; n; n = n->next)
		if (n->scope == scope && n->len == len && !memcmp(n->s, s, len))
			return n;
	return NULL;
}

/* Without memory the table stays as it is: slower, but correct. */
static void names_grow(struct ptx_names *t)
{
	size_t nslots = t->nslots * 2;
	struct ptx_name **slots = calloc(nslots, sizeof *slots), *n, *next;

	if (!slots)
		return;
	for (size_t i = 0; i < t->nslots; i++) {
		for (n = t->slots[i]; n; n = next) {
			size_t h = name_hash(n->scope, n->s, n->len) & (nslots - 1);

			next = n->next;
			n->next = slots[h];
			slots[h] = n;
		}
	}
	free(t->slots);
	t->slots = slots;
	t->nslots = nslots;
}

struct ptx_name *names_add(struct ptx_names *t, struct ptx_arena *a, uint32_t scope, const char *s, size_t len)
{
	struct ptx_name *n = arena_alloc(a, 1, sizeof *n);
	size_t h;

	if (!n)
		return NULL;
	if (t->count++ >= t->nslots)
		names_grow(t);
	h = name_hash(scope, s, len) & (t->nslots - 1);
	n->scope = scope;
	n->s = s;
	n->len = len;
	n->next = t->slots[h];
	t->slots[h] = n;
	return n;
}

uint32_t parse_new_reg(struct parser *p, const char *name, unsigned type)
{
	struct ptx_function *f = p->f;
	struct ptx_reg *r = arena_push(p->m->arena, f->regs, f->nregs, sizeof *r);

	if (!r) {
		parse_fail_memory(p);
		return PTX_NOREG;
	}
	f->regs = r;
	r[f->nregs] = (struct ptx_reg){name, type};
	return f->nregs++;
}

/* Declares %r17 at its first use, if this scope has a range such as %r<20>. */
static struct ptx_name *name_from_range(struct parser *p, uint32_t scope, const char *s, size_t len)
{
	size_t digits = 0;
	uint64_t index = 0;
	struct ptx_name *range = NULL, *n;

	while (digits < len && s[len - 1 - digits] >= '0' && s[len - 1 - digits] <= '9')
		digits++;
	if (!digits || digits > 10 || digits == len)
		return NULL;
	/* A prefix may itself end in digits: x1<3> declares x10 x11 x12. Try the short index first. */
	for (size_t k = 1; k <= digits; k++) {
		index = 0;
		for (size_t i = len - k; i < len; i++)
			index = index * 10 + (s[i] - '0');
		if (k > 1 && s[len - k] == '0')
			continue;
		range = names_find(p->names, RANGE_PREFIX | scope, s, len - k);
		if (range && index < range->n)
			break;
		range = NULL;
	}
	if (!range)
		return NULL;
	n = names_add(p->names, p->m->arena, scope, s, len);
	if (!n) {
		parse_fail_memory(p);
		return NULL;
	}
	if (range->vec) {
		parse_declare_vector(p, n, &(struct token){.s = s, .len = len}, range->type, range->vec);
		return n;
	}
	n->kind = NAME_REG;
	n->type = range->type;
	n->n = parse_new_reg(p, arena_strndup(p->m->arena, s, len), range->type);
	return n;
}

struct ptx_name *parse_lookup(struct parser *p, const char *s, size_t len)
{
	struct ptx_name *n;

	for (uint32_t scope = p->scope; scope; scope = p->parents[scope]) {
		n = names_find(p->names, scope, s, len);
		if (n)
			return n;
		n = name_from_range(p, scope, s, len);
		if (n || parse_failed(p))
			return n;
	}
	return names_find(p->m->names, 0, s, len);
}

struct ptx_name *parse_declare(struct parser *p, const struct token *t, enum name_kind kind)
{
	struct ptx_names *table = p->scope ? p->names : p->m->names;
	uint32_t scope = kind == NAME_RANGE ? RANGE_PREFIX | p->scope : p->scope;
	struct ptx_name *n = names_find(table, scope, t->s, t->len);
	char buf[80];

	if (n) {
		parse_fail(p, t, "%s is already declared", token_text(t, buf, sizeof buf));
		return NULL;
	}
	n = names_add(table, p->m->arena, scope, t->s, t->len);
	if (n)
		n->kind = kind;
	else
		parse_fail_memory(p);
	return n;
}
