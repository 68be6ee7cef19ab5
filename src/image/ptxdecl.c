/*
 * ptxdecl.c - see ptxdecl.h.
 */
#include <errno.h>

#include "image/private.h"
#include "image/ptxdecl.h"

#define ALIGN_LIMIT (1u << 20)

void ptxcur_fail(struct ptxcursor *c, int error, const char *what)
{
	if (c->error)
		return;
	c->error = image_fail(c->err, error, c->lex.line, "PTX: %s near '%.*s'", what,
		(int)(c->w.size < 40 ? c->w.size : 40), c->w.text);
	c->lex.at = c->lex.end;
	c->w = (struct word){.kind = WORD_END, .text = c->lex.end};
}

void ptxcur_next(struct ptxcursor *c)
{
	c->w = ptxlex_next(&c->lex);
	if (c->lex.bad)
		ptxcur_fail(c, -EINVAL, "a comment or string without an end");
}

bool ptxcur_at(const struct ptxcursor *c, const char *text)
{
	return ptxword_is(&c->w, text);
}

bool ptxcur_accept(struct ptxcursor *c, const char *text)
{
	bool yes = ptxcur_at(c, text);

	if (yes)
		ptxcur_next(c);
	return yes;
}

void ptxcur_expect(struct ptxcursor *c, const char *text, const char *what)
{
	if (!ptxcur_accept(c, text))
		ptxcur_fail(c, -EINVAL, what);
}

uint64_t ptxcur_number(struct ptxcursor *c, uint64_t limit)
{
	uint64_t value = 0;

	if (!ptxword_number(&c->w, &value) || value > limit)
		ptxcur_fail(c, -EINVAL, "expected a number of a sensible size");
	else
		ptxcur_next(c);
	return value;
}

static const struct {
	const char *name;
	unsigned size;
} types[] = {
	{".b8", 1},
	{".u8", 1},
	{".s8", 1},
	{".b16", 2},
	{".u16", 2},
	{".s16", 2},
	{".f16", 2},
	{".bf16", 2},
	{".b32", 4},
	{".u32", 4},
	{".s32", 4},
	{".f32", 4},
	{".f16x2", 4},
	{".bf16x2", 4},
	{".tf32", 4},
	{".b64", 8},
	{".u64", 8},
	{".s64", 8},
	{".f64", 8},
	{".f32x2", 8},
	{".b128", 16},
	{".texref", 8},
	{".samplerref", 8},
	{".surfref", 8},
};

static unsigned type_size(const struct word *w)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (ptxword_is(w, types[i].name))
			return types[i].size;
	return 0;
}

/* The cursor stands after the first '('. */
static void skip_parens(struct ptxcursor *c, struct ptxdecl *d)
{
	size_t depth = 1;

	for (; depth && c->w.kind != WORD_END; ptxcur_next(c)) {
		d->managed |= ptxcur_at(c, ".managed");
		depth += ptxcur_at(c, "(");
		depth -= ptxcur_at(c, ")");
	}
	if (depth)
		ptxcur_fail(c, -EINVAL, "expected ')'");
}

static void read_align(struct ptxcursor *c, struct ptxdecl *d)
{
	uint64_t align = ptxcur_number(c, ALIGN_LIMIT);

	if (!align || align & (align - 1))
		ptxcur_fail(c, -EINVAL, "an alignment that is no power of two");
	d->align = align;
}

static unsigned vector_size(const struct word *w)
{
	return ptxword_is(w, ".v2") ? 2 : ptxword_is(w, ".v4") ? 4 : ptxword_is(w, ".v8") ? 8 : 0;
}

/* [.attribute(...)] [.align n] [.v4] .type [.ptr .space .align n], in whatever order. */
void ptxdecl_type(struct ptxcursor *c, struct ptxdecl *d)
{
	unsigned vector = 1, n;
	bool pointee = false;

	while (c->w.kind == WORD_DIRECTIVE) {
		if (ptxcur_at(c, ".attribute")) {
			ptxcur_next(c);
			ptxcur_expect(c, "(", "expected '('");
			skip_parens(c, d);
			continue;
		}
		if (ptxcur_at(c, ".align")) {
			struct ptxdecl other;

			ptxcur_next(c);
			read_align(c, pointee ? &other : d);
			continue;
		}
		pointee |= ptxcur_at(c, ".ptr");
		d->opaque |= ptxcur_at(c, ".texref") || ptxcur_at(c, ".samplerref") || ptxcur_at(c, ".surfref");
		if ((n = vector_size(&c->w)))
			vector = n;
		else if ((n = type_size(&c->w)))
			d->element = n;
		ptxcur_next(c);
	}
	if (!d->element)
		ptxcur_fail(c, -EINVAL, "expected a type");
	d->element *= vector;
}

/* The elements of { a, {b, c}, d } at its outermost level; the cursor stands after it. */
static uint64_t count_initialiser(struct ptxcursor *c)
{
	uint64_t depth = 0, n = 0;
	bool empty = true;

	while (c->w.kind != WORD_END && !(depth == 0 && (ptxcur_at(c, ";") || ptxcur_at(c, ",")))) {
		if (ptxcur_at(c, "}") && depth)
			depth--;
		else if (ptxcur_at(c, ",") && depth == 1)
			n++;
		else if (depth)
			empty = false;
		if (ptxcur_at(c, "{"))
			depth++;
		ptxcur_next(c);
	}
	return empty ? 0 : n + 1;
}

/* Beyond the limit it stays beyond. */
static uint64_t times(uint64_t a, uint64_t b)
{
	return b && a > SIZE_LIMIT / b ? SIZE_LIMIT + 1 : a * b;
}

/* A name with its dimensions and its initialiser: x[4][] = {...}. */
void ptxdecl_name(struct ptxcursor *c, struct ptxdecl *d)
{
	bool open = false;
	uint64_t n = 0;

	d->name = c->w;
	d->size = d->element;
	if (c->w.kind != WORD_NAME)
		ptxcur_fail(c, -EINVAL, "expected a name");
	ptxcur_next(c);
	while (ptxcur_accept(c, "[")) {
		if (ptxcur_at(c, "]"))
			open = true;
		else
			d->size = times(d->size, ptxcur_number(c, SIZE_LIMIT));
		ptxcur_expect(c, "]", "expected ']'");
	}
	n = 0;
	if (ptxcur_accept(c, "="))
		n = count_initialiser(c);
	if (open)
		d->size = times(d->size, n);
	if (d->size > SIZE_LIMIT)
		ptxcur_fail(c, -EINVAL, "an array too large");
}

uint64_t ptxdecl_align(const struct ptxdecl *d)
{
	return d->align ? d->align : d->element;
}
