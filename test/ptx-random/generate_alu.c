/* Arithmetic statements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "ptx/ptx.h"

static const char *literal(struct gen *g, char class, unsigned kind, unsigned bits)
{
	static const uint64_t integers[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256,
		32767, 32768, 65535, 65536, 0x00ff00ff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000000,
		0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff};
	static const uint32_t f32[] = {0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x3f000000,
		0x40490fdb, 0x4b000000, 0x4f000000, 0xcf000000, 0x5f800000, 0x7f7fffff, 0x7f800000, 0xff800000,
		0x7fc00001, 0x33800000, 0x477fe000, 0x38800000};
	static const uint64_t f64[] = {0, 0x8000000000000000, 1, 0x0010000000000000, 0x3ff0000000000000,
		0xbff8000000000000, 0x4330000000000000, 0x41dfffffffc00000, 0x43e0000000000000, 0x7fefffffffffffff,
		0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x36a0000000000000, 0x47efffffe0000000};
	static char text[4][24];
	static unsigned turn;
	char *t = text[turn++ % 4];
	uint64_t v = chance(g, 75) ? integers[pick(g, sizeof integers / 8)] : rng_next(&g->rng);

	if (class == 'f')
		snprintf(t, 24, "0f%08x", chance(g, 80) ? f32[pick(g, sizeof f32 / 4)] : (uint32_t)rng_next(&g->rng));
	else if (class == 'd')
		snprintf(t, 24, "0d%016llx",
			(unsigned long long)(chance(g, 80) ? f64[pick(g, sizeof f64 / 8)] : rng_next(&g->rng)));
	else
		snprintf(t, 24, "%llu", (unsigned long long)(bits == 64 ? v : v & ((UINT64_C(1) << bits) - 1)));
	(void)kind;
	return t;
}

/* Makes a f64 result's NaN the canonical one: its sign and payload depend on the order of the operands. */
static void canonical(struct gen *g, const char *d)
{
	emit(g, "testp.notanumber.f64 %%tp7, %s;", d);
	emit(g, "@%%tp7 mov.b64 %s, 0d7ff8000000000000;", d);
}

static const struct form *pick_form(struct gen *g)
{
	static const char *const common[] = {
		"add", "sub", "mul", "mad", "fma", "cvt", "setp", "selp", "and", "shl", "min"};
	const struct forms *f = g->forms;
	unsigned base = pick(g, f->nbases);

	if (chance(g, 45)) {
		const char *want = common[pick(g, sizeof common / sizeof *common)];
		size_t n = strlen(want);

		for (base = 0; base < f->nbases; base++) {
			const char *m = f->list[f->first[base]].mnemonic;

			if (!strncmp(m, want, n) && m[n] == '.')
				break;
		}
	}
	return &f->list[f->first[base] + pick(g, f->first[base + 1] - f->first[base])];
}

void make_arithmetic(struct gen *g, const struct place *at)
{
	const struct form *f = pick_form(g);
	char text[200], result[16] = "";
	int n;

	group_begin(g, at);
	n = snprintf(text, sizeof text, "%s%s", guard(g), f->mnemonic);
	for (unsigned i = 0; f->letters[i]; i++) {
		const char *operand, *between = f->letters[i] == '|' ? "|" : i ? ", " : " ";
		char c = f->classes[i];

		if (f->letters[i] == '|' || form_is_result(f->letters[i]))
			operand = target(g, c);
		else if (c == 'i')
			operand = literal(g, 'r', PTX_KIND_INT, 8);
		else if (strchr("acwx", f->letters[i]) && strchr("rlfdh", c) && chance(g, 20) &&
			 (c != 'h' || f->kinds[i] != PTX_KIND_FLOAT) && !(c == 'r' && f->kinds[i] == PTX_KIND_FLOAT) &&
			 !(c == 'l' && f->kinds[i] == PTX_KIND_FLOAT))
			operand = literal(g, c, f->kinds[i], f->bits[i]);
		else
			operand = source(g, at, c);
		if (i == 0)
			snprintf(result, sizeof result, "%s", operand);
		if (f->letters[i] == '|' && !strcmp(operand, result))
			operand = strcmp(result, "%p0") ? "%p0" : "%p1";
		n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", between, operand);
	}
	emit(g, "%s;", text);
	if (f->classes[0] == 'd')
		canonical(g, result);
}

