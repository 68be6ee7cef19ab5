/* Makes the spec files of f32 and f64 arithmetic, comparisons and approximations. */
#include "make.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct exact operand(const struct form *f, uint64_t bits)
{
	return exact_of(f->fmt, f->ftz ? flush(f->fmt, bits) : bits);
}

/* Less than the least normal number, even after rounding as if exponents had no end (f64: approximate forms only). */
static bool tiny(const struct form *f, struct exact r)
{
	struct format endless = {14, f->fmt->mbits, 1};
	struct exact v = f->fmt == &F64 ? r : exact_of(&endless, exact_round(&endless, r, (enum mode)f->mode));
	quad least = exact_of(f->fmt, 1ull << f->fmt->mbits).v;

	return !r.nan && v.v < least && v.v > -least;
}

static uint64_t finish(const struct form *f, struct exact r)
{
	uint64_t bits = exact_round(f->fmt, r, (enum mode)f->mode);

	if (f->sat) {
		quad v = exact_of(f->fmt, bits).v;

		if (r.nan || v < 0 || bits >> (f->fmt->ebits + f->fmt->mbits))
			return 0;
		if (v > 1)
			return ((1ull << (f->fmt->ebits - 1)) - 1) << f->fmt->mbits;
	}
	return f->ftz && tiny(f, r) ? bits & 1ull << (f->fmt->ebits + f->fmt->mbits) : bits;
}

#define ARITH(name, expr) \
	static uint64_t name(const struct form *f, const uint64_t *in) \
	{ \
		const struct exact a = operand(f, in[0]), b = operand(f, in[1]), c = operand(f, in[2]); \
		const enum mode m = (enum mode)f->mode; \
		(void)a, (void)b, (void)c, (void)m; \
		return finish(f, expr); \
	}
ARITH(add, exact_add(a, b, m))
ARITH(sub, exact_add(a, exact_neg(b), m))
ARITH(mul, exact_mul(a, b))
ARITH(fma_, exact_add(exact_mul(a, b), c, m))
ARITH(divide, exact_div(a, b))
ARITH(recip, exact_div(exact_int(false, 1), a))
ARITH(root, exact_sqrt(a))

/* ---- minimum and maximum ---- */

static bool is_nan(const struct form *f, uint64_t v)
{
	return bits_nan(f->fmt, v);
}

static uint64_t sign_bit(const struct format *f)
{
	return 1ull << (f->ebits + f->mbits);
}

/* An integer that orders like the value, with -0 below +0. */
static int64_t rank(const struct format *f, uint64_t v)
{
	int64_t m = (int64_t)(v & (sign_bit(f) - 1));

	return v & sign_bit(f) ? -m - 1 : m;
}

/* op: '<' or '>'; cmp bit 0: .NaN, bit 1: .xorsign.abs */
static uint64_t extreme(const struct form *f, const uint64_t *in)
{
	uint64_t sign = (in[0] ^ in[1]) & sign_bit(f->fmt), keep = f->cmp & 2 ? sign_bit(f->fmt) - 1 : UINT64_MAX, r;
	uint64_t a = (f->ftz ? flush(f->fmt, in[0]) : in[0]) & keep, b = (f->ftz ? flush(f->fmt, in[1]) : in[1]) & keep;
	uint64_t nan = f->fmt->nan ? f->fmt->nan : 0x7ff8000000000000;

	if (is_nan(f, a) && is_nan(f, b))
		return nan;
	if (f->cmp & 1 && (is_nan(f, a) || is_nan(f, b)))
		return nan;
	if (is_nan(f, a) || is_nan(f, b))
		r = is_nan(f, a) ? b : a;
	else if (f->op == '<')
		r = rank(f->fmt, a) < rank(f->fmt, b) ? a : b;
	else
		r = rank(f->fmt, a) > rank(f->fmt, b) ? a : b;
	return f->cmp & 2 ? r | sign : r;
}

/* ---- comparisons ---- */

