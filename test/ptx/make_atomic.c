/*
 * Makes the spec files of atomics: each lane on its own cell, with operands for every case, and all lanes on one cell;
 * and of memory ordering: a message from one warp to another.
 */
#include "make.h"
#include <stdlib.h>
#include <string.h>

enum { LANES = 36 }; /* one full warp and a partial one */

struct atomic {
	const char *name, *space, *type; /* space "": generic */
	char op[8];
	unsigned bytes;
	bool red;    /* has no result */
	bool shared; /* cells lie in shared memory, all or (generic) every other */
	bool common; /* may be done by all lanes to one cell, in any order */
};

static struct atomic parse(const char *name)
{
	static const char *const ops[] = {"add", "and", "or", "xor", "inc", "dec", "min", "max", "exch", "cas"};
	struct atomic a = {.name = name, .space = "", .type = strrchr(name, '.') + 1};
	char word[16];

	for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++) {
		snprintf(word, sizeof word, ".%s.", ops[i]);
		if (strstr(name, word))
			snprintf(a.op, sizeof a.op, "%s", ops[i]);
	}
	a.space = strstr(name, ".global") ? "global" : strstr(name, ".shared") ? "shared" : "";
	a.bytes = size_named(a.type) / 8;
	a.red = !strncmp(name, "red", 3);
	a.shared = strcmp(a.space, "global");
	a.common = strcmp(a.op, "exch") && strcmp(a.op, "cas");
	return a;
}

static bool counts(const struct atomic *a)
{
	return !strcmp(a->op, "inc") || !strcmp(a->op, "dec");
}

static uint64_t cut(const struct atomic *a, uint64_t v)
{
	return a->bytes == 4 ? (uint32_t)v : v;
}

/* Small numbers, exact in every format. */
static uint64_t number(const struct atomic *a, double v)
{
	union {
		double d;
		uint64_t bits;
	} wide = {v};
	union {
		float f;
		uint32_t bits;
	} narrow = {(float)v};

	return a->bytes == 4 ? narrow.bits : wide.bits;
}

static double value(const struct atomic *a, uint64_t bits)
{
	union {
		uint64_t bits;
		double d;
	} wide = {bits};
	union {
		uint32_t bits;
		float f;
	} narrow = {(uint32_t)bits};

	return a->bytes == 4 ? (double)narrow.f : wide.d;
}

/* The initial value of a cell, and the operand for it; all lanes share the last cell. */
static uint64_t before(const struct atomic *a, unsigned i)
{
	static const uint64_t counters[] = {0, 4, 5, 6, 0xffffffff, 0, 9, 1};

	if (a->type[0] == 'f')
		return number(a, i + 0.5);
	return counts(a) ? counters[i % 8] : cut(a, (i + 1) * 0x9e3779b97f4a7c15 >> (64 - 8 * a->bytes));
}

static uint64_t operand(const struct atomic *a, unsigned i)
{
	static const uint64_t bounds[] = {5, 5, 5, 5, 0xffffffff, 0, 0xffffffff, 0};

	if (a->type[0] == 'f')
		return number(a, (3.0 * i - 5) / 4);
	return counts(a) ? bounds[i % 8] : cut(a, (i + 5) * 0xd1b54a32d192ed03 >> (64 - 8 * a->bytes));
}

static uint64_t guess(const struct atomic *a, unsigned i)
{
	return i % 2 ? cut(a, before(a, i) ^ 1ull << i % 8 * 4) : before(a, i);
}

static int64_t as_signed(const struct atomic *a, uint64_t v)
{
	return a->bytes == 4 ? (int32_t)v : (int64_t)v;
}

static uint64_t apply(const struct atomic *a, uint64_t old, uint64_t v, uint64_t expected)
{
	bool less = a->type[0] == 's' ? as_signed(a, v) < as_signed(a, old) : v < old;

	switch (a->op[0] << 8 | a->op[1]) {
	case 'a' << 8 | 'd':
		return a->type[0] == 'f' ? number(a, value(a, old) + value(a, v)) : cut(a, old + v);
	case 'a' << 8 | 'n':
		return old & v;
	case 'o' << 8 | 'r':
		return old | v;
	case 'x' << 8 | 'o':
		return old ^ v;
	case 'i' << 8 | 'n':
		return old >= v ? 0 : old + 1;
	case 'd' << 8 | 'e':
		return old == 0 || old > v ? v : old - 1;
	case 'm' << 8 | 'i':
		return less ? v : old;
	case 'm' << 8 | 'a':
		return less ? old : v;
	case 'c' << 8 | 'a':
		return old == expected ? v : old;
	}
	return v; /* exch */
}

/* ---- text ---- */

enum { BOUND = 5 }; /* of counters in the common cell */

