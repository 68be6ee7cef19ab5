/* A kernel from a seed: geometry, first values, statements, and the stores of all registers at the end. */
#include "generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned pick(struct gen *g, unsigned n)
{
	return rng_below(&g->rng, n);
}

bool chance(struct gen *g, unsigned percent)
{
	return rng_percent(&g->rng, percent);
}

static void line_format(struct gen *g, unsigned group, const char *fmt, va_list args)
{
	char text[256];

	vsnprintf(text, sizeof text, fmt, args);
	kernel_line(g->k, group, text);
}

void emit(struct gen *g, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line_format(g, g->group, fmt, args);
	va_end(args);
}

void emit_in(struct gen *g, unsigned group, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line_format(g, group, fmt, args);
	va_end(args);
}

/* A statement inside an episode accesses shared memory without a race only between the episode's barriers. */
unsigned group_begin(struct gen *g, const struct place *at)
{
	g->group = kernel_group(g->k);
	if (at->episode) {
		struct group *group = &g->k->groups[g->group];

		group->needs[group->nneeds++] = at->episode;
	}
	return g->group;
}

unsigned new_label(struct gen *g)
{
	return ++g->k->nlabels;
}

static void number_check(unsigned n)
{
	if (n >= sizeof((struct kernel *)0)->mask_group / sizeof(unsigned))
		abort();
}

unsigned new_mask(struct gen *g)
{
	number_check(g->k->nmasks);
	g->k->mask_group[g->k->nmasks] = g->group;
	return g->k->nmasks++;
}

unsigned new_counter(struct gen *g)
{
	number_check(g->k->ncounters);
	g->k->counter_group[g->k->ncounters] = g->group;
	return g->k->ncounters++;
}

static char *name_buffer(void)
{
	static char names[16][16];
	static unsigned turn;

	return names[turn++ % 16];
}

static unsigned register_count(char class)
{
	return class == 'r' ? 12 : class == 'd' ? 6 : class == 'k' || class == 'a' || class == 'u' ? 4 : 8;
}

const char *source(struct gen *g, const struct place *at, char class)
{
	char *name = name_buffer();

	if (class == 'r') {
		unsigned kind = pick(g, 100);

		if (kind < 12)
			class = 'a';
		else if (kind < 22)
			class = 'u';
		else if (kind < 26)
			class = 'k';
		else if (kind < 32 && at->counter) {
			snprintf(name, 16, "%%c%u", at->counter - 1);
			return name;
		}
	}
	snprintf(name, 16, "%%%c%u", class, pick(g, register_count(class)));
	return name;
}

const char *target(struct gen *g, char class)
{
	char *name = name_buffer();

	if (class == 'r' && chance(g, 4))
		class = chance(g, 50) ? 'a' : 'u';
	snprintf(name, 16, "%%%c%u", class, pick(g, register_count(class)));
	return name;
}

const char *guard(struct gen *g)
{
	char *name = name_buffer();

	if (chance(g, 82))
		return "";
	snprintf(name, 16, "@%s%%p%u ", chance(g, 40) ? "!" : "", pick(g, 8));
	return name;
}

/* ---- geometry ------------------------------------------------------------------------------------------- */

