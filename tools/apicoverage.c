/* apigen coverage: which entry points each implementation has, from lists of the functions that it impl_defines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apigen.h"

#define MAX_IMPLS 8
static char *impl_name[MAX_IMPLS];
static char *impl_defs[MAX_IMPLS]; /* contents of the file: one name on each line */
static int nimpls;

void coverage_read(const char *spec)
{
	const char *eq = strchr(spec, '=');
	FILE *f = eq ? fopen(eq + 1, "r") : NULL;
	char *text = calloc(1, 1 << 20);

	if (!f || !text || nimpls == MAX_IMPLS) {
		fprintf(stderr, "apigen: cannot read %s; expected NAME=FILE\n", spec);
		exit(1);
	}
	text[0] = '\n';
	size_t n = fread(text + 1, 1, (1 << 20) - 3, f);
	text[n + 1] = '\n';
	fclose(f);
	impl_name[nimpls] = api_copy(spec, eq - spec);
	impl_defs[nimpls++] = text;
}

static bool impl_defines(int impl, const char *name)
{
	char key[256];

	snprintf(key, sizeof key, "\n%s\n", name);
	return strstr(impl_defs[impl], key) != NULL;
}

static bool implemented(int impl, const struct entry *e)
{
	return impl_defines(impl, e->name) || (e->target && impl_defines(impl, e->target));
}

static void print_coverage_row(const struct entry *e)
{
	printf("| %s%s%s | %s | ", e->name, e->twin ? ", " : "", e->twin ? twin_suffix(e) : "", e->class);
	if (e->since)
		printf("%d.%d |", e->since / 1000, e->since % 1000 / 10);
	else
		printf("– |");
	for (int i = 0; i < nimpls; i++)
		printf(" %s |", implemented(i, e) ? "yes" : "");
	printf("\n");
}

void mode_coverage(void)
{
	int have[MAX_IMPLS] = {0}, functions = 0;

	for (int k = 0; k < nentries; k++) {
		functions += !entries[k].object;
		for (int i = 0; i < nimpls && !entries[k].object; i++)
			have[i] += implemented(i, &entries[k]);
	}
	printf("\n## %s\n\n%d functions (twins not counted):", soname, functions);
	for (int i = 0; i < nimpls; i++)
		printf(" %s %d%s", impl_name[i], have[i], i + 1 < nimpls ? "," : ".");
	printf(" Without a mark: %s.\n\n| name | class | since |", unsupported);
	for (int i = 0; i < nimpls; i++)
		printf(" %s |", impl_name[i]);
	printf("\n|---|---|---:|");
	for (int i = 0; i < nimpls; i++)
		printf(":-:|");
	printf("\n");
	for (int k = 0; k < nentries; k++)
		if (!entries[k].object)
			print_coverage_row(&entries[k]);
}

/* The same as C: rows of ENTRY(library, name, class, since, cpu, served). */
void mode_coverage_table(void)
{
	for (int k = 0; k < nentries; k++) {
		const struct entry *e = &entries[k];
		if (e->object)
			continue;
		printf("ENTRY(%s, \"%s\", \"%s\", %d", library, e->name, e->class, e->since);
		for (int i = 0; i < nimpls; i++)
			printf(", %d", implemented(i, e));
		printf(")\n");
	}
}