static void print_value(FILE *o, const struct atomic *a, unsigned i, unsigned n, uint64_t v)
{
	fprintf(o, "%s0x%0*llx%s", i % 6 ? "" : "\n//\t\t", (int)a->bytes * 2, (unsigned long long)v,
		i + 1 < n ? "," : "");
}

static void print_buffers(FILE *o, const struct atomic *a)
{
	unsigned bits = 8 * a->bytes;
	uint64_t common = before(a, LANES);

	fprintf(o, "// %s: each lane on its own cell%s\n// >>> launch t grid=1 block=%d\n//\tc=b%u:", a->name,
		a->common ? ", and all on the last" : "", LANES, bits);
	for (unsigned i = 0; i <= LANES; i++)
		print_value(o, a, i, LANES + 1, before(a, i));
	fprintf(o, "\n//\tv=b%u:", bits);
	for (unsigned i = 0; i < LANES; i++)
		print_value(o, a, i, LANES, operand(a, i));
	if (!strcmp(a->op, "cas"))
		fprintf(o, "\n//\tw=b%u:", bits);
	for (unsigned i = 0; i < LANES && !strcmp(a->op, "cas"); i++)
		print_value(o, a, i, LANES, guess(a, i));
	fprintf(o, "\n//\tout=o:b%u:%d\n// >>> expect c=b%u:", bits, LANES, bits);
	for (unsigned i = 0; i < LANES; i++) {
		print_value(o, a, i, LANES + 1, apply(a, before(a, i), operand(a, i), guess(a, i)));
		if (a->common)
			common = apply(a, common, counts(a) ? BOUND : operand(a, i), 0);
	}
	print_value(o, a, LANES, LANES + 1, common);
	fprintf(o, "\n");
	if (a->red)
		return;
	fprintf(o, "// >>> expect o=b%u:", bits);
	for (unsigned i = 0; i < LANES; i++)
		print_value(o, a, i, LANES, before(a, i));
	fprintf(o, "\n");
}

static void print_kernel(FILE *o, const struct atomic *a)
{
	bool cas = !strcmp(a->op, "cas");
	const char *to = *a->space ? "shared." : "";
	unsigned size = a->bytes, bits = 8 * size, last = LANES * size;

	fprintf(o, "\n.version 8.6\n.target sm_90\n.address_size 64\n\n"
		   ".visible .entry t(.param .u64 c, .param .u64 v, ");
	fprintf(o, "%s.param .u64 o)\n{\n\t.reg .u64 %%c, %%vs, %%ws, %%o, %%own, %%all;\n",
		cas ? ".param .u64 w, " : "");
	fprintf(o, "\t.reg .u32 %%i, %%k;\n\t.reg .pred %%p, %%first;\n\t.reg .%s %%v, %%w, %%old, %%x;\n",
		a->type[0] == 'f' ? a->type
		: bits == 32      ? "b32"
				  : "b64");
	if (a->shared)
		fprintf(o, "\t.shared .align 8 .b8 cells[%u];\n", last + size);
	fprintf(o, "\n\tmov.u32 %%i, %%tid.x;\n\tsetp.eq.u32 %%first, %%i, 0;\n\tld.param.u64 %%c, [c];\n");
	fprintf(o, "\tld.param.u64 %%vs, [v];\n\tld.param.u64 %%o, [o];\n");
	fprintf(o, "\tadd.u64 %%all, %%c, %u;\n", last);
	fprintf(o, "\tmad.wide.u32 %%c, %%i, %u, %%c;\n\tmad.wide.u32 %%vs, %%i, %u, %%vs;\n", size, size);
	fprintf(o, "\tmad.wide.u32 %%o, %%i, %u, %%o;\n\tld.global.b%u %%v, [%%vs];\n", size, bits);
	if (cas)
		fprintf(o,
			"\tld.param.u64 %%ws, [w];\n\tmad.wide.u32 %%ws, %%i, %u, %%ws;\n"
			"\tld.global.b%u %%w, [%%ws];\n",
			size, bits);
	if (!a->shared)
		fprintf(o, "\tmov.u64 %%own, %%c;\n");
	if (a->shared) {
		fprintf(o, "\tmov.u64 %%own, cells;\n\tmad.wide.u32 %%own, %%i, %u, %%own;\n", size);
		fprintf(o, "\tld.global.b%u %%x, [%%c];\n\tst.shared.b%u [%%own], %%x;\n", bits, bits);
		fprintf(o,
			"\tld.global.b%u %%x, [%%all];\n\tmov.u64 %%all, cells;\n"
			"\tadd.u64 %%all, %%all, %u;\n",
			bits, last);
		fprintf(o, "\t@%%first st.shared.b%u [%%all], %%x;\n\tbar.sync 0;\n", bits);
	}
	if (!*a->space) {
		fprintf(o, "\tcvta.shared.u64 %%own, %%own;\n\tcvta.shared.u64 %%all, %%all;\n"
			   "\tand.b32 %%k, %%i, 1;\n");
		fprintf(o, "\tsetp.eq.u32 %%p, %%k, 0;\n\tselp.u64 %%own, %%c, %%own, %%p;\n");
	}
	fprintf(o, "\t%s %s[%%own], %s%%v;\n", a->name, a->red ? "" : "%old, ", cas ? "%w, " : "");
	if (counts(a))
		fprintf(o, "\tmov.b32 %%v, %d;\n", BOUND);
	if (a->common)
		fprintf(o, "\t%s %s[%%all], %%v;\n", a->name, a->red ? "" : "%x, ");
	if (a->shared) {
		fprintf(o, "\tbar.sync 0;\n\tld.%sb%u %%x, [%%own];\n\tst.global.b%u [%%c], %%x;\n", to, bits, bits);
		fprintf(o, "\t@%%first ld.%sb%u %%x, [%%all];\n\t@%%first st.global.b%u [%%c+%u], %%x;\n", to, bits,
			bits, last);
	}
	if (!a->red)
		fprintf(o, "\tst.global.b%u [%%o], %%old;\n", bits);
	fprintf(o, "\tret;\n}\n");
}

