/*
 * Makes the spec files of loads and stores.  No two elements are equal, and the bytes beside a store are checked,
 * too. The lanes of one warp access consecutive elements, those of another one elements with gaps.  Generic accesses
 * point to different state spaces.  Integers, and addresses of shared memory, use registers of their own size (16
 * bits for 8) in one file and 64-bit registers in another.
 */
#include "make.h"
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, LANES = 36, SLOTS = 40 };

struct access {
	const char *name, *space, *type; /* space "": generic */
	unsigned n, bytes;               /* elements, and the size of one */
	unsigned reg;                    /* the size of a register */
	bool strong;                     /* ordered or volatile: not of local memory */
	bool near;                       /* has an address of 32 bits */
};

static struct access parse(const char *name, bool wide)
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
	a.reg = wide ? 8 : a.bytes == 1 ? 2 : a.bytes;
	a.near = !strcmp(a.space, "shared") && !wide;
	a.strong = strstr(name, "volatile") || strstr(name, "relaxed") || strstr(name, "acquire") ||
		   strstr(name, "release");
	return a;
}

static bool is(const struct access *a, const char *space)
{
	return !strcmp(a->space, space);
}

/* The slot of a lane; the second warp uses every other slot. */
static unsigned slot_of(unsigned lane)
{
	return lane < WARP ? lane : lane + (lane - WARP);
}

static uint64_t element(const struct access *a, unsigned i)
{
	return (i + 1) * 0x9e3779b97f4a7c15 >> (64 - 8 * a->bytes);
}

static uint64_t byte(const struct access *a, unsigned at)
{
	return element(a, at / a->bytes) >> at % a->bytes * 8 & 255;
}

/* The register after a load. */
static uint64_t extended(const struct access *a, uint64_t v)
{
	unsigned unused = 64 - 8 * a->bytes;

	v = a->type[0] == 's' ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
	return a->reg < 8 ? v & ((1ull << 8 * a->reg) - 1) : v;
}

/* The register before a store: it has more bits than the store may write. */
static uint64_t surrounded(const struct access *a, uint64_t v)
{
	if (a->reg == a->bytes)
		return v;
	return v | (0xa5a5a5a5a5a5a5a5 >> (64 - 8 * (a->reg - a->bytes))) << 8 * a->bytes;
}

/* ---- text ---- */

static void print_list_of(
	FILE *o, const struct access *a, unsigned n, uint64_t (*value)(const struct access *, unsigned))
{
	unsigned line = a->reg == 8 ? 5 : 8;

	for (unsigned i = 0; i < n; i++)
		fprintf(o, "%s0x%0*llx%s", i % line ? "" : "\n//\t\t", (int)a->reg * 2, (unsigned long long)value(a, i),
			i + 1 < n ? "," : "");
}

static uint64_t loaded(const struct access *a, unsigned i)
{
	return extended(a, element(a, slot_of(i / a->n) * a->n + i % a->n));
}

static uint64_t to_store(const struct access *a, unsigned i)
{
	return surrounded(a, element(a, slot_of(i / a->n) * a->n + i % a->n));
}

static void print_vector(FILE *o, const struct access *a)
{
	for (unsigned k = 0; k < a->n; k++)
		fprintf(o, "%s%%v%u%s", k ? ", " : a->n > 1 ? "{" : "", k, k + 1 < a->n || a->n == 1 ? "" : "}");
}

static const char *register_type(const struct access *a)
{
	return a->type[0] == 'f' ? a->type : a->reg == 2 ? "b16" : a->reg == 4 ? "b32" : "b64";
}

static void print_head(FILE *o, const struct access *a)
{
	bool new = a->n * a->bytes > 16;

	fprintf(o, "\n.version %s\n.target %s\n.address_size 64\n\n", new ? "8.8" : "8.6", new ? "sm_100" : "sm_90");
}

