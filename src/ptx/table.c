/*
 * The tables of types, special registers, modifiers and opcodes, made from the .def files, and table_match, which finds
 * the row for a mnemonic.
 */
#include "ptx/parse/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T(t)           (UINT64_C(1) << PTX_##t)
#define NT             {0}
#define T1(a)          {a}
#define T2(a, b)       {a, b}
#define T3(a, b, c)    {a, b, c}
#define T4(a, b, c, d) {a, b, c, d}

#define S_I32   (T(U32) | T(S32))
#define S_I3264 (S_I32 | T(U64) | T(S64))
#define S_INT   (S_I3264 | T(U16) | T(S16))
#define S_INT8  (S_INT | T(U8) | T(S8))
#define S_B3264 (T(B32) | T(B64))
#define S_BITS  (S_B3264 | T(B16))
#define S_HALF  (T(F16) | T(F16X2) | T(BF16) | T(BF16X2))
#define S_FLOAT (T(F16) | T(BF16) | T(F32) | T(F64))
#define S_MEM   (S_BITS | T(B8) | T(B128) | S_INT8 | T(F32) | T(F64))
#define S_FP8X2 (T(E4M3X2) | T(E5M2X2) | T(E2M1X2) | T(E2M3X2) | T(E3M2X2) | T(UE8M0X2))
#define S_SURF  (T(B8) | S_BITS)
#define S_TEX   (S_I32 | T(F32) | T(F16) | T(F16X2))
#define S_MMA \
	(T(F16) | T(BF16) | T(F32) | T(F64) | T(TF32) | T(S8) | T(U8) | T(S4) | T(U4) | T(B1) | T(S32) | T(E4M3) | \
		T(E5M2))

#define C(c)   (UINT64_C(1) << CLASS_##c)
#define S_ATOM (C(SEM) | C(SCOPE) | C(SPACE) | C(AOP) | C(HINT) | C(CACHE))
#define S_LDST (C(SEM) | C(SCOPE) | C(SPACE) | C(VEC) | C(HINT) | C(CACHE))
#define S_MBAR (C(SEM) | C(SCOPE) | C(SPACE) | C(WORD))

/* FORM rows belong to the OP row above them: table_opcode walks back to it. */
enum { SAME_OPCODE = 0xffff };
static const struct op_row rows[] = {
#define OP(name, base, words, operands, types, must, may) {PTX_OP_##name, base, words, operands, types, must, may},
#define FORM(base, words, operands, types, must, may)     {SAME_OPCODE, base, words, operands, types, must, may},
#include "ptx/ops.def"
#undef OP
#undef FORM
};
enum { NROWS = sizeof rows / sizeof *rows };

static const char *const op_names[] = {
#define OP(name, ...) #name,
#define FORM(...)
#include "ptx/ops.def"
#undef OP
#undef FORM
};

static const char *const op_operands[] = {
#define OP(name, base, words, operands, types, must, may) operands,
#define FORM(...)
#include "ptx/ops.def"
#undef OP
#undef FORM
};

static const struct {
	const char *text;
	uint8_t bits, kind;
} types[] = {
#define TYPE(name, text, bits, kind) {text, bits, PTX_KIND_##kind},
#include "ptx/types.def"
#undef TYPE
};
_Static_assert(PTX_NTYPES <= 64, "a set of types is one word");
_Static_assert(CLASS_COUNT <= 64, "a set of classes is one word");

static const struct {
	const char *text;
	uint8_t type, dims;
} sregs[] = {
#define SREG(name, text, type, dims) {text, PTX_##type, dims},
#include "ptx/sregs.def"
#undef SREG
};

static const struct mod_row {
	const char *text;
	uint8_t class, field, value;
} mods[] = {
#define MOD(text, class, field, value) {text, CLASS_##class, FIELD_##field, value},
#include "ptx/mods.def"
#undef MOD
};
enum { NMODS = sizeof mods / sizeof *mods };

const char *ptx_type_name(unsigned t)
{
	return t < PTX_NTYPES ? types[t].text : "?";
}

unsigned ptx_type_bits(unsigned t)
{
	return t < PTX_NTYPES ? types[t].bits : 0;
}