static void cells(const char *name)
{
	struct atomic a = parse(name);
	FILE *o = open_test("mem", name);

	print_buffers(o, &a);
	print_kernel(o, &a);
	fclose(o);
}

/* ---- messages: a warp waits for a flag, then reads data that another warp wrote before it set the flag ---- */

struct message {
	const char *name;           /* of the file */
	const char *publish, *wait; /* the instructions that set the flag at %f, and read it into %x */
	const char *fence;          /* a fence before publish and after wait; NULL: these order by themselves */
	uint32_t flag;              /* initial value */
	bool blocks;                /* two blocks, not two warps of one */
};

static void message(const struct message *m)
{
	FILE *o = open_test("mem", m->name);
	const char *who = m->blocks ? "%ctaid.x" : "%tid.y";

	fprintf(o, "// %.*s: earlier writes are visible after it\n// >>> launch t grid=%d block=32,%d m=u32:0",
		(int)strcspn(m->name, "-"), m->name, m->blocks ? 2 : 1, m->blocks ? 1 : 2);
	for (unsigned i = 1; i < 32; i++)
		fprintf(o, ",0");
	fprintf(o, "\n//\tf=u32:%u out=r:u32:32\n// >>> expect r=u32:", m->flag);
	for (unsigned i = 0; i < 32; i++)
		fprintf(o, "%s%u%s", i % 8 ? "" : "\n//\t\t", (i ^ 1) * 7 + 3, i < 31 ? "," : "");
	fprintf(o, "\n\n.version 8.6\n.target sm_90\n.address_size 64\n\n");
	fprintf(o, ".visible .entry t(.param .u64 m, .param .u64 f, .param .u64 r)\n{\n"
		   "\t.reg .u64 %%m, %%f, %%r;\n");
	fprintf(o, "\t.reg .u32 %%i, %%j, %%who, %%x, %%y;\n\t.reg .pred %%p, %%first;\n\n"
		   "\tmov.u32 %%i, %%tid.x;\n");
	fprintf(o, "\tsetp.eq.u32 %%first, %%i, 0;\n\tld.param.u64 %%m, [m];\n\tld.param.u64 %%f, [f];\n");
	fprintf(o, "\tld.param.u64 %%r, [r];\n\tmov.u32 %%who, %s;\n\tsetp.eq.u32 %%p, %%who, 0;\n", who);
	fprintf(o, "\t@%%p bra reader;\n\tmad.wide.u32 %%m, %%i, 4, %%m;\n\tmad.lo.u32 %%y, %%i, 7, 3;\n");
	fprintf(o, "\tst.global.u32 [%%m], %%y;\n\tbar.warp.sync -1;\n");
	if (m->fence)
		fprintf(o, "\t%s;\n", m->fence);
	fprintf(o, "\t@%%first %s;\n\tret;\nreader:\n\t%s;\n\tsetp.eq.u32 %%p, %%x, %u;\n", m->publish, m->wait,
		m->flag);
	fprintf(o, "\t@%%p bra reader;\n");
	if (m->fence)
		fprintf(o, "\t%s;\n", m->fence);
	fprintf(o, "\txor.b32 %%j, %%i, 1;\n\tmad.wide.u32 %%m, %%j, 4, %%m;\n\tld.global.u32 %%y, [%%m];\n");
	fprintf(o, "\tmad.wide.u32 %%r, %%i, 4, %%r;\n\tst.global.u32 [%%r], %%y;\n\tret;\n}\n");
	fclose(o);
}