static void print_registers(FILE *o, const struct access *a)
{
	unsigned slot = a->n * a->bytes;

	fprintf(o, "\t.reg .u64 %%a, %%r, %%l, %%from, %%to;\n\t.reg .u32 %%i, %%j, %%k, %%slot, %%n;\n");
	fprintf(o, "\t.reg .u%d %%s;\n", a->near ? 32 : 64);
	fprintf(o, "\t.reg .b16 %%b;\n\t.reg .pred %%p;\n\t.reg .%s %%v<%u>;\n", register_type(a), a->n);
	if (is(a, "shared") || is(a, ""))
		fprintf(o, "\t.shared .align 16 .b8 shared[%u];\n", SLOTS * slot);
	if (is(a, "local") || (is(a, "") && !a->strong))
		fprintf(o, "\t.local .align 16 .b8 local[%u];\n", 2 * slot);
	fprintf(o, "\n\tmov.u32 %%i, %%tid.x;\n");
}

/* Computes the slot of the lane in %slot. */
static void print_slot(FILE *o, const char *lane)
{
	fprintf(o,
		"\tmax.u32 %%slot, %%%s, %d;\n\tsub.u32 %%slot, %%slot, %d;\n"
		"\tadd.u32 %%slot, %%slot, %%%s;\n",
		lane, WARP, WARP, lane);
}

/* Copies %n bytes by plain generic instructions. */
static void print_copy(FILE *o, const char *label, const char *from, const char *to)
{
	fprintf(o, "\tmov.u64 %%from, %%%s;\n\tmov.u64 %%to, %%%s;\n\tmov.u32 %%k, 0;\n%s:\n", from, to, label);
	fprintf(o, "\tld.u8 %%b, [%%from];\n\tst.u8 [%%to], %%b;\n");
	fprintf(o, "\tadd.u64 %%from, %%from, 1;\n\tadd.u64 %%to, %%to, 1;\n\tadd.u32 %%k, %%k, 1;\n");
	fprintf(o, "\tsetp.lt.u32 %%p, %%k, %%n;\n\t@%%p bra %s;\n", label);
}

/* Lanes of a generic access: some in `home`, some in shared and some in local memory. */
static void print_several(FILE *o, const struct access *a, const char *home)
{
	fprintf(o, "\tcvta.shared.u64 %%s, %%s;\n\trem.u32 %%k, %%i, %d;\n\tsetp.eq.u32 %%p, %%k, 0;\n",
		a->strong ? 2 : 3);
	fprintf(o, "\tselp.u64 %%s, %%%s, %%s, %%p;\n", home);
	if (!a->strong) {
		fprintf(o, "\tmov.u64 %%l, local;\n\tcvta.local.u64 %%l, %%l;\n");
		fprintf(o, "\tsetp.eq.u32 %%p, %%k, 1;\n\tselp.u64 %%s, %%l, %%s, %%p;\n");
	}
	fprintf(o, "\tmov.u64 %%l, %%s;\n");
}

/*
 * Computes in %s the address of the access.  `home` becomes the slot in a buffer that is copied to or from there, %l
 * its generic address; in shared memory, both are those of the neighbouring lane.
 */
static void print_place(FILE *o, const struct access *a, const char *home)
{
	unsigned slot = a->n * a->bytes;
	bool shared = is(a, "shared");

	print_slot(o, "i");
	if (a->near)
		fprintf(o, "\tmov.u32 %%s, shared;\n\tmad.lo.u32 %%s, %%slot, %u, %%s;\n", slot);
	else if (shared || is(a, ""))
		fprintf(o, "\tmov.u64 %%s, shared;\n\tmad.wide.u32 %%s, %%slot, %u, %%s;\n", slot);
	if (shared) {
		fprintf(o, "\txor.b32 %%j, %%i, 1;\n");
		print_slot(o, "j");
		fprintf(o,
			"\tmov.u64 %%l, shared;\n\tmad.wide.u32 %%l, %%slot, %u, %%l;\n"
			"\tcvta.shared.u64 %%l, %%l;\n",
			slot);
	}
	if (is(a, "const"))
		fprintf(o, "\tmov.u64 %%s, table;\n\tmad.wide.u32 %%s, %%slot, %u, %%s;\n", slot);
	else
		fprintf(o, "\tld.param.u64 %%%s, [%s];\n\tmad.wide.u32 %%%s, %%slot, %u, %%%s;\n", home, home, home,
			slot, home);
	if (is(a, "global"))
		fprintf(o, "\tmov.u64 %%s, %%%s;\n", home);
	if (is(a, "local"))
		fprintf(o, "\tmov.u64 %%s, local;\n\tcvta.local.u64 %%l, %%s;\n");
	if (is(a, ""))
		print_several(o, a, home);
}