enum ptx_kind ptx_type_kind(unsigned t)
{
	return t < PTX_NTYPES ? types[t].kind : PTX_KIND_NONE;
}

const char *ptx_op_name(unsigned op)
{
	return op < PTX_NOPS ? op_names[op] : "?";
}

const char *ptx_sreg_name(unsigned s)
{
	return s < PTX_NSREGS ? sregs[s].text : "?";
}

int table_sreg_type(unsigned s)
{
	return sregs[s].type;
}

unsigned table_sreg_dims(unsigned s)
{
	return sregs[s].dims;
}

/* All forms of an opcode have the same results. */
unsigned ptx_inst_ndest(const struct ptx_inst *in)
{
	unsigned n = strspn(op_operands[in->op], "DEZGHWXPMFV|");

	return n < in->nops ? n : in->nops;
}

const char *table_mod_text(unsigned field, unsigned value)
{
	for (int i = 0; i < NMODS; i++)
		if (mods[i].field == field && mods[i].value == value && strcmp(mods[i].text, "gl"))
			return mods[i].text;
	return "?";
}

/* strcmp of s, which has a length, with t, which ends in NUL. */
static int compare_text(const char *s, size_t len, const char *t)
{
	int c = strncmp(s, t, len);

	return c ? c : t[len] ? -1 : 0;
}

int table_type(const char *s, size_t len)
{
	for (int t = 1; len && t < PTX_NTYPES; t++)
		if (s[0] == types[t].text[0] && !compare_text(s, len, types[t].text))
			return t;
	return -1;
}

static bool match_sreg_family(const char *s, size_t len, const char *prefix, unsigned limit, uint8_t *number)
{
	size_t n = strlen(prefix);
	unsigned v = 0;

	if (len <= n || len > n + 3 || memcmp(s, prefix, n))
		return false;
	for (; n < len; n++) {
		if (s[n] < '0' || s[n] > '9')
			return false;
		v = v * 10 + (s[n] - '0');
	}
	*number = v;
	return v < limit;
}

int table_sreg(const char *s, size_t len, uint8_t *comp, bool *dims)
{
	*comp = 0;
	*dims = false;
	if (!len || *s != '%')
		return -1;
	s++, len--;
	for (int i = 0; i < PTX_NSREGS; i++) {
		if (!compare_text(s, len, sregs[i].text)) {
			*dims = sregs[i].dims > 1;
			return i;
		}
	}
	if (match_sreg_family(s, len, "envreg", 32, comp))
		return PTX_SR_envreg;
	if (match_sreg_family(s, len, "reserved_smem_offset_", 2, comp))
		return PTX_SR_reserved_smem_offset;
	if (len == 6 && !memcmp(s + 3, "_64", 3) && match_sreg_family(s, 3, "pm", 8, comp))
		return PTX_SR_pm64;
	return match_sreg_family(s, len, "pm", 8, comp) ? PTX_SR_pm : -1;
}

