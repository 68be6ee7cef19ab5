/* Makes the spec files of integer arithmetic. Functions get zero-extended operands and may return more bits than the
 * result has. */
#include "make.h"
#include <stdio.h>
#include <string.h>

typedef __int128 s128;
typedef unsigned __int128 u128;

/* The operand as a number, by the form's sign and width. */
static s128 num(const struct form *f, uint64_t v)
{
	unsigned k = 64 - (unsigned)f->bits;

	return f->sign ? (s128)((int64_t)(v << k) >> k) : (s128)(v << k >> k);
}

static s128 clamp(s128 v, s128 low, s128 high)
{
	return v < low ? low : v > high ? high : v;
}

static s128 clamp32(s128 v)
{
	return clamp(v, INT32_MIN, INT32_MAX);
}

/* The middle of a product: bits n and above, of a product of 2n bits. */
static uint64_t high(const struct form *f, const uint64_t *in)
{
	return f->sign ? (uint64_t)(num(f, in[0]) * num(f, in[1]) >> f->bits)
		       : (uint64_t)((u128)num(f, in[0]) * (u128)num(f, in[1]) >> f->bits);
}

static s128 part24(const struct form *f, uint64_t v)
{
	return f->sign ? (s128)((int32_t)((uint32_t)v << 8) >> 8) : (s128)(v & 0xffffff);
}

#define LANE(name, expr) \
	static uint64_t name(const struct form *f, const uint64_t *in) \
	{ \
		const s128 a = num(f, in[0]), b = num(f, in[1]), c = num(f, in[2]); \
		(void)f, (void)a, (void)b, (void)c; \
		return (uint64_t)(expr); \
	}
LANE(add, a + b)
LANE(sub, a - b)
LANE(mul, (u128)a *(u128)b)
LANE(mul_hi, high(f, in))
LANE(mad, (u128)a *(u128)b + in[2])
LANE(mad_hi, high(f, in) + in[2])
LANE(add_sat, clamp32(a + b))
LANE(sub_sat, clamp32(a - b))
LANE(mad_hi_sat, clamp32((int32_t)high(f, in) + c))
LANE(quotient, b == 0 ? (s128)-1 : a / b)
LANE(rest, b == 0 ? (s128)-1 : a % b)
LANE(minimum, a < b ? a : b)
LANE(maximum, a > b ? a : b)
LANE(absolute, a < 0 ? -a : a)
LANE(negate, -a)
LANE(sad, in[2] + (a < b ? b - a : a - b))
LANE(mul24, part24(f, in[0]) * part24(f, in[1]))
LANE(mul24_hi, part24(f, in[0]) * part24(f, in[1]) >> 16)
LANE(mad24, part24(f, in[0]) * part24(f, in[1]) + c)
LANE(mad24_hi, (part24(f, in[0]) * part24(f, in[1]) >> 16) + c)
LANE(mad24_hi_sat, clamp32((int32_t)(part24(f, in[0]) * part24(f, in[1]) >> 16) + c))
LANE(and, in[0] & in[1])
LANE(or, in[0] | in[1])
LANE(xor, in[0] ^ in[1])
LANE(not, ~in[0])
LANE(cnot, in[0] == 0)
LANE(selp, in[2] ? in[0] : in[1])
LANE(same, in[0])
LANE(opposite, !in[0])

/* Shift amounts are not reduced, however large. */
LANE(shl, in[1] >= (uint64_t)f->bits ? 0 : in[0] << in[1])
LANE(shr, in[1] >= (uint64_t)f->bits ? (a < 0 ? (s128)-1 : 0) : a >> in[1])

static uint64_t funnel(const struct form *f, const uint64_t *in)
{
	uint64_t both = in[1] << 32 | in[0], n = f->mode ? in[2] % 32 : in[2] > 32 ? 32 : in[2];

	return f->op ? both >> n : (uint64_t)((u128)both << n >> 32);
}

