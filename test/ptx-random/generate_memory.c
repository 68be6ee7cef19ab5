/* Loads, stores and atomics, each within what the thread may access without a race. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

struct access {
	const char *type;
	char class;
	unsigned size;
};
static const struct access accesses[] = {{"u8", 'r', 1}, {"s8", 'r', 1}, {"u8", 'h', 1}, {"s8", 'h', 1}, {"b8", 'h', 1},
	{"u16", 'h', 2}, {"s16", 'r', 2}, {"u16", 'r', 2}, {"b16", 'h', 2}, {"u32", 'r', 4}, {"s32", 'r', 4},
	{"b32", 'r', 4}, {"f32", 'f', 4}, {"u32", 'r', 4}, {"f32", 'f', 4}, {"s32", 'l', 4}, {"u32", 'l', 4},
	{"u64", 'l', 8}, {"f64", 'd', 8}, {"b64", 'l', 8}};

static const struct access *pick_access(struct gen *g, unsigned largest)
{
	const struct access *a;

	do
		a = &accesses[pick(g, sizeof accesses / sizeof *accesses)];
	while (a->size > largest);
	return a;
}

/* The vector width of an access of at most `room` bytes: 1, 2 or 4. */
static unsigned pick_vector(struct gen *g, const struct access *a, unsigned room)
{
	unsigned n = 1u << (chance(g, 60) ? 0 : 1 + pick(g, 2));

	while (n > 1 && n * a->size > room)
		n /= 2;
	return n;
}

/* "{%r1, %r2}" of distinct registers to load, or of any to store. */
static const char *vector(struct gen *g, const struct place *at, const struct access *a, unsigned n, bool load)
{
	static char text[80];
	unsigned first = pick(g, 4), len = 0;

	if (n == 1)
		return load ? target(g, a->class) : source(g, at, a->class);
	for (unsigned i = 0; i < n; i++) {
		unsigned count = a->class == 'r' ? 12 : a->class == 'd' ? 6 : 8;

		len += (unsigned)snprintf(
			text + len, sizeof text - len, "%s%%%c%u", i ? ", " : "{", a->class, (first + i) % count);
	}
	snprintf(text + len, sizeof text - len, "}");
	return text;
}

static const char *vector_word(unsigned n)
{
	return n == 1 ? "" : n == 2 ? ".v2" : ".v4";
}

/* Puts the address base + (index % elements) * size into %tl0. */
static void index_address(struct gen *g, const struct place *at, const char *base, unsigned elements, unsigned size)
{
	if (chance(g, 15)) {
		emit(g, "and.b64 %%tl0, %s, %u;", source(g, at, 'l'), elements - 1);
		emit(g, "mad.lo.u64 %%tl0, %%tl0, %u, %s;", size, base);
		return;
	}
	emit(g, "and.b32 %%tr0, %s, %u;", chance(g, 35) ? "%a3" : source(g, at, 'r'), elements - 1);
	if (chance(g, 40)) {
		emit(g, "mad.wide.u32 %%tl0, %%tr0, %u, %s;", size, base);
	} else {
		emit(g, "mul.wide.%c32 %%tl0, %%tr0, %u;", "us"[pick(g, 2)], size);
		emit(g, "add.s64 %%tl0, %s, %%tl0;", base);
	}
}

static void in_address(struct gen *g, const struct place *at, unsigned size)
{
	switch (pick(g, 5)) {
	case 0: /* affine */
		emit(g, "mad.wide.u32 %%tl0, %%gtid, %u, %%in;",
			size * (1 + pick(g, 2)) > 16 ? 16 : size * (1 + pick(g, 2)));
		if (size > 1)
			emit(g, "and.b64 %%tl0, %%tl0, -%u;", size);
		break;
	case 1: /* uniform */
		emit(g, "and.b32 %%tr0, %%u%u, 4095;", pick(g, 4));
		emit(g, "mad.wide.u32 %%tl0, %%tr0, %u, %%in;", size);
		break;
	default:
		index_address(g, at, "%in", 4096, size);
	}
}

void make_load(struct gen *g, const struct place *at)
{
	static const char *const spaces[] = {".global", ".global", ".global.nc", "", ".volatile.global",
		".relaxed.gpu.global", ".global.L1::no_allocate", ".global.ca"};
	const struct access *a = pick_access(g, 8);
	unsigned n = pick_vector(g, a, 16), space = pick(g, 8);

	if (space >= 4 && n > 1)
		space = 0;
	group_begin(g, at);
	in_address(g, at, a->size * n);
	emit(g, "%sld%s%s.%s %s, [%%tl0+%u];", guard(g), spaces[space], vector_word(n), a->type,
		vector(g, at, a, n, true), pick(g, 5) * a->size * n);
}

/* The address of a place in the thread's own part of one of three memories in %tl0; returns the space. */
static const char *own_address(struct gen *g, const struct place *at, unsigned size)
{
	switch (pick(g, 4)) {
	case 0:
		emit(g, "mov.u64 %%tl1, loc;");
		index_address(g, at, "%tl1", 64 / size, size);
		if (chance(g, 70))
			return ".local";
		emit(g, "cvta.local.u64 %%tl0, %%tl0;");
		return "";
	case 1:
		if (chance(g, 50))
			emit(g, "mov.u32 %%tr0, %u;", pick(g, CELLS));
		else
			emit(g, "and.b32 %%tr0, %s, %u;", source(g, at, 'r'), CELLS - 1);
		emit(g, "mad.lo.u32 %%tr0, %%tr0, %u, %%gtid;", g->k->threads);
		emit(g, "mad.wide.u32 %%tl0, %%tr0, 8, %%cells;");
		return ".global";
	default:
		index_address(g, at, "%own", OWN / size, size);
		return chance(g, 80) ? ".global" : "";
	}
}