static const char *const comparisons[] = {
	"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

static bool compare(int cmp, bool nan, quad a, quad b)
{
	switch (cmp % 6) {
	case 0:
		return cmp >= 12 ? !nan : cmp >= 6 ? nan || a == b : !nan && a == b;
	case 1:
		return cmp >= 12 ? nan : cmp >= 6 ? nan || a != b : !nan && a != b;
	case 2:
		return cmp >= 6 ? nan || a < b : !nan && a < b;
	case 3:
		return cmp >= 6 ? nan || a <= b : !nan && a <= b;
	case 4:
		return cmp >= 6 ? nan || a > b : !nan && a > b;
	default:
		return cmp >= 6 ? nan || a >= b : !nan && a >= b;
	}
}

static uint64_t holds(const struct form *f, const uint64_t *in)
{
	struct exact a = operand(f, in[0]), b = operand(f, in[1]);
	bool r = compare(f->cmp, a.nan || b.nan, a.v, b.v);

	switch (f->op) {
	case '&':
		return r & in[2];
	case '|':
		return r | in[2];
	case '^':
		return r ^ in[2];
	default:
		return r;
	}
}

static uint64_t holds_int(const struct form *f, const uint64_t *in)
{
	unsigned k = 64 - (unsigned)f->bits;
	quad a = f->sign ? (quad)((int64_t)(in[0] << k) >> k) : (quad)in[0];
	quad b = f->sign ? (quad)((int64_t)(in[1] << k) >> k) : (quad)in[1];

	return compare(f->cmp, false, a, b);
}

static uint64_t set_float_and(const struct form *f, const uint64_t *in)
{
	return holds_int(f, in) && in[2] ? 0x3f800000 : 0;
}

/* set: ones for integers, 1.0 for floats; mode says which */
static uint64_t set(const struct form *f, const uint64_t *in)
{
	return holds(f, in) ? (f->mode ? 0x3f800000 : 0xffffffff) : 0;
}

static uint64_t choose(const struct form *f, const uint64_t *in)
{
	uint64_t c = f->ftz ? flush(&F32, in[2]) : in[2];
	bool yes = f->cmp ? !bits_nan(&F32, c) && exact_of(&F32, c).v >= 0 : (int32_t)in[2] >= 0;

	return yes ? in[0] : in[1];
}

static uint64_t classify(const struct form *f, const uint64_t *in)
{
	uint64_t m = in[0] & (sign_bit(f->fmt) - 1), inf = ((1ull << f->fmt->ebits) - 1) << f->fmt->mbits;
	bool tiny = m && m >> f->fmt->mbits == 0;

	switch (f->op) {
	case 0:
		return m < inf;
	case 1:
		return m == inf;
	case 2:
		return m <= inf;
	case 3:
		return m > inf;
	case 4:
		return m < inf && !tiny; /* zero is normal */
	default:
		return tiny;
	}
}

static uint64_t copy_sign(const struct form *f, const uint64_t *in)
{
	return (in[0] & sign_bit(f->fmt)) | (in[1] & (sign_bit(f->fmt) - 1));
}

static uint64_t change_sign(const struct form *f, const uint64_t *in)
{
	uint64_t v = f->ftz ? flush(f->fmt, in[0]) : in[0];

	if (bits_nan(f->fmt, v) && f->fmt->nan)
		return f->fmt->nan;
	return f->op ? v ^ sign_bit(f->fmt) : v & (sign_bit(f->fmt) - 1);
}

/* ---- approximations: long double is right to 60 bits ---- */

static uint64_t approximate(const struct form *f, const uint64_t *in)
{
	static long double (*const fn[])(long double) = {exp2l, log2l, sinl, cosl, tanhl};
	struct exact a = operand(f, in[0]), r = a;
	long double x = a.nan ? NAN : (long double)a.v;

	if (a.negative_zero)
		x = -0.0L;
	x = f->op < 5 ? fn[f->op](x) : f->op == 5 ? 1 / sqrtl(x) : f->op == 6 ? sqrtl(x) : f->op == 7 ? 1 / x : 0;
	r.nan = x != x;
	r.v = r.nan ? 0 : (quad)x;
	r.negative_zero = x == 0 && signbit(x);
	return finish(f, r);
}

/* ---- the forms ---- */

static void rounded(const char *op, lane_fn *fn, unsigned operands, bool optional)
{
	static const char *const modes[] = {".rn", ".rz", ".rm", ".rp"};
	char name[40];

	for (int wide = 0; wide < 2; wide++)
		for (int ftz = 0; ftz < 2 - wide; ftz++)
			for (int m = optional ? -1 : 0; m < 4; m++) {
				const char *t = wide ? "f64" : "f32";
				struct form f = {.folder = "float", .mnemonic = name, .result = t, .fn = fn};

				for (unsigned k = 0; k < operands; k++)
					f.in[k] = t;
				f.fmt = wide ? &F64 : &F32;
				f.mode = m < 0 ? 0 : m;
				f.ftz = ftz;
				snprintf(name, sizeof name, "%s%s%s.%s", op, m < 0 ? "" : modes[m], ftz ? ".ftz" : "",
					t);
				write_form(&f);
			}
}

static void saturated(const char *name, lane_fn *fn, unsigned operands, bool ftz, int mode)
{
	struct form f = {.folder = "float", .mnemonic = name, .result = "f32", .in = {"f32", "f32"}, .fn = fn};

	f.in[2] = operands > 2 ? "f32" : NULL;
	f.fmt = &F32;
	f.ftz = ftz;
	f.sat = true;
	f.mode = mode;
	write_form(&f);
}

static void simple(const char *folder, const char *name, const char *result, const char *t, unsigned operands,
	lane_fn *fn, int op, int cmp, bool ftz)
{
	struct form f = {.folder = folder, .mnemonic = name, .result = result, .fn = fn};

	for (unsigned k = 0; k < operands; k++)
		f.in[k] = t;
	f.fmt = format_named(t);
	f.op = op;
	f.cmp = cmp;
	f.ftz = ftz;
	f.sign = t[0] == 's';
	f.bits = (int)size_named(t);
	write_form(&f);
}

static void orders(void)
{
	simple("float", "min.f32", "f32", "f32", 2, extreme, '<', 0, false);
	simple("float", "max.f32", "f32", "f32", 2, extreme, '>', 0, false);
	simple("float", "min.ftz.f32", "f32", "f32", 2, extreme, '<', 0, true);
	simple("float", "max.ftz.f32", "f32", "f32", 2, extreme, '>', 0, true);
	simple("float", "min.NaN.f32", "f32", "f32", 2, extreme, '<', 1, false);
	simple("float", "max.NaN.f32", "f32", "f32", 2, extreme, '>', 1, false);
	simple("float", "min.ftz.NaN.f32", "f32", "f32", 2, extreme, '<', 1, true);
	simple("float", "min.xorsign.abs.f32", "f32", "f32", 2, extreme, '<', 2, false);
	simple("float", "max.xorsign.abs.f32", "f32", "f32", 2, extreme, '>', 2, false);
	simple("float", "max.NaN.xorsign.abs.f32", "f32", "f32", 2, extreme, '>', 3, false);
	simple("float", "min.f64", "f64", "f64", 2, extreme, '<', 0, false);
	simple("float", "max.f64", "f64", "f64", 2, extreme, '>', 0, false);
}

static void signs(void)
{
	simple("float", "abs.f32", "f32", "f32", 1, change_sign, 0, 0, false);
	simple("float", "neg.f32", "f32", "f32", 1, change_sign, 1, 0, false);
	simple("float", "abs.ftz.f32", "f32", "f32", 1, change_sign, 0, 0, true);
	simple("float", "neg.ftz.f32", "f32", "f32", 1, change_sign, 1, 0, true);
	simple("float", "abs.f64", "f64", "f64", 1, change_sign, 0, 0, false);
	simple("float", "neg.f64", "f64", "f64", 1, change_sign, 1, 0, false);
	simple("float", "copysign.f32", "f32", "f32", 2, copy_sign, 0, 0, false);
	simple("float", "copysign.f64", "f64", "f64", 2, copy_sign, 0, 0, false);
}

static void tests(void)
{
	static const char *const words[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
	char name[40];

	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof name, "testp.%s.f32", words[i]);
		simple("compare", name, "pred", "f32", 1, classify, i, 0, false);
		snprintf(name, sizeof name, "testp.%s.f64", words[i]);
		simple("compare", name, "pred", "f64", 1, classify, i, 0, false);
	}
	for (int c = 0; c < 14; c++) {
		snprintf(name, sizeof name, "setp.%s.f32", comparisons[c]);
		simple("compare", name, "pred", "f32", 2, holds, 0, c, false);
		snprintf(name, sizeof name, "setp.%s.ftz.f32", comparisons[c]);
		simple("compare", name, "pred", "f32", 2, holds, 0, c, true);
		snprintf(name, sizeof name, "setp.%s.f64", comparisons[c]);
		simple("compare", name, "pred", "f64", 2, holds, 0, c, false);
	}
}

