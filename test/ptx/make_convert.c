/* Makes the spec files of cvt. */
#include "make.h"
#include <stdio.h>
#include <string.h>

static const char *const ints[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
static const char *const modes[] = {"rn", "rz", "rm", "rp"};

static __int128 clamp(__int128 v, bool sign, unsigned bits)
{
	__int128 top = ((__int128)1 << (sign ? bits - 1 : bits)) - 1, low = sign ? -top - 1 : 0;

	return v < low ? low : v > top ? top : v;
}

static __int128 signed_value(const char *type, uint64_t v)
{
	unsigned k = 64 - size_named(type);

	return type[0] == 's' ? (__int128)((int64_t)(v << k) >> k) : (__int128)(v << k >> k);
}

static uint64_t truncated(const struct form *f, __int128 v)
{
	unsigned bits = size_named(f->result);

	return bits == 64 ? (uint64_t)v : (uint64_t)v & ((1ull << bits) - 1);
}

static uint64_t int_to_int(const struct form *f, const uint64_t *in)
{
	__int128 v = signed_value(f->in[0], in[0]);

	return truncated(f, f->sat ? clamp(v, f->result[0] == 's', size_named(f->result)) : v);
}

static uint64_t int_to_float(const struct form *f, const uint64_t *in)
{
	__int128 v = signed_value(f->in[0], in[0]);

	return exact_round(f->fmt, exact_int(v < 0, (uint64_t)(v < 0 ? -v : v)), (enum mode)f->mode);
}

/* A NaN becomes 0 or, if f64 or a 64-bit integer is involved, only the top bit. */
static uint64_t float_to_int(const struct form *f, const uint64_t *in)
{
	const struct format *from = format_named(f->in[0]);
	struct exact v = exact_of(from, f->ftz ? flush(from, in[0]) : in[0]);
	unsigned bits = size_named(f->result);
	quad limit = (quad)((__int128)1 << 80);
	__int128 n;

	if (v.nan)
		return bits == 64 || from == &F64 ? 1ull << (bits - 1) : 0;
	v = exact_integral(v, (enum mode)f->mode);
	n = v.v > limit ? (__int128)1 << 80 : v.v < -limit ? -((__int128)1 << 80) : (__int128)v.v;
	return truncated(f, clamp(n, f->result[0] == 's', bits));
}

/* op: 1 to an integral value first; cmp: .relu */
static uint64_t float_to_float(const struct form *f, const uint64_t *in)
{
	const struct format *from = format_named(f->in[0]);
	struct exact v = exact_of(from, f->ftz && from == &F32 ? flush(from, in[0]) : in[0]);
	uint64_t r;

	if (f->op)
		v = exact_integral(v, (enum mode)f->mode);
	if (f->cmp && !v.nan && (v.v < 0 || v.negative_zero))
		return 0;
	if (f->sat) {
		if (v.nan || v.v <= 0)
			return 0;
		v.v = v.v > 1 ? 1 : v.v;
	}
	r = exact_round(f->fmt, v, (enum mode)f->mode);
	if (f->fmt == &TF32)
		return v.nan ? (f->mode == RNA ? in[0] & 0xffffe000 : 0x7fffe000) : r << 13;
	if (v.nan && from == &F64 && f->fmt->mbits < 52 && !f->cmp) /* the samples' payloads vanish */
		return f->fmt == &F32 ? 0x7fc00000 | (in[0] >> 63) << 31 | (in[0] >> 29 & 0x3fffff)
				      : 0x7e00 | (in[0] >> 63) << 15 | (in[0] >> 42 & 0x1ff);
	if (v.nan && from == &BF16)
		return in[0] << 16;
	return f->ftz && f->fmt == &F32 ? flush(f->fmt, r) : r;
}

static uint64_t pair_of(const struct form *f, const uint64_t *in)
{
	struct form g = *f;
	uint64_t high;

	g.in[0] = "f32";
	high = float_to_float(&g, in);
	return high << 16 | float_to_float(&g, in + 1);
}

static void integers(void)
{
	static const char *const sat[][2] = {{"s8", "s32"}, {"u8", "s32"}, {"s16", "s64"}, {"u32", "s64"},
		{"s32", "u32"}, {"u32", "s32"}, {"u16", "u64"}, {"s64", "u64"}, {"u8", "s16"}};
	char name[60];

	for (int d = 0; d < 8; d++)
		for (int s = 0; s < 8; s++) {
			struct form f = {.folder = "cvt",
				.mnemonic = name,
				.result = ints[d],
				.in = {ints[s]},
				.fn = int_to_int};

			snprintf(name, sizeof name, "cvt.%s.%s", ints[d], ints[s]);
			if (s != d)
				write_form(&f);
		}
	for (unsigned i = 0; i < sizeof sat / sizeof sat[0]; i++) {
		struct form f = {
			.folder = "cvt", .mnemonic = name, .result = sat[i][0], .in = {sat[i][1]}, .fn = int_to_int};

		f.sat = true;
		snprintf(name, sizeof name, "cvt.sat.%s.%s", sat[i][0], sat[i][1]);
		write_form(&f);
	}
}

static void from_integers(const char *to, int nmodes)
{
	char name[60];

	for (int s = 0; s < 8; s++)
		for (int m = 0; m < (size_named(ints[s]) < 32 ? 1 : nmodes); m++) {
			struct form f = {
				.folder = "cvt", .mnemonic = name, .result = to, .in = {ints[s]}, .fn = int_to_float};

			f.fmt = format_named(to);
			f.mode = m;
			snprintf(name, sizeof name, "cvt.%s.%s.%s", modes[m], to, ints[s]);
			write_form(&f);
		}
}

static void to_integers(const char *from, bool ftz)
{
	char name[60];

	for (int d = 0; d < 8; d++)
		for (int m = 0; m < 4; m++) {
			struct form f = {
				.folder = "cvt", .mnemonic = name, .result = ints[d], .in = {from}, .fn = float_to_int};

			if (size_named(ints[d]) < 32 && m != 1)
				continue;
			f.mode = m;
			f.ftz = ftz;
			snprintf(name, sizeof name, "cvt.%si%s.%s.%s", modes[m], ftz ? ".ftz" : "", ints[d], from);
			write_form(&f);
		}
}

static void floats(
	const char *mnemonic, const char *to, const char *from, int mode, int op, bool ftz, bool sat, bool relu)
{
	struct form f = {.folder = "cvt", .mnemonic = mnemonic, .result = to, .in = {from}, .fn = float_to_float};

	f.fmt = format_named(to);
	if (strstr(mnemonic, "tf32")) {
		f.fmt = &TF32;
		f.result = "b32";
	}
	f.mode = mode;
	f.op = op;
	f.ftz = ftz;
	f.sat = sat;
	f.cmp = relu;
	write_form(&f);
}

static void narrowing(void)
{
	char name[60];

	for (int m = 0; m < 4; m++) {
		snprintf(name, sizeof name, "cvt.%s.f32.f64", modes[m]);
		floats(name, "f32", "f64", m, 0, false, false, false);
		snprintf(name, sizeof name, "cvt.%s.ftz.f32.f64", modes[m]);
		floats(name, "f32", "f64", m, 0, true, false, false);
		snprintf(name, sizeof name, "cvt.%s.f16.f32", modes[m]);
		floats(name, "f16", "f32", m, 0, false, false, false);
		snprintf(name, sizeof name, "cvt.%s.f16.f64", modes[m]);
		floats(name, "f16", "f64", m, 0, false, false, false);
		snprintf(name, sizeof name, "cvt.%si.f32.f32", modes[m]);
		floats(name, "f32", "f32", m, 1, false, false, false);
		snprintf(name, sizeof name, "cvt.%si.ftz.f32.f32", modes[m]);
		floats(name, "f32", "f32", m, 1, true, false, false);
		snprintf(name, sizeof name, "cvt.%si.f64.f64", modes[m]);
		floats(name, "f64", "f64", m, 1, false, false, false);
		snprintf(name, sizeof name, "cvt.%si.f16.f16", modes[m]);
		floats(name, "f16", "f16", m, 1, false, false, false);
	}
	floats("cvt.rn.bf16.f32", "bf16", "f32", RN, 0, false, false, false);
	floats("cvt.rz.bf16.f32", "bf16", "f32", RZ, 0, false, false, false);
	floats("cvt.rn.relu.bf16.f32", "bf16", "f32", RN, 0, false, false, true);
	floats("cvt.rn.relu.f16.f32", "f16", "f32", RN, 0, false, false, true);
	floats("cvt.rn.ftz.f16.f32", "f16", "f32", RN, 0, true, false, false);
	floats("cvt.rn.sat.f16.f32", "f16", "f32", RN, 0, false, true, false);
	floats("cvt.rn.sat.f32.f64", "f32", "f64", RN, 0, false, true, false);
	floats("cvt.sat.f32.f32", "f32", "f32", RN, 0, false, true, false);
	floats("cvt.ftz.sat.f32.f32", "f32", "f32", RN, 0, true, true, false);
	floats("cvt.rna.tf32.f32", "b32", "f32", RNA, 0, false, false, false);
	floats("cvt.rn.tf32.f32", "b32", "f32", RN, 0, false, false, false);
	floats("cvt.rz.tf32.f32", "b32", "f32", RZ, 0, false, false, false);
}

static void widening(void)
{
	floats("cvt.f64.f32", "f64", "f32", RN, 0, false, false, false);
	floats("cvt.ftz.f64.f32", "f64", "f32", RN, 0, true, false, false);
	floats("cvt.f32.f16", "f32", "f16", RN, 0, false, false, false);
	floats("cvt.ftz.f32.f16", "f32", "f16", RN, 0, true, false, false);
	floats("cvt.f64.f16", "f64", "f16", RN, 0, false, false, false);
	floats("cvt.f32.bf16", "f32", "bf16", RN, 0, false, false, false);
	floats("cvt.sat.f32.f16", "f32", "f16", RN, 0, false, true, false);
}

static void pairs(void)
{
	static const struct {
		const char *name;
		const struct format *fmt;
		int mode;
		bool relu;
	} all[] = {{"cvt.rn.f16x2.f32", &F16, RN, 0}, {"cvt.rz.f16x2.f32", &F16, RZ, 0},
		{"cvt.rn.relu.f16x2.f32", &F16, RN, 1}, {"cvt.rn.bf16x2.f32", &BF16, RN, 0},
		{"cvt.rz.bf16x2.f32", &BF16, RZ, 0}, {"cvt.rn.relu.bf16x2.f32", &BF16, RN, 1}};

	for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
		struct form f = {
			.folder = "cvt", .mnemonic = all[i].name, .result = "b32", .in = {"f32", "f32"}, .fn = pair_of};

		f.fmt = all[i].fmt;
		f.mode = all[i].mode;
		f.cmp = all[i].relu;
		write_form(&f);
	}
}

void make_convert(void)
{
	integers();
	from_integers("f32", 4);
	from_integers("f64", 4);
	from_integers("f16", 4);
	to_integers("f32", false);
	to_integers("f32", true);
	to_integers("f64", false);
	to_integers("f16", false);
	narrowing();
	widening();
	pairs();
}