/* A thread's cell holds 8 bytes, so that vectors of 16 bytes go to the other memories. */
void make_own(struct gen *g, const struct place *at)
{
	const struct access *a = pick_access(g, 8);
	unsigned n = pick_vector(g, a, 8), atom = pick(g, 10);
	const char *space, *strong;

	group_begin(g, at);
	if (atom == 0) { /* an atomic that no other thread sees */
		static const char *const ops[] = {"add.u32", "exch.b32", "inc.u32", "dec.u32", "min.s32", "xor.b32"};

		space = own_address(g, at, 8);
		if (!strcmp(space, ".local"))
			emit(g, "cvta.local.u64 %%tl0, %%tl0;"), space = "";
		emit(g, "%satom%s.%s %s, [%%tl0], %s;", guard(g), space, ops[pick(g, 6)], target(g, 'r'),
			source(g, at, 'r'));
		return;
	}
	space = own_address(g, at, a->size * n);
	strong = n == 1 && !strcmp(space, ".global") && chance(g, 10) ? ".volatile" : "";
	if (chance(g, 45))
		emit(g, "%sld%s%s%s.%s %s, [%%tl0];", guard(g), strong, space, vector_word(n), a->type,
			vector(g, at, a, n, true));
	else
		emit(g, "%sst%s%s%s.%s [%%tl0], %s;", guard(g), strong, space, vector_word(n), a->type,
			vector(g, at, a, n, false));
}

/* Shared memory: 16 bytes for each thread, then 32 bins of 4 bytes and 32 of 8. */
static void make_shared_read(struct gen *g, const struct place *at)
{
	const struct access *a = pick_access(g, 8);
	unsigned n = pick_vector(g, a, 16), size = a->size * n;
	const char *space = ".shared";

	if (chance(g, 30)) {
		emit(g, "and.b32 %%tr0, %s, 31;", source(g, at, 'r'));
		emit(g, "mov.u32 %%tr1, sh;");
		emit(g, "mad.lo.u32 %%tr0, %%tr0, 4, %%tr1;");
		emit(g, "%sld.shared.u32 %s, [%%tr0+%u];", guard(g), target(g, 'r'), 1024 * 16);
		return;
	}
	emit(g, "rem.u32 %%tr0, %s, %%nthreads;", source(g, at, 'r'));
	emit(g, "mov.u32 %%tr1, sh;");
	emit(g, "mad.lo.u32 %%tr0, %%tr0, 16, %%tr1;");
	emit(g, "cvt.u64.u32 %%tl0, %%tr0;");
	if (chance(g, 20)) {
		emit(g, "cvta.shared.u64 %%tl0, %%tl0;");
		space = "";
	}
	emit(g, "%sld%s%s.%s %s, [%%tl0+%u];", guard(g), space, vector_word(n), a->type, vector(g, at, a, n, true),
		pick(g, 16 / size) * size);
}

static void make_bin(struct gen *g, const struct place *at)
{
	bool wide = at->bins_op[strlen(at->bins_op) - 1] == '4';
	const char *value = source(g, at, wide ? 'l' : 'r');

	emit(g, "and.b32 %%tr0, %s, 31;", source(g, at, 'r'));
	emit(g, "mov.u32 %%tr1, sh;");
	emit(g, "mad.lo.u32 %%tr0, %%tr0, %u, %%tr1;", wide ? 8 : 4);
	if (chance(g, 70))
		emit(g, "%sred.shared.%s [%%tr0+%u], %s;", guard(g), at->bins_op, 1024 * 16 + (wide ? 128 : 0), value);
	else
		emit(g, "%satom.shared.%s %s, [%%tr0+%u], %s;", guard(g), at->bins_op, wide ? "%tl2" : "%tr2",
			1024 * 16 + (wide ? 128 : 0), value);
}

void make_shared(struct gen *g, const struct place *at)
{
	const struct access *a = pick_access(g, 8);
	unsigned n = pick_vector(g, a, 16), size = a->size * n;

	group_begin(g, at);
	if (!at->episode) {
		make_shared_read(g, at);
		return;
	}
	if (chance(g, 45)) {
		make_bin(g, at);
		return;
	}
	emit(g, "mov.u32 %%tr0, sh;");
	emit(g, "mad.lo.u32 %%tr0, %%ltid, 16, %%tr0;");
	if (chance(g, 70))
		emit(g, "%sst.shared%s.%s [%%tr0+%u], %s;", guard(g), vector_word(n), a->type,
			pick(g, 16 / size) * size, vector(g, at, a, n, false));
	else
		emit(g, "%sld.shared%s.%s %s, [%%tr0+%u];", guard(g), vector_word(n), a->type,
			vector(g, at, a, n, true), pick(g, 16 / size) * size);
}

/* Accumulator i has operation i % 8 for all time, so that the order of the threads does not matter. */
void make_reduction(struct gen *g, const struct place *at)
{
	static const char *const ops[] = {
		"add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "add.u64", "max.s64"};
	unsigned op = pick(g, 8);
	const char *value = source(g, at, op >= 6 ? 'l' : 'r');

	group_begin(g, at);
	if (chance(g, 40))
		emit(g, "mov.u64 %%tl0, %u;", pick(g, ACCUMULATORS / 8));
	else
		emit(g, "and.b32 %%tr0, %s, %u;", source(g, at, 'r'), ACCUMULATORS / 8 - 1),
			emit(g, "cvt.u64.u32 %%tl0, %%tr0;");
	emit(g, "mad.lo.u64 %%tl0, %%tl0, 64, %%acc;");
	emit(g, "%sred%s.global.%s [%%tl0+%u], %s;", guard(g), chance(g, 30) ? ".relaxed.gpu" : "", ops[op], op * 8,
		value);
}