static void integer_tests(void)
{
	static const char *const types[] = {"u16", "s16", "u32", "s32", "u64", "s64"};
	static const char *const unsigned_names[] = {"lo", "ls", "hi", "hs"};
	char name[40];

	for (int t = 0; t < 6; t++)
		for (int c = 0; c < 6; c++) {
			snprintf(name, sizeof name, "setp.%s.%s", comparisons[c], types[t]);
			simple("compare", name, "pred", types[t], 2, holds_int, 0, c, false);
		}
	for (int c = 0; c < 4; c++) {
		snprintf(name, sizeof name, "setp.%s.u32", unsigned_names[c]);
		simple("compare", name, "pred", "u32", 2, holds_int, 0, 2 + c, false);
	}
	simple("compare", "setp.eq.b16", "pred", "b16", 2, holds_int, 0, 0, false);
	simple("compare", "setp.ne.b32", "pred", "b32", 2, holds_int, 0, 1, false);
	simple("compare", "setp.eq.b32", "pred", "b32", 2, holds_int, 0, 0, false);
	simple("compare", "setp.eq.b64", "pred", "b64", 2, holds_int, 0, 0, false);
}

static void combined(void)
{
	static const struct {
		const char *name;
		int op;
	} ops[] = {{"and", '&'}, {"or", '|'}, {"xor", '^'}};
	char name[40];

	for (int i = 0; i < 3; i++) {
		struct form f = {.folder = "compare", .mnemonic = name, .result = "pred", .in = {"f32", "f32", "pred"}};

		f.fn = holds;
		f.fmt = &F32;
		f.op = ops[i].op;
		f.cmp = 8;
		snprintf(name, sizeof name, "setp.ltu.%s.f32", ops[i].name);
		write_form(&f);
		f.result = "u32";
		f.fn = set;
		snprintf(name, sizeof name, "set.ltu.%s.u32.f32", ops[i].name);
		write_form(&f);
	}
}

