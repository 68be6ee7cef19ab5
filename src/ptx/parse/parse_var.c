/* Parses declarations of variables and parameters: type, size and alignment. */
#include "ptx/parse/parse.h"

#include <string.h>

uint64_t ptx_align_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static void parse_align(struct parser *p, uint32_t *align)
{
	struct token at = p->tok;
	int64_t n;

	if (!parse_const(p, &n))
		return;
	if (n < 1 || n > 4096 || (n & (n - 1)))
		parse_fail(p, &at, "alignment must be a power of two up to 4096");
	else
		*align = n;
}

bool parse_attribute(struct parser *p)
{
	bool managed = false;
	unsigned depth = 0;

	if (!parse_expect(p, '(', "'('"))
		return false;
	for (; (p->tok.kind != ')' || depth) && p->tok.kind != T_EOF; parse_next(p)) {
		managed |= token_is(&p->tok, T_DOT, "managed");
		if (p->tok.kind == '(')
			depth++;
		else if (p->tok.kind == ')')
			depth--;
	}
	parse_expect(p, ')', "')'");
	return managed;
}

static int space_word(const struct token *t)
{
	static const struct {
		const char *text;
		int space;
	} words[] = {{"global", PTX_GLOBAL}, {"shared", PTX_SHARED}, {"local", PTX_LOCAL}, {"const", PTX_CONST},
		{"param", PTX_PARAM}, {"reg", PTX_REGSPACE}, {"tex", PTX_TEX}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (token_is(t, T_DOT, words[i].text))
			return words[i].space;
	return -1;
}

static void parse_ptr(struct parser *p, struct ptx_var *v)
{
	int space = space_word(&p->tok);

	v->ptr_align = 1;
	if (space >= 0) {
		v->ptr_space = space;
		parse_next(p);
	}
	if (parse_accept_word(p, "align"))
		parse_align(p, &v->ptr_align);
}

/* The qualifiers between the state space and the name, in any order. */
static void parse_qualifiers(struct parser *p, struct ptx_var *v)
{
	while (p->tok.kind == T_DOT) {
		struct token t = p->tok;
		int type = table_type(t.s, t.len);
		char buf[80];

		parse_next(p);
		if (type > 0 && !v->type)
			v->type = type;
		else if (t.len == 2 && t.s[0] == 'v' && (t.s[1] == '2' || t.s[1] == '4') && !v->vec)
			v->vec = t.s[1] - '0';
		else if (token_is(&t, T_DOT, "align"))
			parse_align(p, &v->align);
		else if (token_is(&t, T_DOT, "attribute"))
			v->managed |= parse_attribute(p);
		else if (token_is(&t, T_DOT, "ptr"))
			parse_ptr(p, v);
		else
			parse_fail(p, &t, "%s is not expected in a declaration", token_text(&t, buf, sizeof buf));
	}
}

static bool parse_dimensions(struct parser *p, struct ptx_var *v, struct token *name)
{
	uint64_t elem = (ptx_type_bits(v->type) + 7) / 8 * (v->vec ? v->vec : 1);
	unsigned i;
	int64_t n;

	memset(p->spans, 0, sizeof p->spans);
	v->size = elem;
	for (i = 0; parse_accept(p, '['); i++) {
		struct token at = p->tok;

		if (i >= MAX_DIMENSIONS) {
			parse_fail(p, &at, "too many dimensions");
			return false;
		}
		if (!i && parse_accept(p, ']')) {
			v->unsized = true;
			continue;
		}
		if (!parse_const(p, &n) || !parse_expect(p, ']', "']'"))
			return false;
		if (n < 0 || __builtin_mul_overflow(v->size, (uint64_t)n, &v->size) || v->size >> 40) {
			parse_fail(p, &at, "array is too large");
			return false;
		}
		for (unsigned k = 0; k < i; k++)
			p->spans[k] = (p->spans[k] ? p->spans[k] : v->vec ? v->vec : 1) * n;
	}
	if (i && v->vec)
		p->spans[i - 1] = v->vec;
	if (v->space != PTX_GLOBAL && v->space != PTX_CONST && v->size >> 31) {
		parse_fail(p, name, "variable is too large for its state space");
		return false;
	}
	if (!v->align)
		v->align = elem ? elem > 16 ? 16 : elem : 1;
	while (v->align & (v->align - 1))
		v->align--;
	return true;
}

struct ptx_var *parse_var_like(
	struct parser *p, unsigned space, unsigned linkage, struct token *name, struct ptx_var *first)
{
	struct ptx_var *v = arena_alloc(p->m->arena, 1, sizeof *v);

	if (!v) {
		parse_fail_memory(p);
		return NULL;
	}
	if (!first->type) {
		*first = (struct ptx_var){.space = space, .linkage = linkage, .owner = p->f, .reg = PTX_NOREG};
		parse_qualifiers(p, first);
	}
	*v = *first;
	*name = p->tok;
	v->line = name->line;
	if (!parse_expect(p, T_IDENT, "a name"))
		return NULL;
	if (!v->type) {
		parse_fail(p, name, "declaration has no type");
		return NULL;
	}
	v->name = token_copy(p, name);
	if (!parse_dimensions(p, v, name))
		return NULL;
	return parse_failed(p) ? NULL : v;
}

struct ptx_var *parse_var(struct parser *p, unsigned space, unsigned linkage, struct token *name)
{
	struct ptx_var first = {0};

	return parse_var_like(p, space, linkage, name, &first);
}

/* Appends a parameter; a vector register is as many parameters as it has elements. */
static bool signature_push(struct parser *p, struct ptx_var ***list, uint32_t *n, struct ptx_var *v)
{
	unsigned count = v->space == PTX_REGSPACE && v->vec ? v->vec : 1;

	for (unsigned i = 0; i < count; i++) {
		struct ptx_var **l = arena_push(p->m->arena, *list, *n, sizeof *l);
		struct ptx_var *e = i ? arena_alloc(p->m->arena, 1, sizeof *e) : v;

		if (!l || !e) {
			parse_fail_memory(p);
			return false;
		}
		*e = *v;
		*list = l;
		l[(*n)++] = e;
	}
	return true;
}

/* ( .param .b64 a, .reg .u32 b, ... ) */
bool parse_signature(struct parser *p, struct ptx_var ***list, uint32_t *n)
{
	*list = NULL;
	*n = 0;
	if (!parse_expect(p, '(', "'('"))
		return false;
	while (p->tok.kind != ')' && !parse_failed(p)) {
		int space = space_word(&p->tok);
		struct ptx_var *v;
		struct token name;

		if (space != PTX_PARAM && space != PTX_REGSPACE) {
			parse_fail(p, &p->tok, "expected .param or .reg");
			return false;
		}
		parse_next(p);
		v = parse_var(p, space, PTX_LINK_STATIC, &name);
		if (!v)
			return false;
		if (v->unsized)
			v->size = 0;
		if (!signature_push(p, list, n, v))
			return false;
		if (!parse_accept(p, ','))
			break;
	}
	return parse_expect(p, ')', "')'");
}