static uint64_t count(const struct form *f, const uint64_t *in)
{
	unsigned n = 0;

	for (int i = 0; i < f->bits; i++)
		n += in[0] >> i & 1;
	return n;
}

static uint64_t leading(const struct form *f, const uint64_t *in)
{
	unsigned n = 0;

	while ((int)n < f->bits && !(in[0] >> (f->bits - 1 - (int)n) & 1))
		n++;
	return n;
}

static uint64_t backwards(const struct form *f, const uint64_t *in)
{
	uint64_t r = 0;

	for (int i = 0; i < f->bits; i++)
		r |= (in[0] >> i & 1) << (f->bits - 1 - i);
	return r;
}

/* bfind: the highest bit that differs from the sign. op: .shiftamt */
static uint64_t find(const struct form *f, const uint64_t *in)
{
	bool filler = f->sign && in[0] >> (f->bits - 1) & 1;

	for (int i = f->bits - 1; i >= 0; i--)
		if ((in[0] >> i & 1) != filler)
			return (uint64_t)(f->op ? f->bits - 1 - i : i);
	return UINT32_MAX;
}

/* bit by bit, as in the manual */
static uint64_t extract(const struct form *f, const uint64_t *in)
{
	unsigned pos = in[1] & 255, len = in[2] & 255, msb = (unsigned)f->bits - 1;
	unsigned last = pos + len - 1 < msb ? pos + len - 1 : msb;
	bool sign = f->sign && len && in[0] >> last & 1;
	uint64_t r = 0;

	for (unsigned i = 0; i <= msb; i++) {
		bool bit = i < len && pos + i <= msb ? in[0] >> (pos + i) & 1 : sign;

		r |= (uint64_t)bit << i;
	}
	return r;
}

static uint64_t insert(const struct form *f, const uint64_t *in)
{
	unsigned pos = in[2] & 255, len = in[3] & 255;
	uint64_t r = in[1];

	for (unsigned i = 0; i < len && (int)(pos + i) < f->bits; i++)
		r = (r & ~(1ull << (pos + i))) | (in[0] >> i & 1) << (pos + i);
	return r;
}

/* bmsk. mode: wrap */
static uint64_t mask(const struct form *f, const uint64_t *in)
{
	uint64_t pos = f->mode ? in[0] % 32 : in[0], len = f->mode ? in[1] % 32 : in[1], r = 0;

	for (uint64_t i = 0; i < 32; i++)
		r |= (uint64_t)(i >= pos && i - pos < len) << i;
	return r;
}

static uint64_t extend(const struct form *f, const uint64_t *in)
{
	uint64_t n = f->mode ? in[1] % 32 : in[1] > 32 ? 32 : in[1], r = 0;
	bool sign = f->sign && n && in[0] >> (n - 1) & 1;

	for (uint64_t i = 0; i < 32; i++)
		r |= (uint64_t)(i < n ? in[0] >> i & 1 : sign) << i;
	return r;
}

static uint64_t nth(const struct form *f, const uint64_t *in)
{
	int base = (int)(in[1] % 32), n = (int32_t)in[2];

	(void)f;
	if (in[1] > 31)
		return UINT32_MAX;
	if (n == 0)
		return in[0] >> base & 1 ? (uint64_t)base : UINT32_MAX;
	for (int i = base; i >= 0 && i < 32; i += n > 0 ? 1 : -1)
		if (in[0] >> i & 1 && (n > 0 ? --n : ++n) == 0)
			return (uint64_t)i;
	return UINT32_MAX;
}

static uint64_t logic3(const struct form *f, const uint64_t *in)
{
	uint64_t r = 0;

	for (int i = 0; i < 32; i++) {
		unsigned row = (unsigned)((in[0] >> i & 1) << 2 | (in[1] >> i & 1) << 1 | (in[2] >> i & 1));

		r |= (uint64_t)(f->op >> row & 1) << i;
	}
	return r;
}