static FILE *open_access(const struct access *a)
{
	char name[100];

	snprintf(name, sizeof name, "%s%s", a->name, a->type[0] != 'f' && a->bytes < 8 && a->reg == 8 ? "-wide" : "");
	return open_test("mem", name);
}

static const char *note(const struct access *a)
{
	return is(a, "shared") ? "between neighbouring lanes"
	       : is(a, "")     ? "one access to several spaces"
			       : "each element in its place";
}

/* ---- loads ---- */

static void load_kernel(FILE *o, const struct access *a)
{
	unsigned slot = a->n * a->bytes;
	bool table = is(a, "const");

	print_head(o, a);
	if (table) {
		fprintf(o, ".const .align 16 .b8 table[%u] = {", SLOTS * slot);
		for (unsigned i = 0; i < SLOTS * slot; i++)
			fprintf(o, "%s%s%u", i ? "," : "", i % 16 ? " " : "\n\t", (unsigned)byte(a, i));
		fprintf(o, "};\n\n");
	}
	fprintf(o, ".visible .entry t(%s.param .u64 r)\n{\n", table ? "" : ".param .u64 a, ");
	print_registers(o, a);
	print_place(o, a, "a");
	fprintf(o, "\tld.param.u64 %%r, [r];\n\tmad.wide.u32 %%r, %%i, %u, %%r;\n", a->n * a->reg);
	if (!table && !is(a, "global")) {
		fprintf(o, "\tmov.u32 %%n, %u;\n", slot);
		print_copy(o, "fill", "a", "l");
	}
	if (is(a, "shared"))
		fprintf(o, "\tbar.sync 0;\n");
	fprintf(o, "\t%s ", a->name);
	print_vector(o, a);
	fprintf(o, ", [%%s];\n");
	for (unsigned k = 0; k < a->n; k++)
		fprintf(o, "\tst.global.b%u [%%r+%u], %%v%u;\n", 8 * a->reg, k * a->reg, k);
	fprintf(o, "\tret;\n}\n");
}

static void load(const char *name, bool wide)
{
	struct access a = parse(name, wide), memory = a;
	FILE *o = open_access(&a);

	memory.reg = a.bytes;
	fprintf(o, "// %s: %s\n// >>> launch t grid=1 block=%d", name, note(&a), LANES);
	if (!is(&a, "const")) {
		fprintf(o, "\n//\ta=b%u:", 8 * a.bytes);
		print_list_of(o, &memory, SLOTS * a.n, element);
	}
	fprintf(o, "\n//\tout=r:b%u:%u\n// >>> expect r=b%u:", 8 * a.reg, LANES * a.n, 8 * a.reg);
	print_list_of(o, &a, LANES * a.n, loaded);
	fprintf(o, "\n");
	load_kernel(o, &a);
	fclose(o);
}

/* ---- stores ---- */