static const struct op_row *find_first_row(const struct token *t)
{
	int lo = 0, hi = NROWS;

	while (lo < hi) {
		int mid = (lo + hi) / 2;

		if (compare_text(t->s, t->len, rows[mid].base) > 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < NROWS && !compare_text(t->s, t->len, rows[lo].base) ? &rows[lo] : NULL;
}

static const struct mod_row *find_mod_row(const struct token *t)
{
	int lo = 0, hi = NMODS;

	while (lo < hi) {
		int mid = (lo + hi) / 2;

		if (compare_text(t->s, t->len, mods[mid].text) > 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < NMODS && !compare_text(t->s, t->len, mods[lo].text) ? &mods[lo] : NULL;
}

/* .m16n8k16, .m8n8: up to 256 each, where 256 is stored as 0. */
static bool parse_mma_shape(const struct token *t, struct ptx_mods *m)
{
	static const char letters[] = "mnk";
	unsigned v[3] = {0}, n = 0;
	uint32_t i = 0;

	while (i < t->len && n < 3 && t->s[i] == letters[n]) {
		uint32_t from = ++i;

		for (; i < t->len && i - from < 3 && t->s[i] >= '0' && t->s[i] <= '9'; i++)
			v[n] = v[n] * 10 + (t->s[i] - '0');
		if (i == from || v[n] > 256)
			return false;
		n++;
	}
	if (i != t->len || n < 2)
		return false;
	m->mma_m = v[0];
	m->mma_n = v[1];
	m->mma_k = v[2];
	return true;
}

struct row_match {
	const struct op_row *row;
	struct ptx_mods m;
	uint64_t seen;     /* set of classes */
	uint64_t consumed; /* set of modifiers, by index, that the row's words require */
	unsigned done;     /* number of modifiers decoded before the row refused */
	const struct token *where;
	char why[128];
};

static bool set_field(struct row_match *x, const struct mod_row *r, const struct token *t)
{
	uint8_t *field = &x->m.rnd + r->field;
	bool repeats = r->class == CLASS_CACHE || r->class == CLASS_WORD || r->class == CLASS_XORSIGN;

	if (*field && !repeats) {
		snprintf(x->why, sizeof x->why, "'.%s' conflicts with another modifier of its kind", r->text);
		x->where = t;
		return false;
	}
	*field = r->value;
	x->seen |= UINT64_C(1) << r->class;
	return true;
}

static bool take_type(struct row_match *x, const struct token *t, int type)
{
	const struct op_row *row = x->row;
	unsigned n = x->m.ntypes;

	if (n >= 4 || !row->types[n]) {
		snprintf(x->why, sizeof x->why, "'%s' takes %s", row->base, n ? "fewer types" : "no type");
	} else if (!(row->types[n] >> type & 1)) {
		snprintf(x->why, sizeof x->why, "type '.%s' is not allowed on '%s'", ptx_type_name(type), row->base);
	} else {
		x->m.type[x->m.ntypes++] = type;
		return true;
	}
	x->where = t;
	return false;
}

static bool is_cache_hint(const struct token *t)
{
	return t->len > 4 && (!memcmp(t->s, "L1::", 4) || !memcmp(t->s, "L2::", 4));
}

static bool take_mod(struct row_match *x, const struct token *t, bool consumed)
{
	uint64_t allowed = x->row->must | x->row->may;
	const struct mod_row *r = find_mod_row(t);
	int type = table_type(t->s, t->len);
	const struct mod_row *pick = NULL;
	bool known = r != NULL;

	/* .row.col, .shared.global: the second word of a kind sets the second field, if the row has one. */
	for (; r && r < mods + NMODS && !compare_text(t->s, t->len, r->text); r++) {
		if (!(allowed >> r->class & 1))
			continue;
		pick = r;
		if (!(&x->m.rnd)[r->field])
			break;
	}
	if (pick)
		return set_field(x, pick, t);
	if (consumed)
		return true;
	if (type > 0)
		return take_type(x, t, type);
	if ((allowed & C(CACHE)) && is_cache_hint(t)) {
		x->m.cache = 1;
		x->seen |= C(CACHE);
		return true;
	}
	if ((allowed & C(SHAPE)) && !x->m.mma_m && parse_mma_shape(t, &x->m)) {
		x->seen |= C(SHAPE);
		return true;
	}
	snprintf(x->why, sizeof x->why,
		known ? "modifier '.%.*s' is not allowed on '%s'" : "unknown modifier '.%.*s' on '%s'",
		t->len > 40 ? 40 : (int)t->len, t->s, x->row->base);
	x->where = t;
	return false;
}

/* Each word of the row must match a modifier of its own. */
static bool take_words(struct row_match *x, const struct mnemonic *mn)
{
	const char *w = x->row->words;

	while (*w) {
		size_t len = strcspn(w, ".");
		unsigned i;

		for (i = 0; i < mn->nmods; i++)
			if (!(x->consumed >> i & 1) && mn->mods[i].len == len && !memcmp(mn->mods[i].s, w, len))
				break;
		if (i == mn->nmods) {
			snprintf(x->why, sizeof x->why, "'%s' needs '.%.*s'", x->row->base, (int)len, w);
			x->where = &mn->base;
			return false;
		}
		x->consumed |= UINT64_C(1) << i;
		w += len + (w[len] == '.');
	}
	return true;
}

static const char *class_name(unsigned class)
{
	static const char *const names[] = {
#define X(c) #c,
		CLASSES(X)
#undef X
	};

	switch (class) {
	case CLASS_RND:
	case CLASS_RNDS:
	case CLASS_RNDI:
		return "a rounding mode";
	case CLASS_CMP:
		return "a comparison";
	case CLASS_HALF:
		return ".lo or .hi";
	case CLASS_SPACE:
	case CLASS_SPACE2:
		return "a state space";
	case CLASS_SCOPE:
		return "a scope";
	case CLASS_GEOM:
		return "a geometry";
	case CLASS_VEC:
		return ".v2 or .v4";
	case CLASS_BOOL:
	case CLASS_AOP:
		return "an operation";
	case CLASS_APPROX:
		return ".approx";
	case CLASS_WRAP:
		return ".clamp or .wrap";
	}
	return names[class];
}

static bool match_complete(struct row_match *x, const struct mnemonic *mn)
{
	const struct op_row *row = x->row;
	uint64_t missing = row->must & ~x->seen;
	unsigned n = x->m.ntypes;

	x->where = &mn->base;
	if (n < 4 && row->types[n] && !(row->types[n] & T(NONE))) {
		snprintf(x->why, sizeof x->why, "'%s' needs %s type", row->base, n ? "one more" : "a");
		return false;
	}
	if (missing) {
		snprintf(x->why, sizeof x->why, "'%s' needs %s", row->base, class_name(__builtin_ctzll(missing)));
		return false;
	}
	return true;
}

static bool match_row(struct row_match *x, const struct op_row *row, const struct mnemonic *mn)
{
	*x = (struct row_match){.row = row};
	if (!take_words(x, mn))
		return false;
	x->done = 1;
	for (unsigned i = 0; i < mn->nmods; i++, x->done++)
		if (!take_mod(x, &mn->mods[i], x->consumed >> i & 1))
			return false;
	x->done++;
	return match_complete(x, mn);
}

/* Of several rows that refuse, the one with matching types gives the most helpful reason. */
static bool types_fit(const struct op_row *row, const struct mnemonic *mn)
{
	unsigned n = 0;

	for (unsigned i = 0; i < mn->nmods; i++) {
		int type = table_type(mn->mods[i].s, mn->mods[i].len);

		if (type > 0 && (n == 4 || !(row->types[n++] >> type & 1)))
			return false;
	}
	return n > 0;
}

const struct op_row *table_match(
	const struct mnemonic *mn, struct ptx_mods *m, const struct token **where, char *why, size_t size)
{
	const struct op_row *row = find_first_row(&mn->base);
	struct row_match x, best = {.where = &mn->base};

	if (!row) {
		*where = &mn->base;
		snprintf(why, size, "unknown opcode '%.*s'", mn->base.len > 60 ? 60 : (int)mn->base.len, mn->base.s);
		return NULL;
	}
	for (const char *base = row->base; row < rows + NROWS && !strcmp(row->base, base); row++) {
		if (match_row(&x, row, mn)) {
			*m = x.m;
			return row;
		}
		x.done += 100 * types_fit(row, mn);
		if (x.done > best.done || !best.why[0])
			best = x;
	}
	*where = best.where;
	snprintf(why, size, "%s", best.why);
	return NULL;
}

unsigned table_opcode(const struct op_row *row)
{
	while (row->op == SAME_OPCODE)
		row--;
	return row->op;
}

static unsigned mnemonic_split(const char *s, struct mnemonic *mn)
{
	size_t len = strcspn(s, ".");

	mn->base = (struct token){.kind = T_IDENT, .s = s, .len = len};
	for (s += len; *s == '.' && mn->nmods < MAX_MODS; s += len) {
		s++;
		len = strcspn(s, ".");
		mn->mods[mn->nmods++] = (struct token){.kind = T_DOT, .s = s, .len = len};
	}
	return mn->nmods;
}

bool ptx_mnemonic_known(const char *mnemonic, char *why, size_t size)
{
	struct mnemonic mn = {0};
	const struct token *where;
	struct ptx_mods m;

	mnemonic_split(mnemonic, &mn);
	return table_match(&mn, &m, &where, why, size) != NULL;
}
