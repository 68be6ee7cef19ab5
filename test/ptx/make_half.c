/* Makes the spec files of f16, bf16 and pairs of them. */
#include "make.h"
#include <stdio.h>
#include <string.h>

static uint64_t sign_bit(const struct format *f)
{
	return 1ull << (f->ebits + f->mbits);
}

static struct exact combine(int op, struct exact a, struct exact b, struct exact c)
{
	switch (op) {
	case '+':
		return exact_add(a, b, RN);
	case '-':
		return exact_add(a, exact_neg(b), RN);
	case '*':
		return exact_mul(a, b);
	default:
		return exact_add(exact_mul(a, b), c, RN);
	}
}

static uint64_t arith_one(const struct form *f, uint64_t a, uint64_t b, uint64_t c)
{
	const struct format *t = f->fmt;
	struct exact r;
	uint64_t bits;

	if (f->ftz) {
		a = flush(t, a);
		b = flush(t, b);
		c = flush(t, c);
	}
	r = combine(f->op, exact_of(t, a), exact_of(t, b), exact_of(t, c));
	bits = exact_round(t, r, RN);
	if (f->sat && (r.nan || bits & sign_bit(t)))
		return 0;
	if (f->sat && exact_of(t, bits).v > 1)
		return ((1ull << (t->ebits - 1)) - 1) << t->mbits;
	if (f->cmp && !r.nan && bits & sign_bit(t)) /* .relu */
		return 0;
	return f->ftz ? flush(t, bits) : bits;
}

static int64_t rank(uint64_t v)
{
	int64_t m = (int64_t)(v & 0x7fff);

	return v & 0x8000 ? -m - 1 : m;
}

/* op '<' '>'; mode bit 0 .NaN, bit 1 .xorsign.abs */
static uint64_t extreme_one(const struct form *f, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t sign = (a ^ b) & 0x8000, r;
	bool na, nb;

	(void)c;
	if (f->ftz) {
		a = flush(f->fmt, a);
		b = flush(f->fmt, b);
	}
	if (f->mode & 2) {
		a &= 0x7fff;
		b &= 0x7fff;
	}
	na = bits_nan(f->fmt, a);
	nb = bits_nan(f->fmt, b);
	if ((na && nb) || (f->mode & 1 && (na || nb)))
		return 0x7fff;
	if (na || nb)
		r = na ? b : a;
	else
		r = (f->op == '<') == (rank(a) < rank(b)) ? a : b;
	return f->mode & 2 ? r | sign : r;
}

static uint64_t sign_one(const struct form *f, uint64_t a, uint64_t b, uint64_t c)
{
	(void)b, (void)c;
	if (f->ftz)
		a = flush(f->fmt, a);
	if (bits_nan(f->fmt, a))
		return 0x7fff;
	return f->op ? a ^ 0x8000 : a & 0x7fff;
}

typedef uint64_t one_fn(const struct form *f, uint64_t a, uint64_t b, uint64_t c);

static uint64_t both(const struct form *f, const uint64_t *in, one_fn *fn)
{
	uint64_t r = fn(f, in[0] & 0xffff, in[1] & 0xffff, in[2] & 0xffff);

	if (strstr(f->result, "x2"))
		r |= fn(f, in[0] >> 16, in[1] >> 16, in[2] >> 16) << 16;
	return r;
}

static uint64_t arith(const struct form *f, const uint64_t *in)
{
	return both(f, in, arith_one);
}

static uint64_t extreme(const struct form *f, const uint64_t *in)
{
	return both(f, in, extreme_one);
}

static uint64_t signs(const struct form *f, const uint64_t *in)
{
	return both(f, in, sign_one);
}

static uint64_t less(const struct form *f, const uint64_t *in)
{
	struct exact a = exact_of(f->fmt, in[0]), b = exact_of(f->fmt, in[1]);
	bool nan = a.nan || b.nan;

	return f->op == '<' ? !nan && a.v < b.v : f->op == 'u' ? nan || a.v >= b.v : !nan && a.v == b.v;
}

static void make(const char *op, const char *mods, const char *type, unsigned operands, lane_fn *fn, int code, int mode)
{
	char name[60];
	struct form f = {.folder = "half", .mnemonic = name, .result = type, .fn = fn};

	snprintf(name, sizeof name, "%s%s.%s", op, mods, type);
	for (unsigned k = 0; k < operands; k++)
		f.in[k] = type;
	f.fmt = type[0] == 'b' ? &BF16 : &F16;
	f.op = code;
	f.mode = mode;
	f.ftz = strstr(mods, "ftz");
	f.sat = strstr(mods, "sat");
	f.cmp = strstr(mods, "relu") != NULL;
	write_form(&f);
}

void make_half(void)
{
	static const char *const types[] = {"f16", "f16x2", "bf16", "bf16x2"};

	for (int t = 0; t < 4; t++) {
		const char *type = types[t];

		make("add", "", type, 2, arith, '+', 0);
		make("sub", "", type, 2, arith, '-', 0);
		make("mul", "", type, 2, arith, '*', 0);
		make("fma", ".rn", type, 3, arith, 'f', 0);
		make("fma", ".rn.relu", type, 3, arith, 'f', 0);
		make("neg", "", type, 1, signs, 1, 0);
		make("abs", "", type, 1, signs, 0, 0);
		make("min", "", type, 2, extreme, '<', 0);
		make("max", "", type, 2, extreme, '>', 0);
		make("min", ".NaN", type, 2, extreme, '<', 1);
		make("max", ".NaN", type, 2, extreme, '>', 1);
		make("max", ".xorsign.abs", type, 2, extreme, '>', 2);
		if (t >= 2)
			continue;
		make("add", ".ftz", type, 2, arith, '+', 0);
		make("add", ".sat", type, 2, arith, '+', 0);
		make("sub", ".ftz.sat", type, 2, arith, '-', 0);
		make("mul", ".rn", type, 2, arith, '*', 0);
		make("mul", ".ftz", type, 2, arith, '*', 0);
		make("fma", ".rn.ftz", type, 3, arith, 'f', 0);
		make("fma", ".rn.sat", type, 3, arith, 'f', 0);
		make("min", ".ftz", type, 2, extreme, '<', 0);
		make("neg", ".ftz", type, 1, signs, 1, 0);
		make("abs", ".ftz", type, 1, signs, 0, 0);
	}
	for (int t = 0; t < 4; t += 2)
		for (int c = 0; c < 3; c++) {
			static const char *const names[] = {"lt", "geu", "eq"};
			char name[40];
			struct form f = {.folder = "half",
				.mnemonic = name,
				.result = "pred",
				.in = {types[t], types[t]},
				.fn = less};

			snprintf(name, sizeof name, "setp.%s.%s", names[c], types[t]);
			f.fmt = t ? &BF16 : &F16;
			f.op = "<u="[c];
			write_form(&f);
		}
}