void make_uniform(struct gen *g, const struct place *at)
{
	static const char *const on_uniform[] = {"add.u32", "sub.u32", "mul.lo.u32", "and.b32", "or.b32", "xor.b32",
		"min.s32", "max.u32", "shl.b32", "shr.u32", "shr.s32", "div.u32", "rem.s32"};
	bool affine = chance(g, 55);
	unsigned d = pick(g, 4), a = pick(g, 4);

	(void)at;
	group_begin(g, at);
	if (!affine && chance(g, 60)) {
		emit(g, "%s %%u%u, %%u%u, %s;", on_uniform[pick(g, 13)], d, a,
			chance(g, 50) ? literal(g, 'r', PTX_KIND_INT, 32) : source(g, at, 'k'));
	} else if (!affine) {
		emit(g, "add.u32 %%u%u, %%u%u, %%u%u;", d, a, pick(g, 4));
	} else {
		switch (pick(g, 6)) {
		case 0:
			emit(g, "add.u32 %%a%u, %%a%u, %s;", d, a, literal(g, 'r', PTX_KIND_INT, 32));
			break;
		case 1:
			emit(g, "sub.s32 %%a%u, %%a%u, %%a%u;", d, a, pick(g, 4));
			break;
		case 2:
			emit(g, "mul.lo.u32 %%a%u, %%a%u, %u;", d, a, 1 + pick(g, 6));
			break;
		case 3:
			emit(g, "mad.lo.s32 %%a%u, %%u%u, %u, %%a%u;", d, pick(g, 4), pick(g, 5), a);
			break;
		case 4:
			emit(g, "shl.b32 %%a%u, %%a%u, %u;", d, a, pick(g, 4));
			break;
		default:
			emit(g, "add.u32 %%a%u, %%gtid, %s;", d, source(g, at, 'k'));
		}
	}
}

void make_carry(struct gen *g, const struct place *at)
{
	bool wide = chance(g, 30);
	char c = wide ? 'l' : 'r';
	const char *type = wide ? "u64" : "u32", *p;
	char copy[8];

	group_begin(g, at);
	snprintf(copy, sizeof copy, "%s", guard(g));
	p = copy;
	switch (pick(g, 3)) {
	case 0:
		emit(g, "%sadd.cc.%s %s, %s, %s;", p, type, target(g, c), source(g, at, c), source(g, at, c));
		emit(g, "%saddc.cc.%s %s, %s, %s;", p, type, target(g, c), source(g, at, c), source(g, at, c));
		emit(g, "%saddc.%s %s, %s, 0;", p, type, target(g, c), source(g, at, c));
		break;
	case 1:
		emit(g, "%ssub.cc.%s %s, %s, %s;", p, type, target(g, c), source(g, at, c), source(g, at, c));
		emit(g, "%ssubc.%s %s, %s, %s;", p, type, target(g, c), source(g, at, c), source(g, at, c));
		break;
	default:
		emit(g, "%smad.lo.cc.%s %s, %s, %s, %s;", p, type, target(g, c), source(g, at, c), source(g, at, c),
			source(g, at, c));
		emit(g, "%smadc.hi.%s %s, %s, %s, %s;", p, type, target(g, c), source(g, at, c), source(g, at, c),
			source(g, at, c));
	}
}

void make_bits(struct gen *g, const struct place *at)
{
	group_begin(g, at);
	switch (pick(g, 10)) {
	case 0:
		emit(g, "mov.b32 %s, %s;", target(g, 'f'), source(g, at, 'r'));
		break;
	case 1:
		emit(g, "mov.b32 %s, %s;", target(g, 'r'), source(g, at, 'f'));
		break;
	case 2:
		emit(g, "mov.b64 %s, %s;", target(g, 'l'), source(g, at, 'd'));
		break;
	case 3:
		emit(g, "mov.b64 %%d2, {%s, %s};", source(g, at, 'r'), source(g, at, 'r'));
		canonical(g, "%d2");
		break;
	case 4:
		emit(g, "mov.b32 {%%h0, %%h%u}, %s;", 1 + pick(g, 7), source(g, at, 'r'));
		break;
	case 5:
		emit(g, "mov.b32 %s, {%s, %s};", target(g, 'r'), source(g, at, 'h'), source(g, at, 'h'));
		break;
	case 6:
		emit(g, "mov.b64 {%%r0, %%r%u}, %s;", 1 + pick(g, 11), source(g, at, 'l'));
		break;
	case 7:
		emit(g, "mov.b64 %s, {%s, %s};", target(g, 'l'), source(g, at, 'r'), source(g, at, 'r'));
		break;
	case 8:
		emit(g, "cvt.%c64.%c32 %s, %s;", "us"[pick(g, 2)], "us"[pick(g, 2)], target(g, 'l'),
			chance(g, 60) ? "%a1" : source(g, at, 'r'));
		break;
	default:
		emit(g, "mul.wide.%c32 %s, %s, %u;", "us"[pick(g, 2)], target(g, 'l'),
			chance(g, 60) ? "%a2" : source(g, at, 'r'), pick(g, 9));
	}
}
