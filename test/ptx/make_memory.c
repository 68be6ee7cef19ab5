/*
 * Loads and stores.  No two elements are alike, integers go through registers wider than they are, and what
 * a store must not touch is looked at, too.  Where the address is generic, the lanes of one access point
 * into different spaces.
 */
#include "make.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 8 };

struct access {
	const char *name, *space, *type; /* space "": generic */
	unsigned n, bytes;               /* elements, and the size of one */
	bool wide;                       /* an integer narrower than 64 bits */
	bool strong;                     /* ordered or volatile: not of local memory */
};

static struct access parse(const char *name)
{
	static const char *const spaces[] = {"global", "shared", "local", "const", "param"};
	struct access a = {.name = name, .space = "", .type = strrchr(name, '.') + 1, .n = 1};
	char word[16];

	for (unsigned i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
		snprintf(word, sizeof word, ".%s.", spaces[i]);
		if (strstr(name, word))
			a.space = spaces[i];
	}
	for (unsigned n = 2; n <= 8; n *= 2) {
		snprintf(word, sizeof word, ".v%u.", n);
		if (strstr(name, word))
			a.n = n;
	}
	a.bytes = size_named(a.type) / 8;
	a.wide = a.type[0] != 'f' && a.bytes < 8;
	a.strong = strstr(name, "volatile") || strstr(name, "relaxed") || strstr(name, "acquire") ||
		   strstr(name, "release");
	return a;
}

static uint64_t element(const struct access *a, unsigned i)
{
	return (i + 1) * 0x9e3779b97f4a7c15 >> (64 - 8 * a->bytes);
}

/* What a load leaves in a register of 64 bits. */
static uint64_t extended(const struct access *a, uint64_t v)
{
	unsigned unused = 64 - 8 * a->bytes;

	return a->type[0] == 's' ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
}

/* What a store takes from one: more than it may write. */
static uint64_t surrounded(const struct access *a, uint64_t v)
{
	return a->wide ? v | 0xa5a5a5a5a5a5a5a5 << 8 * a->bytes : v;
}

/* ---- text ---- */

static const char *bits_of(const struct access *a)
{
	return a->wide || a->bytes == 8 ? "b64" : "b32";
}

static void print_element(FILE *o, unsigned i, unsigned a_line, const char *end, uint64_t v, unsigned bytes)
{
	if (i % a_line == 0)
		fprintf(o, "\n//\t\t");
	fprintf(o, "0x%0*llx%s", (int)bytes * 2, (unsigned long long)v, end);
}

static void print_vector(FILE *o, const struct access *a)
{
	for (unsigned k = 0; k < a->n; k++)
		fprintf(o, "%s%%v%u%s", k ? ", " : a->n > 1 ? "{" : "", k, k + 1 < a->n || a->n == 1 ? "" : "}");
}

static void print_head(FILE *o, const struct access *a)
{
	bool new = a->n * a->bytes > 16;

	fprintf(o, "\n.version %s\n.target %s\n.address_size 64\n\n", new ? "8.8" : "8.6",
		new ? "sm_100" : "sm_90");
}

static void print_registers(FILE *o, const struct access *a, unsigned slot)
{
	const char *memory = *a->space ? a->space : "shared";

	fprintf(o, "\t.reg .u64 %%a, %%r, %%s, %%l, %%from, %%to;\n\t.reg .u32 %%i, %%k;\n");
	fprintf(o, "\t.reg .b16 %%b;\n\t.reg .pred %%p, %%q;\n\t.reg .%s %%v<%u>;\n",
		a->type[0] == 'f' ? a->type : "b64", a->n);
	if (!strcmp(memory, "shared") || !strcmp(memory, "local"))
		fprintf(o, "\t.%s .align 16 .b8 %s[%u];\n", memory, memory, *memory == 's' ? LANES * slot : slot);
	if (!*a->space && !a->strong)
		fprintf(o, "\t.local .align 16 .b8 local[%u];\n", slot);
	fprintf(o, "\n\tmov.u32 %%i, %%tid.x;\n");
}