static void store_kernel(FILE *o, const struct access *a)
{
	unsigned slot = a->n * a->bytes;
	bool copied = !is(a, "global");

	print_head(o, a);
	fprintf(o, ".visible .entry t(.param .u64 a, .param .u64 r)\n{\n");
	print_registers(o, a);
	print_place(o, a, "r");
	fprintf(o, "\tld.param.u64 %%a, [a];\n\tmad.wide.u32 %%a, %%i, %u, %%a;\n", a->n * a->reg);
	if (copied) {
		fprintf(o, "\tsetp.lt.u32 %%p, %%i, %d;\n\tselp.u32 %%n, %u, %u, %%p;\n", WARP, slot, 2 * slot);
		print_copy(o, "fill", "r", "l");
	}
	if (is(a, "shared"))
		fprintf(o, "\tbar.sync 0;\n");
	for (unsigned k = 0; k < a->n; k++)
		fprintf(o, "\tld.global.b%u %%v%u, [%%a+%u];\n", 8 * a->reg, k, k * a->reg);
	fprintf(o, "\t%s [%%s], ", a->name);
	print_vector(o, a);
	fprintf(o, ";\n");
	if (is(a, "shared"))
		fprintf(o, "\tbar.sync 0;\n");
	if (copied)
		print_copy(o, "back", "l", "r");
	fprintf(o, "\tret;\n}\n");
}

static uint64_t stored(const struct access *a, unsigned at)
{
	unsigned slot = at / (a->n * a->bytes);

	return slot >= WARP && slot % 2 ? 0xcc : byte(a, at);
}

static void store(const char *name, bool wide)
{
	struct access a = parse(name, wide);
	unsigned total = SLOTS * a.n * a.bytes;
	FILE *o = open_access(&a);

	fprintf(o, "// %s: %s, and no byte beside it\n// >>> launch t grid=1 block=%d\n//\ta=b%u:", name, note(&a),
		LANES, 8 * a.reg);
	print_list_of(o, &a, LANES * a.n, to_store);
	fprintf(o, "\n//\tout=r:b8:%u\n// >>> expect r=b8:", total);
	for (unsigned i = 0; i < total; i++)
		fprintf(o, "%s0x%02x%s", i % 16 ? "" : "\n//\t\t", (unsigned)stored(&a, i), i + 1 < total ? "," : "");
	fprintf(o, "\n");
	store_kernel(o, &a);
	fclose(o);
}

/* ---- parameters ---- */

enum { PARAMS = 3 };

static uint64_t param(const struct access *a, unsigned i)
{
	return extended(a, element(a, i));
}

static void load_param(const char *name, bool wide)
{
	struct access a = parse(name, wide);
	unsigned slot = a.n * a.bytes;
	FILE *o = open_access(&a);

	fprintf(o, "// %s: of a kernel\n// >>> launch t grid=1 block=1 out=r:b%u:%u", name, 8 * a.reg, PARAMS * a.n);
	for (unsigned p = 0; p < PARAMS; p++) {
		uint64_t v = 0;

		for (unsigned k = 0; k < a.n; k++)
			v |= element(&a, p * a.n + k) << k * a.bytes * 8;
		fprintf(o, " p%u=b%u!0x%0*llx", p, slot * 8, (int)slot * 2, (unsigned long long)v);
	}
	fprintf(o, "\n// >>> expect r=b%u:", 8 * a.reg);
	print_list_of(o, &a, PARAMS * a.n, param);
	fprintf(o, "\n");
	print_head(o, &a);
	fprintf(o, ".visible .entry t(.param .u64 r");
	for (unsigned p = 0; p < PARAMS; p++)
		fprintf(o, a.n > 1 ? ", .param .align %u .b8 p%u[%u]" : ", .param .b%u p%u", a.n > 1 ? slot : slot * 8,
			p, slot);
	fprintf(o, ")\n{\n\t.reg .u64 %%r;\n\t.reg .%s %%v<%u>;\n\n\tld.param.u64 %%r, [r];\n", register_type(&a), a.n);
	for (unsigned p = 0; p < PARAMS; p++) {
		fprintf(o, "\t%s ", name);
		print_vector(o, &a);
		fprintf(o, ", [p%u];\n", p);
		for (unsigned k = 0; k < a.n; k++)
			fprintf(o, "\tst.global.b%u [%%r+%u], %%v%u;\n", 8 * a.reg, a.reg * (p * a.n + k), k);
	}
	fprintf(o, "\tret;\n}\n");
	fclose(o);
}

