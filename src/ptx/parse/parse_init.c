/* Parses initialisers: numbers, nested braces, and addresses of variables and functions. */
#include "ptx/parse/parse.h"

#include <string.h>

struct initialiser {
	struct ptx_var *v;
	uint8_t *bytes;
	uint64_t capacity, size; /* size: end of the last byte written */
	uint64_t elem;           /* bytes of a scalar */
	uint64_t limit;          /* number of scalars that fit; UINT64_MAX for name[] */
	struct ptx_reloc *relocs;
};

/* Refuses sparse initialisers of huge arrays, so that memory stays in proportion to the text. */
static bool init_reserve(struct parser *p, struct initialiser *in, uint64_t end, const struct token *at)
{
	uint64_t cap = in->capacity ? in->capacity : 64;
	uint8_t *bigger;

	if (end <= in->capacity)
		return true;
	if (end > 4096 + 64 * (uint64_t)p->m->text_len) {
		parse_fail(p, at, "initialiser is spread over too large an array");
		return false;
	}
	while (cap < end)
		cap *= 2;
	bigger = arena_alloc(p->m->arena, cap, 1);
	if (!bigger) {
		parse_fail_memory(p);
		return false;
	}
	if (in->size)
		memcpy(bigger, in->bytes, in->size);
	in->bytes = bigger;
	in->capacity = cap;
	return true;
}

static bool init_store(
	struct parser *p, struct initialiser *in, uint64_t index, const void *data, const struct token *at)
{
	uint64_t off;

	if (index >= in->limit) {
		parse_fail(p, at, "more initialisers than elements");
		return false;
	}
	off = index * in->elem;
	if (!init_reserve(p, in, off + in->elem, at))
		return false;
	memcpy(in->bytes + off, data, in->elem > 8 ? 8 : in->elem);
	if (off + in->elem > in->size)
		in->size = off + in->elem;
	return true;
}

static uint64_t init_float_bits(const struct initialiser *in, const struct token *t, bool negative)
{
	uint64_t bits = t->u;
	double d;
	float f;

	if (t->kind == T_F32) {
		uint32_t b = t->u;

		memcpy(&f, &b, 4);
		d = f;
	} else {
		memcpy(&d, &t->u, 8);
		f = (float)d;
	}
	if (negative)
		d = -d, f = -f;
	bits = 0;
	if (in->elem == 8)
		memcpy(&bits, &d, 8);
	else
		memcpy(&bits, &f, 4);
	return bits;
}

static bool init_is_float(const struct initialiser *in)
{
	return in->v->type == PTX_F32 || in->v->type == PTX_F64;
}

static bool init_number(struct parser *p, struct initialiser *in, uint64_t index)
{
	struct token at = p->tok;
	bool negative = false;
	uint64_t bits;
	int64_t v;
	struct parse_mark k;

	parse_mark(p, &k);
	if (p->tok.kind == '-') {
		negative = true;
		parse_next(p);
	}
	if (p->tok.kind == T_F32 || p->tok.kind == T_F64) {
		bits = init_float_bits(in, &p->tok, negative);
		parse_next(p);
		return init_store(p, in, index, &bits, &at);
	}
	parse_rewind(p, &k);
	if (!parse_const(p, &v))
		return false;
	bits = v;
	if (init_is_float(in)) {
		double d = (double)v;
		struct token t = {.kind = T_F64};

		memcpy(&t.u, &d, 8);
		bits = init_float_bits(in, &t, false);
	}
	return init_store(p, in, index, &bits, &at);
}