static void messages(void)
{
	static const char *const put = "st.relaxed.gpu.global.u32 [%f], 1",
				 *const get = "ld.relaxed.gpu.global.u32 %x, [%f]";
	const struct message all[] = {
		{"ld.acquire.cta.u32-message", "st.release.cta.u32 [%f], 1", "ld.acquire.cta.u32 %x, [%f]", NULL, 0, 0},
		{"ld.acquire.gpu.u32-message", "st.release.gpu.u32 [%f], 1", "ld.acquire.gpu.u32 %x, [%f]", NULL, 0, 1},
		{"ld.acquire.sys.global.u8-message", "st.release.sys.global.u8 [%f], 1",
			"ld.acquire.sys.global.u8 %x, [%f]", NULL, 0, 1},
		{"ld.relaxed.cta.b32-message", "st.relaxed.cta.b32 [%f], 1", "ld.relaxed.cta.b32 %x, [%f]",
			"fence.acq_rel.cta", 0, 0},
		{"ld.relaxed.gpu.u32-message", put, "ld.relaxed.gpu.u32 %x, [%f]", "fence.acq_rel.gpu", 0, 1},
		{"ld.volatile.u32-message", "st.volatile.u32 [%f], 1", "ld.volatile.u32 %x, [%f]", "membar.gl", 0, 1},
		{"st.volatile.global.u32-message", "st.volatile.global.u32 [%f], 1", "ld.volatile.global.u32 %x, [%f]",
			"membar.gl", 0, 1},
		{"atom.add.release.gpu.u32-message", "atom.add.release.gpu.u32 %x, [%f], 1",
			"ld.acquire.gpu.u32 %x, [%f]", NULL, 7, 1},
		{"atom.add.acquire.cta.u32-message", "st.release.cta.u32 [%f], 1",
			"atom.add.acquire.cta.u32 %x, [%f], 0", NULL, 0, 0},
		{"atom.add.relaxed.cta.u32-message", "atom.add.relaxed.cta.u32 %x, [%f], 1",
			"atom.add.relaxed.cta.u32 %x, [%f], 0", "fence.acq_rel.cta", 7, 0},
		{"atom.or.acq_rel.cta.b32-message", "atom.or.acq_rel.cta.b32 %x, [%f], 2",
			"atom.or.acq_rel.cta.b32 %x, [%f], 0", NULL, 1, 0},
		{"red.and.release.cta.b32-message", "red.and.release.cta.b32 [%f], 6", "ld.acquire.cta.u32 %x, [%f]",
			NULL, 7, 0},
		{"fence.acq_rel.gpu", put, get, "fence.acq_rel.gpu", 0, 1},
		{"fence.sc.cta", "st.relaxed.cta.global.u32 [%f], 1", "ld.relaxed.cta.global.u32 %x, [%f]",
			"fence.sc.cta", 0, 0},
		{"membar.cta", "st.relaxed.cta.global.u32 [%f], 1", "ld.relaxed.cta.global.u32 %x, [%f]", "membar.cta",
			0, 0},
		{"membar.gl", put, get, "membar.gl", 0, 1},
		{"membar.sys", put, get, "membar.sys", 0, 1},
	};

	for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
		message(&all[i]);
}

void make_atomic(void)
{
	static const char *const prefixes[] = {
		"atom.global", "atom.shared", "red.global", "red.shared", "atom.global.sys"};
	static const char *const ends[] = {"add.u32", "add.s32", "add.u64", "add.f32", "add.f64", "and.b32", "and.b64",
		"or.b32", "or.b64", "xor.b32", "xor.b64", "min.u32", "min.s32", "min.u64", "min.s64", "max.u32",
		"max.s32", "max.u64", "max.s64", "inc.u32", "dec.u32", "exch.b32", "exch.b64", "cas.b32", "cas.b64"};
	static const char *const others[] = {"atom.add.acquire.cta.u32", "atom.add.f64", "atom.add.relaxed.cta.u32",
		"atom.add.release.gpu.u32", "atom.add.u32", "atom.exch.b32", "atom.max.s32", "atom.or.acq_rel.cta.b32",
		"atom.shared::cta.add.f32", "red.and.release.cta.b32", "red.relaxed.gpu.global.max.s64"};
	char name[60];

	for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
		cells(others[i]);
	for (unsigned i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		for (unsigned k = 0; k < sizeof ends / sizeof ends[0]; k++) {
			bool swaps = !strncmp(ends[k], "exch", 4) || !strncmp(ends[k], "cas", 3);

			if (swaps && !strncmp(prefixes[i], "red", 3))
				continue; /* without a result, a store would do */
			snprintf(name, sizeof name, "%s.%s", prefixes[i], ends[k]);
			cells(name);
		}
	messages();
}