static void sets(void)
{
	struct form f = {.folder = "compare", .fn = set, .result = "u32", .in = {"f32", "f32"}, .fmt = &F32};
	static const struct {
		const char *name, *c;
		int cmp, bits;
		bool ftz;
	} slcts[] = {{"slct.u32.s32", "s32", 0, 32, 0}, {"slct.u64.s32", "s32", 0, 64, 0},
		{"slct.f32.f32", "f32", 1, 32, 0}, {"slct.ftz.f32.f32", "f32", 1, 32, 1},
		{"slct.f64.f32", "f32", 1, 64, 0}, {"slct.b16.s32", "s32", 0, 16, 0},
		{"slct.f32.s32", "s32", 0, 32, 0}};

	f.mnemonic = "set.gt.u32.f32";
	f.cmp = 4;
	write_form(&f);
	f.mnemonic = "set.nan.s32.f32";
	f.cmp = 13;
	write_form(&f);
	f.mnemonic = "set.le.ftz.f32.f32";
	f.result = "f32";
	f.cmp = 3;
	f.mode = 1;
	f.ftz = true;
	write_form(&f);
	f = (struct form){.folder = "compare", .fn = set, .result = "u32", .in = {"f64", "f64"}, .fmt = &F64, .cmp = 5};
	f.mnemonic = "set.ge.u32.f64";
	write_form(&f);
	f = (struct form){.folder = "compare", .fn = set_float_and, .result = "f32", .in = {"s32", "s32", "pred"}};
	f.mnemonic = "set.lt.and.f32.s32";
	f.cmp = 2;
	f.bits = 32;
	f.sign = true;
	write_form(&f);
	for (unsigned i = 0; i < sizeof slcts / sizeof slcts[0]; i++) {
		const char *t = slcts[i].bits == 16 ? "b16" : slcts[i].bits == 32 ? "b32" : "b64";

		f = (struct form){.folder = "compare",
			.mnemonic = slcts[i].name,
			.fn = choose,
			.result = t,
			.in = {t, t, slcts[i].c}};
		if (strstr(slcts[i].name, ".f32."))
			f.result = f.in[0] = f.in[1] = "f32";
		if (strstr(slcts[i].name, ".f64."))
			f.result = f.in[0] = f.in[1] = "f64";
		f.cmp = slcts[i].cmp;
		f.ftz = slcts[i].ftz;
		write_form(&f);
	}
}