static void make_geometry(struct gen *g)
{
	static const unsigned blocks[][3] = {{32, 1, 1}, {33, 1, 1}, {64, 1, 1}, {256, 1, 1}, {16, 16, 1}, {7, 5, 3},
		{128, 1, 1}, {40, 2, 1}, {96, 1, 1}, {1024, 1, 1}, {8, 8, 1}, {48, 1, 2}};
	static const unsigned grids[][3] = {{1, 1, 1}, {1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {2, 2, 1}};
	struct kernel *k = g->k;

	memcpy(k->block, blocks[pick(g, 12)], sizeof k->block);
	memcpy(k->grid, grids[pick(g, 5)], sizeof k->grid);
	k->threads = k->block[0] * k->block[1] * k->block[2] * k->grid[0] * k->grid[1] * k->grid[2];
	if (k->threads > MAX_THREADS) /* 1024 threads, 4 blocks at most */
		abort();
}

/* ---- the beginning -------------------------------------------------------------------------------------- */

static void pin(struct gen *g)
{
	g->group = kernel_group(g->k);
	g->k->groups[g->group].pinned = true;
}

static void make_numbers(struct gen *g)
{
	emit(g, ".reg .b32 %%lane;");
	emit(g, "mov.u32 %%tr0, %%tid.z;\n\tmov.u32 %%tr1, %%ntid.y;\n\tmov.u32 %%tr2, %%tid.y;");
	emit(g, "mad.lo.u32 %%tr0, %%tr0, %%tr1, %%tr2;\n\tmov.u32 %%tr1, %%ntid.x;\n\tmov.u32 %%tr2, %%tid.x;");
	emit(g, "mad.lo.u32 %%ltid, %%tr0, %%tr1, %%tr2;");
	emit(g, "mov.u32 %%tr2, %%ntid.y;\n\tmul.lo.u32 %%nthreads, %%tr1, %%tr2;");
	emit(g, "mov.u32 %%tr2, %%ntid.z;\n\tmul.lo.u32 %%nthreads, %%nthreads, %%tr2;");
	emit(g, "mov.u32 %%tr0, %%ctaid.y;\n\tmov.u32 %%tr1, %%nctaid.x;\n\tmov.u32 %%tr2, %%ctaid.x;");
	emit(g, "mad.lo.u32 %%tr0, %%tr0, %%tr1, %%tr2;");
	emit(g, "mad.lo.u32 %%gtid, %%tr0, %%nthreads, %%ltid;");
	emit(g, "mov.u32 %%lane, %%laneid;");
}

static void make_pointers(struct gen *g)
{
	emit(g, "ld.param.u64 %%in, [in];\n\tld.param.u64 %%own, [own];\n\tld.param.u64 %%cells, [cells];");
	emit(g, "ld.param.u64 %%acc, [acc];\n\tld.param.u64 %%res, [res];");
	emit(g, "mad.wide.u32 %%own, %%gtid, %u, %%own;", OWN);
	emit(g, "mad.wide.u32 %%cells, %%gtid, 0, %%cells;");
	emit(g, "mad.wide.u32 %%res, %%gtid, 16, %%res;");
}

/* Shared and local memory begin with known bytes. */
static void make_memories(struct gen *g)
{
	emit(g, "mov.u32 %%tr1, sh;\n\tmad.lo.u32 %%tr0, %%ltid, 16, %%tr1;");
	emit(g, "st.shared.v4.u32 [%%tr0], {%%ltid, %%tr1, %%gtid, %%ltid};");
	emit(g, "rem.u32 %%tr0, %%ltid, 24;\n\tmad.lo.u32 %%tr0, %%tr0, 16, %%tr1;\n\tmov.u32 %%tr2, 0;");
	emit(g, "st.shared.v4.u32 [%%tr0+%u], {%%tr2, %%tr2, %%tr2, %%tr2};", 1024 * 16);
	for (unsigned i = 0; i < 64; i += 16)
		emit(g, "st.local.v4.u32 [loc+%u], {%%gtid, %%ltid, %%lane, %%tr2};", i);
	emit(g, "bar.sync 0;");
}

/* The lanes of this warp that exist, in %m0. */
static void make_first_mask(struct gen *g)
{
	unsigned mask = new_mask(g);

	emit(g, "and.b32 %%tr0, %%ltid, -32;\n\tsub.u32 %%tr0, %%nthreads, %%tr0;\n\tmin.u32 %%tr0, %%tr0, 32;");
	emit(g, "mov.b32 %%tr1, -1;\n\tsub.u32 %%tr0, 32, %%tr0;\n\tshr.u32 %%m%u, %%tr1, %%tr0;", mask);
}

/* Loads all registers of a class: few instructions, because compiling each access takes time. */
static void load_vectors(struct gen *g, const char *type, char c, unsigned n, unsigned width, unsigned offset)
{
	for (unsigned i = 0; i < n; i += width)
		if (width == 4)
			emit(g, "ld.global.v4.%s {%%%c%u, %%%c%u, %%%c%u, %%%c%u}, [%%tl0+%u];", type, c, i, c, i + 1,
				c, i + 2, c, i + 3, offset + i / width * 16);
		else
			emit(g, "ld.global.v2.%s {%%%c%u, %%%c%u}, [%%tl0+%u];", type, c, i, c, i + 1,
				offset + i / width * 16);
}

/* The first values: of the parameters, of the thread's number, and from memory, by what the class is for. */
static void make_values(struct gen *g)
{
	emit(g, "ld.param.u32 %%k0, [number];\n\tmov.u32 %%k1, %%ctaid.x;\n\tmov.u32 %%k2, %%ntid.x;\n\tadd.u32 %%k3, "
		"%%k0, %%k1;");
	for (unsigned i = 0; i < 4; i++) {
		emit(g, "add.u32 %%u%u, %%k%u, %u;", i, pick(g, 4), pick(g, 40));
		emit(g, "mad.lo.u32 %%a%u, %%%s, %u, %u;", i,
			chance(g, 50)   ? "gtid"
			: chance(g, 50) ? "ltid"
					: "lane",
			chance(g, 80) ? 1 + pick(g, 8) : (unsigned)rng_next(&g->rng),
			chance(g, 80) ? pick(g, 64) : (unsigned)rng_next(&g->rng));
	}
	emit(g, "mad.wide.u32 %%tl0, %%gtid, 16, %%in;");
	load_vectors(g, "u32", 'r', 12, 4, 0);
	load_vectors(g, "f32", 'f', 8, 4, 64);
	load_vectors(g, "u64", 'l', 8, 2, 112);
	load_vectors(g, "u16", 'h', 8, 4, 256);
	load_vectors(g, "f64", 'd', 6, 2, 304);
	for (unsigned i = 0; i < 8; i++)
		emit(g, "setp.lt.s32 %%p%u, %%r%u, %u;", i, i, pick(g, 3) * 7);
	emit(g, "ld.param.f32 %%f3, [real];\n\tld.param.u64 %%l3, [wide];");
}

/* ---- the end -------------------------------------------------------------------------------------------- */

/* Stores n registers of a class side by side: a vector of 16 bytes, or of 8 with 16-bit registers, for each thread. */
static void make_result(struct gen *g, const struct place *at, unsigned *row, const char *type, char c, unsigned n)
{
	unsigned width = c == 'l' || c == 'd' ? 2 : 4;

	for (unsigned i = 0; i < n; i += width) {
		unsigned offset = (*row)++ * g->k->threads * 16;

		group_begin(g, at);
		if (width == 4)
			emit(g, "st.global.v4.%s [%%res+%u], {%%%c%u, %%%c%u, %%%c%u, %%%c%u};", type, offset, c, i, c,
				i + 1, c, i + 2, c, i + 3);
		else
			emit(g, "st.global.v2.%s [%%res+%u], {%%%c%u, %%%c%u};", type, offset, c, i, c, i + 1);
	}
}

static void make_results(struct gen *g, const struct place *at)
{
	unsigned row = 0;

	make_result(g, at, &row, "b32", 'r', 12);
	make_result(g, at, &row, "b32", 'a', 4);
	make_result(g, at, &row, "b32", 'u', 4);
	make_result(g, at, &row, "f32", 'f', 8);
	make_result(g, at, &row, "b64", 'l', 8);
	make_result(g, at, &row, "b16", 'h', 8);
	make_result(g, at, &row, "f64", 'd', 6);
	for (unsigned i = 0; i < 8; i++) {
		group_begin(g, at);
		emit(g, "@%%p%u st.global.b8 [%%res+%u], 1;", i, row * g->k->threads * 16 + i);
	}
	if (++row > RESULTS)
		abort();
}

struct kernel *kernel_generate(uint64_t seed, const struct forms *forms)
{
	struct gen g = {.rng = {seed}, .forms = forms, .k = calloc(1, sizeof *g.k)};
	struct place top = {.mask = "%m0", .block_uniform = true};

	if (!g.k)
		abort();
	g.k->seed = seed;
	rng_next(&g.rng);
	make_geometry(&g);
	pin(&g);
	make_numbers(&g);
	make_pointers(&g);
	make_memories(&g);
	make_first_mask(&g);
	make_values(&g);
	g.budget = 4 + pick(&g, pick(&g, 4) ? 20 : 60);
	while (g.budget)
		make_statements(&g, &top, 1);
	make_results(&g, &top);
	return g.k;
}