/* Byte by byte, by plain generic instructions. */
static void print_copy(FILE *o, const char *label, const char *from, const char *to, unsigned n)
{
	fprintf(o, "\tmov.u64 %%from, %%%s;\n\tmov.u64 %%to, %%%s;\n\tmov.u32 %%k, 0;\n%s:\n", from, to, label);
	fprintf(o, "\tld.u8 %%b, [%%from];\n\tst.u8 [%%to], %%b;\n");
	fprintf(o, "\tadd.u64 %%from, %%from, 1;\n\tadd.u64 %%to, %%to, 1;\n\tadd.u32 %%k, %%k, 1;\n");
	fprintf(o, "\tsetp.lt.u32 %%p, %%k, %u;\n\t@%%p bra %s;\n", n, label);
}

/* %s: where the access goes, and %l the same as a generic address. `home` has the lane's own slot in a buffer. */
static void print_place(FILE *o, const struct access *a, const char *home, unsigned slot)
{
	if (!strcmp(a->space, "global")) {
		fprintf(o, "\tmov.u64 %%s, %%%s;\n", home);
	} else if (!strcmp(a->space, "const")) {
		fprintf(o, "\tmov.u64 %%s, table;\n\tmad.wide.u32 %%s, %%i, %u, %%s;\n", slot);
	} else if (!strcmp(a->space, "local")) {
		fprintf(o, "\tmov.u64 %%s, local;\n\tcvta.local.u64 %%l, %%s;\n");
	} else {
		fprintf(o, "\tmov.u64 %%s, shared;\n\tmad.wide.u32 %%s, %%i, %u, %%s;\n", slot);
		fprintf(o, "\tcvta.shared.u64 %%l, %%s;\n");
	}
	if (*a->space)
		return;
	fprintf(o, "\trem.u32 %%k, %%i, %u;\n\tsetp.eq.u32 %%p, %%k, 0;\n\tselp.u64 %%s, %%%s, %%l, %%p;\n",
		a->strong ? 2 : 3, home);
	if (!a->strong) {
		fprintf(o, "\tmov.u64 %%l, local;\n\tcvta.local.u64 %%l, %%l;\n");
		fprintf(o, "\tsetp.eq.u32 %%p, %%k, 1;\n\tselp.u64 %%s, %%l, %%s, %%p;\n");
	}
	fprintf(o, "\tmov.u64 %%l, %%s;\n");
}

/* After a barrier, the slot of the lane beside this one. */
static void print_neighbour(FILE *o, unsigned slot)
{
	fprintf(o, "\tbar.sync 0;\n\txor.b32 %%k, %%i, 1;\n\tmov.u64 %%s, shared;\n");
	fprintf(o, "\tmad.wide.u32 %%s, %%k, %u, %%s;\n\tcvta.shared.u64 %%l, %%s;\n", slot);
}

/* ---- loads ---- */

static void load_kernel(FILE *o, const struct access *a)
{
	unsigned slot = a->n * a->bytes;
	bool table = !strcmp(a->space, "const"), copied = !table && strcmp(a->space, "global");

	print_head(o, a);
	if (table) {
		fprintf(o, ".const .align 16 .b8 table[%u] = {", LANES * slot);
		for (unsigned i = 0; i < LANES * slot; i++)
			fprintf(o, "%s%s%u", i ? "," : "", i % 16 ? " " : "\n\t",
				(unsigned)(element(a, i / a->bytes) >> i % a->bytes * 8 & 255));
		fprintf(o, "};\n\n");
	}
	fprintf(o, ".visible .entry t(%s.param .u64 r)\n{\n", table ? "" : ".param .u64 a, ");
	print_registers(o, a, slot);
	if (!table)
		fprintf(o, "\tld.param.u64 %%a, [a];\n\tmad.wide.u32 %%a, %%i, %u, %%a;\n", slot);
	fprintf(o, "\tld.param.u64 %%r, [r];\n\tmad.wide.u32 %%r, %%i, %u, %%r;\n",
		a->n * (a->wide ? 8 : a->bytes));
	print_place(o, a, "a", slot);
	if (copied)
		print_copy(o, "fill", "a", "l", slot);
	if (!strcmp(a->space, "shared"))
		print_neighbour(o, slot);
	fprintf(o, "\t%s ", a->name);
	print_vector(o, a);
	fprintf(o, ", [%%s];\n");
	for (unsigned k = 0; k < a->n; k++)
		fprintf(o, "\tst.global.%s [%%r+%u], %%v%u;\n", bits_of(a), k * (a->wide ? 8 : a->bytes), k);
	fprintf(o, "\tret;\n}\n");
}