/* The tolerances are the manual's; sin and cos are bounded for small arguments only, and they and div.approx have files of their
 * own. */
static void approximations(void)
{
	static const struct {
		const char *name;
		int op;
		double ulp;
	} ops[] = {{"ex2.approx", 0, 4}, {"lg2.approx", 1, 8},
		/* or 2^-22 */ {"rsqrt.approx", 5, 2}, {"sqrt.approx", 6, 2}, {"rcp.approx", 7, 2}};
	char name[40];

	for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++)
		for (int ftz = 0; ftz < 2; ftz++) {
			struct form f = {.folder = "approx",
				.mnemonic = name,
				.result = "f32",
				.in = {"f32"},
				.fn = approximate};

			snprintf(name, sizeof name, "%s%s.f32", ops[i].name, ftz ? ".ftz" : "");
			f.fmt = &F32;
			f.op = ops[i].op;
			f.ftz = ftz;
			f.ulp = ops[i].ulp;
			f.absolute = ops[i].op == 1 ? 2.4e-7 : 0;
			write_form(&f);
		}
	struct form f = {
		.folder = "approx", .mnemonic = "tanh.approx.f32", .result = "f32", .in = {"f32"}, .fn = approximate};
	f.fmt = &F32;
	f.op = 4;
	f.absolute = 0.0005;
	write_form(&f);
	f = (struct form){
		.folder = "approx", .mnemonic = "rsqrt.approx.f64", .result = "f64", .in = {"f64"}, .fn = approximate};
	f.fmt = &F64;
	f.op = 5;
	f.ulp = 1ull << 31;
	write_form(&f);
	f.mnemonic = "rcp.approx.ftz.f64"; /* of the upper half, and answers one */
	f.op = 7;
	f.ftz = true;
	f.limit[0] = 0xffffffffull << 32;
	f.ulp = 1ull << 32;
	write_form(&f);
	f = (struct form){.folder = "approx",
		.mnemonic = "div.full.ftz.f32",
		.result = "f32",
		.in = {"f32", "f32"},
		.fn = divide};
	f.fmt = &F32;
	f.ftz = true;
	f.ulp = 2;
	write_form(&f);
}

void make_float(void)
{
	rounded("add", add, 2, true);
	rounded("sub", sub, 2, true);
	rounded("mul", mul, 2, true);
	rounded("fma", fma_, 3, false);
	rounded("mad", fma_, 3, false);
	rounded("div", divide, 2, false);
	rounded("rcp", recip, 1, false);
	rounded("sqrt", root, 1, false);
	saturated("add.sat.f32", add, 2, false, RN);
	saturated("sub.rz.sat.f32", sub, 2, false, RZ);
	saturated("mul.rp.ftz.sat.f32", mul, 2, true, RP);
	saturated("fma.rn.sat.f32", fma_, 3, false, RN);
	orders();
	signs();
	tests();
	integer_tests();
	combined();
	sets();
	approximations();
}