static uint64_t argument(const struct access *a, unsigned i)
{
	return surrounded(a, element(a, i));
}

static uint64_t swapped(const struct access *a, unsigned i)
{
	return extended(a, element(a, i ^ 1));
}

/* A function that returns its two arguments in the other order. */
static void store_param(const char *name, bool wide)
{
	struct access a = parse(name, wide);
	const char *reg = register_type(&a);
	unsigned bits = 8 * a.reg;
	FILE *o = open_access(&a);

	fprintf(o, "// %s: arguments and results of a function\n// >>> launch t grid=1 block=%d\n//\ta=b%u:", name,
		LANES, bits);
	print_list_of(o, &a, 2 * LANES, argument);
	fprintf(o, "\n//\tout=r:b%u:%d\n// >>> expect r=b%u:", bits, 2 * LANES, bits);
	print_list_of(o, &a, 2 * LANES, swapped);
	fprintf(o, "\n");
	print_head(o, &a);
	fprintf(o, ".func (.param .align 8 .b8 r[%u]) swap(.param .%s a, .param .%s b)\n", 2 * a.bytes, a.type, a.type);
	fprintf(o, "{\n\t.reg .%s %%v<2>;\n\n\tld.param.%s %%v0, [a];\n\tld.param.%s %%v1, [b];\n", reg, a.type,
		a.type);
	fprintf(o, "\t%s [r], %%v1;\n\t%s [r+%u], %%v0;\n\tret;\n}\n\n", name, name, a.bytes);
	fprintf(o, ".visible .entry t(.param .u64 a, .param .u64 r)\n{\n\t.reg .u64 %%a, %%r;\n"
		   "\t.reg .u32 %%i;\n");
	fprintf(o, "\t.reg .%s %%v<2>;\n\n\tmov.u32 %%i, %%tid.x;\n", reg);
	for (const char *p = "ar"; *p; p++)
		fprintf(o, "\tld.param.u64 %%%c, [%c];\n\tmad.wide.u32 %%%c, %%i, %u, %%%c;\n", *p, *p, *p, 2 * a.reg,
			*p);
	fprintf(o, "\tld.global.b%u %%v0, [%%a];\n\tld.global.b%u %%v1, [%%a+%u];\n\t{\n", bits, bits, a.reg);
	fprintf(o, "\t.param .%s x;\n\t.param .%s y;\n\t.param .align 8 .b8 z[%u];\n", a.type, a.type, 2 * a.bytes);
	fprintf(o, "\t%s [x], %%v0;\n\t%s [y], %%v1;\n\tcall (z), swap, (x, y);\n", name, name);
	fprintf(o, "\tld.param.%s %%v0, [z];\n\tld.param.%s %%v1, [z+%u];\n\t}\n", a.type, a.type, a.bytes);
	fprintf(o, "\tst.global.b%u [%%r], %%v0;\n\tst.global.b%u [%%r+%u], %%v1;\n\tret;\n}\n", bits, bits, a.reg);
	fclose(o);
}

typedef void maker(const char *name, bool wide);
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Integers narrower than 64 bits have two files. */
static void both(maker *make, const char *name)
{
	const char *type = strrchr(name, '.') + 1;

	make(name, false);
	if (type[0] != 'f' && size_named(type) < 64)
		make(name, true);
}

static void each(maker *make, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		both(make, names[i]);
}

static void each_of(maker *make, const char *prefix, const char *const *ends, size_t n)
{
	char name[40];

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "%s.%s", prefix, ends[i]);
		both(make, name);
	}
}