static void load(const char *name)
{
	struct access a = parse(name);
	FILE *o = open_test("mem", name);
	unsigned total = LANES * a.n, neighbour = strcmp(a.space, "shared") ? 0 : 1;

	fprintf(o, "// %s: %s\n// >>> launch t grid=1 block=%d", name,
		neighbour  ? "what the neighbouring lane wrote"
		: *a.space ? "each element in its place"
			   : "one access to several spaces",
		LANES);
	if (strcmp(a.space, "const")) {
		fprintf(o, "\n//\ta=b%u:", 8 * a.bytes);
		for (unsigned i = 0; i < total; i++)
			print_element(o, i, 8, i + 1 < total ? "," : "", element(&a, i), a.bytes);
	}
	fprintf(o, "\n//\tout=r:%s:%u\n// >>> expect r=%s:", bits_of(&a), total, bits_of(&a));
	for (unsigned i = 0; i < total; i++) {
		unsigned lane = i / a.n ^ neighbour;

		print_element(o, i, a.wide ? 5 : 8, i + 1 < total ? "," : "",
			      extended(&a, element(&a, lane * a.n + i % a.n)), a.wide ? 8 : a.bytes);
	}
	fprintf(o, "\n");
	load_kernel(o, &a);
	fclose(o);
}

/* ---- stores: a slot is twice as large as what is written into it ---- */

static void store_kernel(FILE *o, const struct access *a, unsigned slot)
{
	unsigned stride = a->wide ? 8 : a->bytes;
	bool copied = strcmp(a->space, "global");

	print_head(o, a);
	fprintf(o, ".visible .entry t(.param .u64 a, .param .u64 r)\n{\n");
	print_registers(o, a, slot);
	fprintf(o, "\tld.param.u64 %%a, [a];\n\tmad.wide.u32 %%a, %%i, %u, %%a;\n", a->n * stride);
	fprintf(o, "\tld.param.u64 %%r, [r];\n\tmad.wide.u32 %%r, %%i, %u, %%r;\n", slot);
	print_place(o, a, "r", slot);
	if (copied)
		print_copy(o, "fill", "r", "l", slot);
	for (unsigned k = 0; k < a->n; k++)
		fprintf(o, "\tld.global.%s %%v%u, [%%a+%u];\n", bits_of(a), k, k * stride);
	fprintf(o, "\t%s [%%s], ", a->name);
	print_vector(o, a);
	fprintf(o, ";\n");
	if (!strcmp(a->space, "shared"))
		print_neighbour(o, slot);
	if (copied)
		print_copy(o, "back", "l", "r", slot);
	fprintf(o, "\tret;\n}\n");
}

static void store(const char *name)
{
	struct access a = parse(name);
	FILE *o = open_test("mem", name);
	unsigned total = LANES * a.n, neighbour = strcmp(a.space, "shared") ? 0 : 1;
	unsigned half = a.n * a.bytes, slot = 2 * half;

	fprintf(o, "// %s: %s, and no byte beside it\n// >>> launch t grid=1 block=%d\n//\ta=%s:", name,
		*a.space ? "each element in its place" : "one access to several spaces", LANES, bits_of(&a));
	for (unsigned i = 0; i < total; i++)
		print_element(o, i, a.wide ? 5 : 8, i + 1 < total ? "," : "", surrounded(&a, element(&a, i)),
			      a.wide ? 8 : a.bytes);
	fprintf(o, "\n//\tout=r:b8:%u\n// >>> expect r=b8:", LANES * slot);
	for (unsigned i = 0; i < LANES * slot; i++) {
		unsigned lane = i / slot ^ neighbour, at = i % slot;
		uint64_t v = at < half ? element(&a, lane * a.n + at / a.bytes) >> at % a.bytes * 8 & 255 : 0xcc;

		print_element(o, i, 16, i + 1 < LANES * slot ? "," : "", v, 1);
	}
	fprintf(o, "\n");
	store_kernel(o, &a, slot);
	fclose(o);
}

/* ---- parameters ---- */

enum { PARAMS = 3 };