/* name, name+4, generic(name)+4; masked: inside 0xFF(...). */
static bool init_symbol(struct parser *p, struct initialiser *in, uint64_t index, uint8_t shift, bool masked)
{
	struct ptx_var *v = in->v;
	struct token at = p->tok;
	bool generic = token_is(&at, T_IDENT, "generic");
	struct ptx_reloc *r, rel = {.generic = generic, .shift = shift, .size = in->elem};
	uint64_t zero = 0;

	parse_next(p);
	if (generic) {
		if (!parse_expect(p, '(', "'('"))
			return false;
		at = p->tok;
		if (!parse_expect(p, T_IDENT, "a name") || !parse_expect(p, ')', "')'"))
			return false;
	}
	if ((p->tok.kind == '+' || p->tok.kind == '-') && !parse_const(p, &rel.addend))
		return false;
	if (in->elem > 8 || (in->elem < 4 && !masked)) {
		parse_fail(p, &at, "an address does not fit an element of type .%s", ptx_type_name(v->type));
		return false;
	}
	rel.name = token_copy(p, &at);
	rel.offset = index * in->elem;
	r = arena_push(p->m->arena, in->relocs, v->nrelocs, sizeof *r);
	if (!r || !rel.name) {
		parse_fail_memory(p);
		return false;
	}
	in->relocs = r;
	r[v->nrelocs++] = rel;
	return init_store(p, in, index, &zero, &at);
}

/* 0xFF00(name): one byte of an address. */
static bool init_masked_symbol(struct parser *p, struct initialiser *in, uint64_t index)
{
	uint64_t mask = p->tok.u;
	unsigned shift = mask ? __builtin_ctzll(mask) : 0;

	if (mask != UINT64_C(0xff) << shift || shift % 8) {
		parse_fail(p, &p->tok, "mask must select one byte");
		return false;
	}
	parse_next(p);
	parse_next(p); /* the parenthesis */
	return init_symbol(p, in, index, shift, true) && parse_expect(p, ')', "')'");
}

static bool init_scalar(struct parser *p, struct initialiser *in, uint64_t index)
{
	struct parse_mark k;

	if (p->tok.kind == T_INT) {
		bool paren;

		parse_mark(p, &k);
		parse_next(p);
		paren = p->tok.kind == '(';
		parse_rewind(p, &k);
		if (paren)
			return init_masked_symbol(p, in, index);
	}
	if (p->tok.kind == T_IDENT && !token_is(&p->tok, T_IDENT, "WARP_SZ"))
		return init_symbol(p, in, index, 0, false);
	return init_number(p, in, index);
}

/* { ... } starting at scalar `index`; each inner pair of braces covers p->spans[level] scalars. */
static bool init_braces(struct parser *p, struct initialiser *in, unsigned level, uint64_t index)
{
	uint64_t at = index;

	parse_next(p);
	while (p->tok.kind != '}' && !parse_failed(p)) {
		if (p->tok.kind == '{') {
			if (!p->spans[level]) {
				parse_fail(p, &p->tok, "too many nested braces");
				return false;
			}
			if (!init_braces(p, in, level + 1, at))
				return false;
			at += p->spans[level];
		} else {
			if (!init_scalar(p, in, at))
				return false;
			at++;
		}
		if (!parse_accept(p, ','))
			break;
	}
	return parse_expect(p, '}', "'}'");
}

void parse_init(struct parser *p, struct ptx_var *v)
{
	struct initialiser in = {.v = v, .elem = (ptx_type_bits(v->type) + 7) / 8, .limit = UINT64_MAX};

	if (ptx_type_kind(v->type) == PTX_KIND_OPAQUE) { /* { addr_mode_0 = wrap, ... }: ignored */
		if (p->tok.kind == '{')
			parse_skip_braces(p);
		else
			parse_fail(p, &p->tok, "expected '{'");
		return;
	}
	if (!v->unsized)
		in.limit = v->size / in.elem;
	if (p->tok.kind == '{')
		init_braces(p, &in, 0, 0);
	else
		init_scalar(p, &in, 0);
	if (parse_failed(p))
		return;
	if (v->unsized) {
		uint64_t unit = v->size ? v->size : in.elem;

		v->size = (in.size + unit - 1) / unit * unit;
		v->unsized = false;
	}
	v->init = in.bytes ? in.bytes : arena_alloc(p->m->arena, 1, 1);
	v->init_size = in.size;
	v->relocs = in.relocs;
}