static uint64_t byte_of(const uint64_t *in, unsigned sel)
{
	uint64_t v = (in[1] << 32 | in[0]) >> 8 * (sel & 7) & 255;

	return sel & 8 ? (v & 128 ? 255 : 0) : v;
}

/* op: 0 the selector itself; else the named modes, by the manual's table */
static uint64_t permute(const struct form *f, const uint64_t *in)
{
	static const char *const table[][4] = {{0}, {"3210", "4321", "5432", "6543"}, {"5670", "6701", "7012", "0123"},
		{"0000", "1111", "2222", "3333"}, {"3210", "3211", "3222", "3333"}, {"0000", "1110", "2210", "3210"},
		{"1010", "3232", "1010", "3232"}};
	uint64_t r = 0;

	for (unsigned n = 0; n < 4; n++) {
		unsigned sel = f->op ? (unsigned)(table[f->op][in[2] & 3][3 - n] - '0') : in[2] >> 4 * n & 15;

		r |= byte_of(in, sel) << 8 * n;
	}
	return r;
}

static int element(uint64_t v, unsigned n, unsigned bits, bool sign)
{
	uint64_t e = v >> n * bits & ((1u << bits) - 1);

	return sign && e >> (bits - 1) ? (int)e - (1 << bits) : (int)e;
}

/* op bit 0: a signed, bit 1: b signed; mode: 4 bytes, or 2 with .lo, .hi */
static uint64_t dot(const struct form *f, const uint64_t *in)
{
	int64_t r = (int64_t)in[2];

	for (unsigned n = 0; n < (f->mode ? 2 : 4); n++)
		r += (int64_t)element(in[0], n, f->mode ? 16 : 8, f->op & 1) *
		     element(in[1], n + (f->mode == 2 ? 2 : 0), 8, f->op & 2);
	return (uint64_t)r;
}

/* Pairs of 16 bits, and the SIMD video instructions. bits: of an element. */
static uint64_t lanes(const struct form *f, const uint64_t *in)
{
	uint64_t r = f->mode ? in[2] : 0;

	for (unsigned n = 0; n < 32 / (unsigned)f->bits; n++) {
		int a = element(in[0], n, (unsigned)f->bits, f->sign),
		    b = element(in[1], n, (unsigned)f->bits, f->sign), v;

		switch (f->op) {
		case '+':
			v = a + b;
			break;
		case '-':
			v = a - b;
			break;
		case '<':
			v = a < b ? a : b;
			break;
		case '>':
			v = a > b ? a : b;
			break;
		case 'a':
			v = (a + b + (a + b >= 0)) >> 1;
			break;
		default:
			v = a < b ? b - a : a - b;
			break;
		}
		if (f->cmp) /* .relu */
			v = v < 0 ? 0 : v;
		if (f->sat && f->sign)
			v = (int)clamp(v, -(1 << (f->bits - 1)), (1 << (f->bits - 1)) - 1);
		else if (f->sat)
			v = (int)clamp(v, 0, (1 << f->bits) - 1);
		if (f->mode) /* .add */
			r += (uint64_t)(int64_t)v;
		else
			r |= ((uint64_t)v & ((1ull << f->bits) - 1)) << n * (unsigned)f->bits;
	}
	return r;
}

/* ---- the forms ---- */

static const char *const ints[] = {"u16", "s16", "u32", "s32", "u64", "s64"};
static const char *const bit_types[] = {"b16", "b32", "b64"};

static void one(const char *folder, const char *mnemonic, const char *result, const char *a, const char *b,
	const char *c, lane_fn *fn, int op, int mode)
{
	struct form f = {.folder = folder, .mnemonic = mnemonic, .result = result, .in = {a, b, c}, .fn = fn};

	f.op = op;
	f.mode = mode;
	f.sign = a[0] == 's';
	f.bits = (int)size_named(a);
	if (fn == extract) /* more is undefined */
		f.limit[1] = f.limit[2] = 255;
	if (fn == nth) {
		f.limit[1] = 31;
		f.avoid = 0x80000000; /* has no absolute value */
	}
	write_form(&f);
}