static void load_param(const char *name)
{
	struct access a = parse(name);
	FILE *o = open_test("mem", name);
	unsigned slot = a.n * a.bytes, stride = a.wide ? 8 : a.bytes;

	fprintf(o, "// %s: of a kernel\n// >>> launch t grid=1 block=1 out=r:%s:%u", name, bits_of(&a), PARAMS * a.n);
	for (unsigned p = 0; p < PARAMS; p++) {
		uint64_t v = 0;

		for (unsigned k = 0; k < a.n; k++)
			v |= element(&a, p * a.n + k) << k * a.bytes * 8;
		fprintf(o, " p%u=b%u!0x%0*llx", p, slot * 8, (int)slot * 2, (unsigned long long)v);
	}
	fprintf(o, "\n// >>> expect r=%s:", bits_of(&a));
	for (unsigned i = 0; i < PARAMS * a.n; i++)
		print_element(o, i, 4, i + 1 < PARAMS * a.n ? "," : "", extended(&a, element(&a, i)), stride);
	fprintf(o, "\n");
	print_head(o, &a);
	fprintf(o, ".visible .entry t(.param .u64 r");
	for (unsigned p = 0; p < PARAMS; p++)
		fprintf(o, a.n > 1 ? ", .param .align %u .b8 p%u[%u]" : ", .param .b%u p%u", a.n > 1 ? slot : slot * 8, p,
			slot);
	fprintf(o, ")\n{\n\t.reg .u64 %%r;\n\t.reg .%s %%v<%u>;\n", a.type[0] == 'f' ? a.type : "b64", a.n);
	fprintf(o, "\n\tld.param.u64 %%r, [r];\n");
	for (unsigned p = 0; p < PARAMS; p++) {
		fprintf(o, "\t%s ", name);
		print_vector(o, &a);
		fprintf(o, ", [p%u];\n", p);
		for (unsigned k = 0; k < a.n; k++)
			fprintf(o, "\tst.global.%s [%%r+%u], %%v%u;\n", bits_of(&a), stride * (p * a.n + k), k);
	}
	fprintf(o, "\tret;\n}\n");
	fclose(o);
}

/* A function that gives its two arguments back in the other order. */
static void store_param(const char *name)
{
	struct access a = parse(name);
	FILE *o = open_test("mem", name);
	const char *bits = bits_of(&a), *reg = a.type[0] == 'f' ? a.type : "b64";
	unsigned stride = a.wide ? 8 : a.bytes;

	fprintf(o, "// %s: arguments and results of a function\n// >>> launch t grid=1 block=%d\n//\ta=%s:", name,
		LANES, bits);
	for (unsigned i = 0; i < 2 * LANES; i++)
		print_element(o, i, a.wide ? 5 : 8, i + 1 < 2 * LANES ? "," : "", surrounded(&a, element(&a, i)),
			      stride);
	fprintf(o, "\n//\tout=r:%s:%d\n// >>> expect r=%s:", bits, 2 * LANES, bits);
	for (unsigned i = 0; i < 2 * LANES; i++)
		print_element(o, i, a.wide ? 5 : 8, i + 1 < 2 * LANES ? "," : "", element(&a, i ^ 1), stride);
	fprintf(o, "\n");
	print_head(o, &a);
	fprintf(o, ".func (.param .align 8 .b8 r[%u]) swap(.param .%s a, .param .%s b)\n", 2 * a.bytes, a.type, a.type);
	fprintf(o, "{\n\t.reg .%s %%v<2>;\n\n\tld.param.%s %%v0, [a];\n\tld.param.%s %%v1, [b];\n", reg, a.type,
		a.type);
	fprintf(o, "\t%s [r], %%v1;\n\t%s [r+%u], %%v0;\n\tret;\n}\n\n", name, name, a.bytes);
	fprintf(o, ".visible .entry t(.param .u64 a, .param .u64 r)\n{\n\t.reg .u64 %%a, %%r;\n\t.reg .u32 %%i;\n");
	fprintf(o, "\t.reg .%s %%v<2>;\n\n\tmov.u32 %%i, %%tid.x;\n", reg);
	for (const char *p = "ar"; *p; p++)
		fprintf(o, "\tld.param.u64 %%%c, [%c];\n\tmad.wide.u32 %%%c, %%i, %u, %%%c;\n", *p, *p, *p, 2 * stride,
			*p);
	fprintf(o, "\tld.global.%s %%v0, [%%a];\n\tld.global.%s %%v1, [%%a+%u];\n\t{\n", bits, bits, stride);
	fprintf(o, "\t.param .%s x;\n\t.param .%s y;\n\t.param .align 8 .b8 z[%u];\n", a.type, a.type, 2 * a.bytes);
	fprintf(o, "\t%s [x], %%v0;\n\t%s [y], %%v1;\n\tcall (z), swap, (x, y);\n", name, name);
	fprintf(o, "\tld.param.%s %%v0, [z];\n\tld.param.%s %%v1, [z+%u];\n\t}\n", a.type, a.type, a.bytes);
	fprintf(o, "\tst.global.%s [%%r], %%v0;\n\tst.global.%s [%%r+%u], %%v1;\n\tret;\n}\n", bits, bits, stride);
	fclose(o);
}

