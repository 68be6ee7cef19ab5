/* A kernel as a list of lines in groups, and the text of those that remain. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

unsigned rng_below(struct rng *r, unsigned n)
{
	return (unsigned)((rng_next(r) >> 32) * n >> 32);
}

unsigned kernel_group(struct kernel *k)
{
	if (!(k->ngroups & (k->ngroups - 1)))
		k->groups = realloc(k->groups, (k->ngroups ? k->ngroups * 2 : 1) * sizeof *k->groups);
	if (!k->groups)
		abort();
	k->groups[k->ngroups] = (struct group){.nneeds = 0};
	return k->ngroups++;
}

static void group_need(struct kernel *k, unsigned group, unsigned other)
{
	struct group *g = &k->groups[group];

	if (group == other)
		return;
	for (unsigned i = 0; i < g->nneeds; i++)
		if (g->needs[i] == other)
			return;
	if (g->nneeds == sizeof g->needs / sizeof *g->needs)
		abort();
	g->needs[g->nneeds++] = other;
}

/* A group needs the groups that define the masks and counters it names. */
static void line_needs(struct kernel *k, unsigned group, const char *text)
{
	for (const char *p = text; (p = strchr(p, '%')); p++) {
		char *end;
		unsigned long i = strtoul(p + 2, &end, 10);

		if (end == p + 2)
			continue;
		if (p[1] == 'm')
			group_need(k, group, k->mask_group[i]);
		else if (p[1] == 'c')
			group_need(k, group, k->counter_group[i]);
	}
}

void kernel_line(struct kernel *k, unsigned group, const char *text)
{
	if (!(k->nlines & (k->nlines - 1)))
		k->lines = realloc(k->lines, (k->nlines ? k->nlines * 2 : 1) * sizeof *k->lines);
	if (!k->lines)
		abort();
	line_needs(k, group, text);
	k->lines[k->nlines++] = (struct line){group, strdup(text)};
}

/* Marks the groups that leave: those removed, and in order of creation those that need one of them. */
static bool *groups_gone(const struct kernel *k)
{
	bool *gone = calloc(k->ngroups + 1, 1);

	if (!gone)
		abort();
	for (unsigned g = 0; g < k->ngroups; g++) {
		gone[g] = k->groups[g].removed;
		for (unsigned i = 0; i < k->groups[g].nneeds; i++)
			gone[g] |= gone[k->groups[g].needs[i]];
	}
	return gone;
}

unsigned kernel_lines_left(const struct kernel *k)
{
	bool *gone = groups_gone(k);
	unsigned n = 0;

	for (unsigned i = 0; i < k->nlines; i++)
		n += !gone[k->lines[i].group];
	free(gone);
	return n;
}

/* Two functions that kernels call. */
static const char functions[] = ".func (.param .b32 o) choose(.param .b32 a, .param .b32 b)\n"
				"{\n\t.reg .b32 %a, %b;\n\t.reg .pred %p;\n"
				"\tld.param.b32 %a, [a];\n\tld.param.b32 %b, [b];\n"
				"\tsetp.lt.s32 %p, %a, %b;\n\t@%p bra LESS;\n"
				"\tmul.lo.u32 %a, %a, 3;\n\tsub.u32 %a, %a, %b;\n\tst.param.b32 [o], %a;\n\tret;\n"
				"LESS:\n\txor.b32 %a, %a, %b;\n\tst.param.b32 [o], %a;\n\tret;\n}\n"
				".func (.param .b32 o) steps(.param .b32 a, .param .b32 b)\n"
				"{\n\t.reg .b32 %a, %b, %i;\n\t.reg .pred %p;\n"
				"\tld.param.b32 %a, [a];\n\tld.param.b32 %b, [b];\n\tand.b32 %i, %b, 3;\n"
				"MORE:\n\tmad.lo.u32 %a, %a, 5, %b;\n\tsetp.eq.u32 %p, %i, 0;\n\tsub.u32 %i, %i, 1;\n"
				"\t@!%p bra MORE;\n\tst.param.b32 [o], %a;\n\tret;\n}\n";

static void print_head(const struct kernel *k, FILE *f)
{
	fprintf(f, "// seed %llu grid %u,%u,%u block %u,%u,%u threads %u\n", (unsigned long long)k->seed, k->grid[0],
		k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->threads);
	fprintf(f,
		".version 8.6\n.target sm_100a\n.address_size 64\n%s"
		".visible .entry random(.param .u64 in, .param .u64 own, .param .u64 cells, .param .u64 acc,\n"
		"\t.param .u64 res, .param .u32 number, .param .u64 wide, .param .f32 real)\n{\n"
		"\t.shared .align 16 .b8 sh[%u];\n\t.local .align 16 .b8 loc[64];\n"
		"\t.reg .b32 %%r<12>, %%a<4>, %%u<4>, %%k<4>, %%tr<8>, %%ltid, %%gtid, %%nthreads;\n"
		"\t.reg .b64 %%l<8>, %%tl<8>, %%in, %%own, %%cells, %%acc, %%res;\n\t.reg .b16 %%h<8>, %%th<4>;\n"
		"\t.reg .f32 %%f<8>, %%tf<4>;\n\t.reg .f64 %%d<6>, %%td<4>;\n\t.reg .pred %%p<8>, %%tp<8>;\n"
		"\t.reg .b32 %%m<%u>, %%c<%u>;\n",
		functions, 1024 * 16 + 384, k->nmasks + 1, k->ncounters + 1);
}

char *kernel_text(const struct kernel *k)
{
	bool *gone = groups_gone(k);
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	print_head(k, f);
	for (unsigned i = 0; i < k->nlines; i++) {
		const char *t = k->lines[i].text;

		if (!gone[k->lines[i].group])
			fprintf(f, "%s%s\n", t[strlen(t) - 1] == ':' ? "" : "\t", t);
	}
	fprintf(f, "\tret;\n}\n");
	fclose(f);
	free(gone);
	return text;
}

/* The lines of a printed text stay one text: reducing it again is not possible, running it is. */
struct kernel *kernel_from_text(const char *text)
{
	struct kernel *k = calloc(1, sizeof *k);
	unsigned long long seed;

	if (!k)
		abort();
	if (sscanf(text, "// seed %llu grid %u,%u,%u block %u,%u,%u threads %u", &seed, &k->grid[0], &k->grid[1],
		    &k->grid[2], &k->block[0], &k->block[1], &k->block[2], &k->threads) != 8 ||
		k->threads > MAX_THREADS) {
		free(k);
		return NULL;
	}
	k->seed = seed;
	return k;
}

void kernel_free(struct kernel *k)
{
	for (unsigned i = 0; k && i < k->nlines; i++)
		free(k->lines[i].text);
	if (k) {
		free(k->lines);
		free(k->groups);
	}
	free(k);
}

struct memory memory_of(const struct kernel *k)
{
	struct memory m = {.own = IN_BYTES};

	m.cells = m.own + (size_t)k->threads * OWN;
	m.accumulators = m.cells + (size_t)k->threads * CELLS * 8;
	m.results = m.accumulators + ACCUMULATORS * 8;
	m.size = m.results + (size_t)k->threads * RESULTS * 16;
	return m;
}