static const char *wider(const char *type)
{
	return !strcmp(type, "u16") ? "u32" : !strcmp(type, "s16") ? "s32" : !strcmp(type, "u32") ? "u64" : "s64";
}

static void arithmetic(const char *t)
{
	static const struct {
		const char *name;
		lane_fn *fn;
		int operands;
		bool is_signed;
	} ops[] = {{"add", add, 2, 0}, {"sub", sub, 2, 0}, {"mul.lo", mul, 2, 0}, {"mul.hi", mul_hi, 2, 0},
		{"mad.lo", mad, 3, 0}, {"mad.hi", mad_hi, 3, 0}, {"div", quotient, 2, 0}, {"rem", rest, 2, 0},
		{"min", minimum, 2, 0}, {"max", maximum, 2, 0}, {"sad", sad, 3, 0}, {"abs", absolute, 1, 1},
		{"neg", negate, 1, 1}};
	char name[40];

	for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++) {
		if (ops[i].is_signed && t[0] != 's')
			continue;
		snprintf(name, sizeof name, "%s.%s", ops[i].name, t);
		one("int", name, t, t, ops[i].operands > 1 ? t : NULL, ops[i].operands > 2 ? t : NULL, ops[i].fn, 0, 0);
	}
	if (size_named(t) < 64) {
		snprintf(name, sizeof name, "mul.wide.%s", t);
		one("int", name, wider(t), t, t, NULL, mul, 0, 0);
		snprintf(name, sizeof name, "mad.wide.%s", t);
		struct form f = {
			.folder = "int", .mnemonic = name, .result = wider(t), .in = {t, t, wider(t)}, .fn = mad};
		f.sign = t[0] == 's';
		f.bits = (int)size_named(t);
		f.cmp = 1;
		write_form(&f);
	}
}

static void logic(const char *t)
{
	static const struct {
		const char *name;
		lane_fn *fn;
		int operands;
	} ops[] = {{"and", and, 2}, {"or", or, 2}, {"xor", xor, 2}, {"not", not, 1}, {"cnot", cnot, 1}};
	char name[40];

	for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++) {
		snprintf(name, sizeof name, "%s.%s", ops[i].name, t);
		one("bits", name, t, t, ops[i].operands > 1 ? t : NULL, NULL, ops[i].fn, 0, 0);
	}
	snprintf(name, sizeof name, "shl.%s", t);
	one("bits", name, t, t, "u32", NULL, shl, 0, 0);
	snprintf(name, sizeof name, "shr.%s", t);
	one("bits", name, t, t, "u32", NULL, shr, 0, 0);
	snprintf(name, sizeof name, "selp.%s", t);
	one("bits", name, t, t, t, "pred", selp, 0, 0);
	if (size_named(t) == 16)
		return;
	snprintf(name, sizeof name, "popc.%s", t);
	one("bits", name, "u32", t, NULL, NULL, count, 0, 0);
	snprintf(name, sizeof name, "clz.%s", t);
	one("bits", name, "u32", t, NULL, NULL, leading, 0, 0);
	snprintf(name, sizeof name, "brev.%s", t);
	one("bits", name, t, t, NULL, NULL, backwards, 0, 0);
	snprintf(name, sizeof name, "bfi.%s", t);
	struct form f = {.folder = "bits", .mnemonic = name, .result = t, .in = {t, t, "u32", "u32"}, .fn = insert};
	f.bits = (int)size_named(t);
	f.limit[2] = f.limit[3] = 255;
	write_form(&f);
}