void make_memory(void)
{
	static const char *const loads[] = {
		"ld.acquire.cta.u32", "ld.acquire.gpu.u32", "ld.acquire.sys.global.u8", "ld.ca.u32", "ld.cg.u32",
		"ld.const.f32", "ld.const.f64", "ld.const.u16", "ld.const.u32", "ld.const.v4.f32",
		"ld.global.L1::evict_last.L2::128B.v4.b32", "ld.global.nc.v2.f32", "ld.global.nc.v2.f64",
		"ld.global.nc.v2.u16", "ld.global.nc.v2.u32", "ld.global.nc.v2.u64", "ld.global.nc.v2.u8",
		"ld.global.nc.v4.f32", "ld.global.nc.v4.u16", "ld.global.nc.v4.u32", "ld.global.nc.v4.u8",
		"ld.global.nc.v8.f32", "ld.local.f32", "ld.local.f64", "ld.local.u32", "ld.local.u64",
		"ld.local.v2.f32", "ld.local.v4.f32", "ld.relaxed.cta.b32", "ld.relaxed.gpu.u32",
		"ld.relaxed.gpu.v2.u32", "ld.relaxed.gpu.v2.u64", "ld.shared.f32", "ld.shared.f64",
		"ld.shared.s16", "ld.shared.s32", "ld.shared.s8", "ld.shared.u16", "ld.shared.u32",
		"ld.shared.u64", "ld.shared.u8", "ld.shared.v2.f32", "ld.shared.v2.f64", "ld.shared.v2.u16",
		"ld.shared.v2.u32", "ld.shared.v2.u64", "ld.shared.v2.u8", "ld.shared.v4.f32", "ld.shared.v4.u32",
		"ld.shared.v4.u8", "ld.v2.f32", "ld.v2.u16", "ld.v4.f32", "ld.v4.u32",
		"ld.volatile.global.v4.u32", "ld.volatile.shared.f32", "ld.volatile.shared.u32",
		"ld.volatile.u32", "ldu.global.v4.f32"};
	static const char *const stores[] = {
		"st.cg.u32", "st.f32", "st.f64", "st.global.v2.f32", "st.global.v2.f64", "st.global.v2.u16",
		"st.global.v2.u32", "st.global.v2.u64", "st.global.v2.u8", "st.global.v4.f32",
		"st.global.v4.u32", "st.global.v4.u8", "st.local.v2.f32", "st.local.v2.u16", "st.local.v2.u32",
		"st.local.v2.u64", "st.local.v4.f32", "st.local.v4.u32", "st.local.v4.u8", "st.relaxed.cta.b32",
		"st.relaxed.gpu.v2.u32", "st.relaxed.gpu.v2.u64", "st.release.gpu.u32",
		"st.release.sys.global.u8", "st.shared.v2.f32", "st.shared.v2.u16", "st.shared.v2.u32",
		"st.shared.v4.b32", "st.shared.v4.f32", "st.shared.v4.u16", "st.shared.v4.u32",
		"st.shared.v4.u8", "st.u16", "st.u32", "st.u64", "st.v2.u16", "st.v2.u32",
		"st.volatile.global.u32", "st.volatile.shared.f32", "st.volatile.shared.u32", "st.volatile.u32"};
	static const char *const params[] = {"b32", "b64", "f32", "f64", "s16", "s32", "s8", "u16", "u32",
		"u64", "u8", "v2.f32", "v2.u32", "v2.u8", "v4.u8"};
	static const char *const arguments[] = {"b32", "b64", "b8", "f32", "f64"};
	char name[40];

	for (unsigned i = 0; i < sizeof loads / sizeof loads[0]; i++)
		load(loads[i]);
	for (unsigned i = 0; i < sizeof stores / sizeof stores[0]; i++)
		store(stores[i]);
	for (unsigned i = 0; i < sizeof params / sizeof params[0]; i++) {
		snprintf(name, sizeof name, "ld.param.%s", params[i]);
		load_param(name);
	}
	for (unsigned i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
		snprintf(name, sizeof name, "st.param.%s", arguments[i]);
		store_param(name);
	}
}