void make_memory(void)
{
	static const char *const types[] = {"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"};
	static const char *const from[] = {
		"ld", "ld.global", "ld.global.nc", "ld.volatile.global", "ld.shared", "ld.local"};
	static const char *const to[] = {"st", "st.global", "st.shared", "st.local"};
	static const char *const loads[] = {"ld.acquire.cta.u32", "ld.acquire.gpu.u32", "ld.acquire.sys.global.u8",
		"ld.ca.u32", "ld.cg.u32", "ld.const.f32", "ld.const.f64", "ld.const.u16", "ld.const.u32",
		"ld.const.v4.f32", "ld.global.L1::evict_last.L2::128B.v4.b32", "ld.global.nc.v2.f32",
		"ld.global.nc.v2.f64", "ld.global.nc.v2.u16", "ld.global.nc.v2.u32", "ld.global.nc.v2.u64",
		"ld.global.nc.v2.u8", "ld.global.nc.v4.f32", "ld.global.nc.v4.u16", "ld.global.nc.v4.u32",
		"ld.global.nc.v4.u8", "ld.global.nc.v8.f32", "ld.global.v2.f32", "ld.global.v2.f64", "ld.global.v2.u16",
		"ld.global.v2.u32", "ld.global.v2.u64", "ld.global.v2.u8", "ld.global.v4.f32", "ld.global.v4.u16",
		"ld.global.v4.u32", "ld.global.v4.u8", "ld.local.v2.f32", "ld.local.v4.f32", "ld.relaxed.cta.b32",
		"ld.relaxed.gpu.u32", "ld.relaxed.gpu.v2.u32", "ld.relaxed.gpu.v2.u64", "ld.shared.v2.f32",
		"ld.shared.v2.f64", "ld.shared.v2.u16", "ld.shared.v2.u32", "ld.shared.v2.u64", "ld.shared.v2.u8",
		"ld.shared.v4.f32", "ld.shared.v4.u32", "ld.shared.v4.u8", "ld.v2.f32", "ld.v2.u16", "ld.v4.f32",
		"ld.v4.u32", "ld.volatile.global.v4.u32", "ld.volatile.shared.f32", "ld.volatile.shared.u32",
		"ld.volatile.u32", "ldu.global.v4.f32"};
	static const char *const stores[] = {"st.cg.u32", "st.global.v2.f32", "st.global.v2.f64", "st.global.v2.u16",
		"st.global.v2.u32", "st.global.v2.u64", "st.global.v2.u8", "st.global.v4.f32", "st.global.v4.u32",
		"st.global.v4.u8", "st.local.v2.f32", "st.local.v2.u16", "st.local.v2.u32", "st.local.v2.u64",
		"st.local.v4.f32", "st.local.v4.u32", "st.local.v4.u8", "st.relaxed.cta.b32", "st.relaxed.gpu.v2.u32",
		"st.relaxed.gpu.v2.u64", "st.release.gpu.u32", "st.release.sys.global.u8", "st.shared.v2.f32",
		"st.shared.v2.u16", "st.shared.v2.u32", "st.shared.v4.b32", "st.shared.v4.f32", "st.shared.v4.u16",
		"st.shared.v4.u32", "st.shared.v4.u8", "st.v2.u16", "st.v2.u32", "st.volatile.global.u32",
		"st.volatile.shared.f32", "st.volatile.shared.u32", "st.volatile.u32"};
	static const char *const params[] = {"b32", "b64", "f32", "f64", "s16", "s32", "s8", "u16", "u32", "u64", "u8",
		"v2.f32", "v2.u32", "v2.u8", "v4.u8"};
	static const char *const arguments[] = {"b32", "b64", "b8", "f32", "f64"};

	each(load, loads, COUNT(loads));
	each(store, stores, COUNT(stores));
	for (unsigned i = 0; i < COUNT(from); i++)
		each_of(load, from[i], types, COUNT(types));
	for (unsigned i = 0; i < COUNT(to); i++)
		each_of(store, to[i], types, COUNT(types));
	each_of(load_param, "ld.param", params, COUNT(params));
	each_of(store_param, "st.param", arguments, COUNT(arguments));
}