/* Predicates and moves; floats too, whose NaNs keep their bits. */
static void moves(void)
{
	static const char *const types[] = {"b16", "b32", "b64", "u16", "u32", "u64", "s32", "f32", "f64", "pred"};
	char name[40];

	for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++) {
		snprintf(name, sizeof name, "mov.%s", types[i]);
		one("bits", name, types[i], types[i], NULL, NULL, same, 0, 0);
	}
	one("bits", "selp.f32", "f32", "f32", "f32", "pred", selp, 0, 0);
	one("bits", "selp.f64", "f64", "f64", "f64", "pred", selp, 0, 0);
	one("bits", "and.pred", "pred", "pred", "pred", NULL, and, 0, 0);
	one("bits", "or.pred", "pred", "pred", "pred", NULL, or, 0, 0);
	one("bits", "xor.pred", "pred", "pred", "pred", NULL, xor, 0, 0);
	one("bits", "not.pred", "pred", "pred", NULL, NULL, opposite, 0, 0);
}

static void fields(const char *t)
{
	char name[40];

	snprintf(name, sizeof name, "shr.%s", t);
	one("bits", name, t, t, "u32", NULL, shr, 0, 0);
	snprintf(name, sizeof name, "selp.%s", t);
	one("bits", name, t, t, t, "pred", selp, 0, 0);
	if (size_named(t) == 16)
		return;
	snprintf(name, sizeof name, "bfe.%s", t);
	one("bits", name, t, t, "u32", "u32", extract, 0, 0);
	snprintf(name, sizeof name, "bfind.%s", t);
	one("bits", name, "u32", t, NULL, NULL, find, 0, 0);
	snprintf(name, sizeof name, "bfind.shiftamt.%s", t);
	one("bits", name, "u32", t, NULL, NULL, find, 1, 0);
}

static void saturating(void)
{
	one("int", "add.sat.s32", "s32", "s32", "s32", NULL, add_sat, 0, 0);
	one("int", "sub.sat.s32", "s32", "s32", "s32", NULL, sub_sat, 0, 0);
	one("int", "mad.hi.sat.s32", "s32", "s32", "s32", "s32", mad_hi_sat, 0, 0);
	one("int", "mul24.lo.u32", "u32", "u32", "u32", NULL, mul24, 0, 0);
	one("int", "mul24.lo.s32", "s32", "s32", "s32", NULL, mul24, 0, 0);
	one("int", "mul24.hi.u32", "u32", "u32", "u32", NULL, mul24_hi, 0, 0);
	one("int", "mul24.hi.s32", "s32", "s32", "s32", NULL, mul24_hi, 0, 0);
	one("int", "mad24.lo.u32", "u32", "u32", "u32", "u32", mad24, 0, 0);
	one("int", "mad24.lo.s32", "s32", "s32", "s32", "s32", mad24, 0, 0);
	one("int", "mad24.hi.u32", "u32", "u32", "u32", "u32", mad24_hi, 0, 0);
	one("int", "mad24.hi.s32", "s32", "s32", "s32", "s32", mad24_hi, 0, 0);
	one("int", "mad24.hi.sat.s32", "s32", "s32", "s32", "s32", mad24_hi_sat, 0, 0);
}

