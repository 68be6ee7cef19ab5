/* Initialisers: numbers, nested braces, addresses of variables and functions. */
#include "ptx/parse/parse.h"

#include <string.h>

struct init {
	struct ptx_var *v;
	uint8_t *bytes;
	uint64_t capacity, size; /* size: up to the last byte written */
	uint64_t elem;           /* bytes of a scalar */
	uint64_t limit;          /* scalars that fit; UINT64_MAX for name[] */
	struct ptx_reloc *relocs;
};

/* Sparse initialisers of vast arrays are refused: memory stays in proportion to the text. */
static bool reserve(struct parser *p, struct init *in, uint64_t end, const struct token *at)
{
	uint64_t cap = in->capacity ? in->capacity : 64;
	uint8_t *bigger;

	if (end <= in->capacity)
		return true;
	if (end > 4096 + 64 * (uint64_t)p->m->text_len) {
		fail(p, at, "initialiser is spread over too large an array");
		return false;
	}
	while (cap < end)
		cap *= 2;
	bigger = arena_alloc(p->m->arena, cap, 1);
	if (!bigger) {
		fail_memory(p);
		return false;
	}
	if (in->size)
		memcpy(bigger, in->bytes, in->size);
	in->bytes = bigger;
	in->capacity = cap;
	return true;
}

static bool store(struct parser *p, struct init *in, uint64_t index, const void *data, const struct token *at)
{
	uint64_t off;

	if (index >= in->limit) {
		fail(p, at, "more initialisers than elements");
		return false;
	}
	off = index * in->elem;
	if (!reserve(p, in, off + in->elem, at))
		return false;
	memcpy(in->bytes + off, data, in->elem > 8 ? 8 : in->elem);
	if (off + in->elem > in->size)
		in->size = off + in->elem;
	return true;
}

static uint64_t float_bits(const struct init *in, const struct token *t, bool negative)
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

static bool is_float(const struct init *in)
{
	return in->v->type == PTX_F32 || in->v->type == PTX_F64;
}

static bool number(struct parser *p, struct init *in, uint64_t index)
{
	struct token at = p->tok;
	bool negative = false;
	uint64_t bits;
	int64_t v;
	struct mark k;

	mark(p, &k);
	if (p->tok.kind == '-') {
		negative = true;
		next(p);
	}
	if (p->tok.kind == T_F32 || p->tok.kind == T_F64) {
		bits = float_bits(in, &p->tok, negative);
		next(p);
		return store(p, in, index, &bits, &at);
	}
	back(p, &k);
	if (!parse_const(p, &v))
		return false;
	bits = v;
	if (is_float(in)) {
		double d = (double)v;
		struct token t = {.kind = T_F64};

		memcpy(&t.u, &d, 8);
		bits = float_bits(in, &t, false);
	}
	return store(p, in, index, &bits, &at);
}

/* name, name+4, generic(name)+4; inside mask(...) too. */
static bool symbol(struct parser *p, struct init *in, uint64_t index, uint8_t shift, bool masked)
{
	struct ptx_var *v = in->v;
	struct token at = p->tok;
	bool generic = tok_is(&at, T_IDENT, "generic");
	struct ptx_reloc *r, rel = {.generic = generic, .shift = shift, .size = in->elem};
	uint64_t zero = 0;

	next(p);
	if (generic) {
		if (!expect(p, '(', "'('"))
			return false;
		at = p->tok;
		if (!expect(p, T_IDENT, "a name") || !expect(p, ')', "')'"))
			return false;
	}
	if ((p->tok.kind == '+' || p->tok.kind == '-') && !parse_const(p, &rel.addend))
		return false;
	if (in->elem > 8 || (in->elem < 4 && !masked)) {
		fail(p, &at, "an address does not fit an element of type .%s", ptx_type_name(v->type));
		return false;
	}
	rel.name = tok_name(p, &at);
	rel.offset = index * in->elem;
	r = arena_push(p->m->arena, in->relocs, v->nrelocs, sizeof *r);
	if (!r || !rel.name) {
		fail_memory(p);
		return false;
	}
	in->relocs = r;
	r[v->nrelocs++] = rel;
	return store(p, in, index, &zero, &at);
}

/* 0xFF00(name): some bytes of an address. */
static bool masked_symbol(struct parser *p, struct init *in, uint64_t index)
{
	uint64_t mask = p->tok.u;
	unsigned shift = mask ? __builtin_ctzll(mask) : 0;

	if (mask != UINT64_C(0xff) << shift || shift % 8) {
		fail(p, &p->tok, "mask must select one byte");
		return false;
	}
	next(p);
	next(p); /* the parenthesis */
	return symbol(p, in, index, shift, true) && expect(p, ')', "')'");
}

static bool scalar(struct parser *p, struct init *in, uint64_t index)
{
	struct mark k;

	if (p->tok.kind == T_INT) {
		bool paren;

		mark(p, &k);
		next(p);
		paren = p->tok.kind == '(';
		back(p, &k);
		if (paren)
			return masked_symbol(p, in, index);
	}
	if (p->tok.kind == T_IDENT && !tok_is(&p->tok, T_IDENT, "WARP_SZ"))
		return symbol(p, in, index, 0, false);
	return number(p, in, index);
}

/* { ... } from scalar `index` on; each inner pair of braces covers p->spans[level] scalars. */
static bool braces(struct parser *p, struct init *in, unsigned level, uint64_t index)
{
	uint64_t at = index;

	next(p);
	while (p->tok.kind != '}' && !failed(p)) {
		if (p->tok.kind == '{') {
			if (!p->spans[level]) {
				fail(p, &p->tok, "too many nested braces");
				return false;
			}
			if (!braces(p, in, level + 1, at))
				return false;
			at += p->spans[level];
		} else {
			if (!scalar(p, in, at))
				return false;
			at++;
		}
		if (!accept(p, ','))
			break;
	}
	return expect(p, '}', "'}'");
}

/* After '='. */
void parse_init(struct parser *p, struct ptx_var *v)
{
	struct init in = {.v = v, .elem = (ptx_type_bits(v->type) + 7) / 8, .limit = UINT64_MAX};

	if (ptx_type_kind(v->type) == PTX_KIND_OPAQUE) { /* { addr_mode_0 = wrap, ... }: nothing we use */
		if (p->tok.kind == '{')
			skip_braces(p);
		else
			fail(p, &p->tok, "expected '{'");
		return;
	}
	if (!v->unsized)
		in.limit = v->size / in.elem;
	if (p->tok.kind == '{')
		braces(p, &in, 0, 0);
	else
		scalar(p, &in, 0);
	if (failed(p))
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