static void words(void)
{
	static const char *const modes[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
	static const int tables[] = {0x80, 0xe8, 0xca, 0x96, 0x01, 0xfe};
	char name[40], tail[20];

	one("bits", "shf.l.clamp.b32", "b32", "b32", "b32", "u32", funnel, 0, 0);
	one("bits", "shf.l.wrap.b32", "b32", "b32", "b32", "u32", funnel, 0, 1);
	one("bits", "shf.r.clamp.b32", "b32", "b32", "b32", "u32", funnel, 1, 0);
	one("bits", "shf.r.wrap.b32", "b32", "b32", "b32", "u32", funnel, 1, 1);
	one("bits", "bmsk.clamp.b32", "b32", "u32", "u32", NULL, mask, 0, 0);
	one("bits", "bmsk.wrap.b32", "b32", "u32", "u32", NULL, mask, 0, 1);
	one("bits", "szext.clamp.u32", "u32", "u32", "u32", NULL, extend, 0, 0);
	one("bits", "szext.wrap.u32", "u32", "u32", "u32", NULL, extend, 0, 1);
	one("bits", "szext.clamp.s32", "s32", "s32", "u32", NULL, extend, 0, 0);
	one("bits", "szext.wrap.s32", "s32", "s32", "u32", NULL, extend, 0, 1);
	one("bits", "fns.b32", "b32", "b32", "u32", "s32", nth, 0, 0);
	for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		snprintf(name, sizeof name, "prmt.b32%s", modes[i]);
		one("bits", name, "b32", "b32", "b32", "b32", permute, (int)i, 0);
	}
	for (unsigned i = 0; i < sizeof tables / sizeof tables[0]; i++) {
		struct form f = {.folder = "bits",
			.mnemonic = "lop3.b32",
			.result = "b32",
			.in = {"b32", "b32", "b32"},
			.fn = logic3};

		snprintf(tail, sizeof tail, ", 0x%02x", (unsigned)tables[i]);
		f.tail = tail;
		f.op = tables[i];
		write_form(&f);
	}
}

static void dots(void)
{
	static const char *const kinds[] = {"dp4a", "dp2a.lo", "dp2a.hi"};
	char name[40];

	for (int kind = 0; kind < 3; kind++)
		for (int s = 0; s < 4; s++) {
			snprintf(name, sizeof name, "%s.%s.%s", kinds[kind], s & 1 ? "s32" : "u32",
				s & 2 ? "s32" : "u32");
			one("int", name, s ? "s32" : "u32", "b32", "b32", s ? "s32" : "u32", dot, s, kind);
		}
}

/* op, bits, sign, sat, .add */
static void packed(const char *mnemonic, int op, int bits, bool sign, bool sat, bool sum, bool three)
{
	struct form f = {
		.folder = "simd", .mnemonic = mnemonic, .result = "b32", .in = {"b32", "b32", three ? "b32" : NULL}};

	f.fn = lanes;
	f.op = op;
	f.bits = bits;
	f.sign = sign;
	f.sat = sat;
	f.mode = sum;
	f.cmp = strstr(mnemonic, "relu") != NULL;
	write_form(&f);
}

static void video(void)
{
	static const struct {
		const char *name;
		int op;
	} ops[] = {{"vadd", '+'}, {"vsub", '-'}, {"vabsdiff", 'd'}, {"vmin", '<'}, {"vmax", '>'}, {"vavrg", 'a'}};
	char name[60];

	packed("add.u16x2", '+', 16, false, false, false, false);
	packed("add.s16x2", '+', 16, true, false, false, false);
	packed("min.u16x2", '<', 16, false, false, false, false);
	packed("max.u16x2", '>', 16, false, false, false, false);
	packed("min.s16x2", '<', 16, true, false, false, false);
	packed("max.s16x2", '>', 16, true, false, false, false);
	packed("min.relu.s16x2", '<', 16, true, false, false, false);
	packed("max.relu.s16x2", '>', 16, true, false, false, false);
	for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++)
		for (int w = 2; w <= 4; w += 2)
			for (int k = 0; k < 6; k++) {
				const char *t = k & 1 ? "s32" : "u32", *how = k < 2 ? "" : k < 4 ? ".sat" : ".add";

				snprintf(name, sizeof name, "%s%d.%s.%s.%s%s", ops[i].name, w, t, t, t, how);
				packed(name, ops[i].op, w == 4 ? 8 : 16, k & 1, k / 2 == 1, k >= 4, true);
			}
}

void make_int(void)
{
	for (unsigned i = 0; i < 6; i++) {
		arithmetic(ints[i]);
		fields(ints[i]);
	}
	for (unsigned i = 0; i < 3; i++)
		logic(bit_types[i]);
	moves();
	saturating();
	words();
	dots();
	video();
}
