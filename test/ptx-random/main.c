/*
 * ptx-random [-n COUNT] [-t SECONDS] [-s SEED] [-f FILE] [-p] ENGINE...
 *
 * Runs random kernels in every engine and compares their memory with that of the first. An engine is a list of
 * environment variables, GANGWAY_CPU_TIER=jit,GANGWAY_CPU_ISA=v3 for example; one that this machine does not have is
 * left out. A kernel with a difference is reduced and printed; -f runs such a text again. -p prints the kernel of the
 * seed and runs nothing. Returns 1 after a difference, 77 if fewer than two engines are there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

enum { MAX_ENGINES = 12 };

static struct {
	uint64_t seed, count;
	double seconds;
	const char *file;
	bool print;
} options = {.seed = 1, .count = 100, .seconds = 1e9};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* first: what differed in the first run. */
static void report(struct kernel *k, struct engine *a, struct engine *b, const char *first)
{
	char why[700] = "";
	char *text;

	printf("seed %llu: %s and %s differ: %s\n", (unsigned long long)k->seed, engine_name(a), engine_name(b), first);
	if (k->nlines && engine_memory(b))
		kernel_reduce(k, a, b);
	if (engines_agree(a, b, k, why, sizeof why))
		printf("the reduced kernel no longer differs: the difference is not deterministic\n");
	text = kernel_text(k);
	printf("reduced to %u lines: %s\n%s\n", kernel_lines_left(k), why, text);
	fflush(stdout);
	free(text);
}

static bool run_one(struct kernel *k, struct engine **e, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		char why[700];

		if (engines_agree(e[0], e[i], k, why, sizeof why))
			continue;
		report(k, e[0], e[i], why);
		return false;
	}
	return true;
}

static int run_seeds(struct engine **e, unsigned n, const struct forms *forms)
{
	double end = now() + options.seconds;
	uint64_t i, bad = 0;

	for (i = 0; i < options.count && now() < end && bad < 5; i++) {
		struct kernel *k = kernel_generate(options.seed + i, forms);

		bad += !run_one(k, e, n);
		kernel_free(k);
	}
	printf("%llu kernels from seed %llu, %u engines, %u forms: %llu differ\n", (unsigned long long)i,
		(unsigned long long)options.seed, n, forms->n, (unsigned long long)bad);
	return bad != 0;
}

static int run_file(struct engine **e, unsigned n)
{
	static char text[TEXT_MAX];
	FILE *f = fopen(options.file, "r");
	struct kernel *k;
	int bad = 0;

	if (!f || !fread(text, 1, sizeof text - 1, f) || !(k = kernel_from_text(text))) {
		fprintf(stderr, "%s is not a text that ptx-random has printed\n", options.file);
		return 2;
	}
	fclose(f);
	for (unsigned i = 0; i < n; i++) {
		int r = engine_run(e[i], k, text);

		printf("%s: %d %s%s\n", engine_name(e[i]), r, engine_message(e[i]),
			i && !r && memcmp(engine_memory(e[0]), engine_memory(e[i]), memory_of(k).size) ? "differs"
												       : "");
		bad |= r || memcmp(engine_memory(e[0]), engine_memory(e[i]), memory_of(k).size);
	}
	kernel_free(k);
	return bad;
}

static unsigned engines_start(char **names, struct engine **e)
{
	unsigned n = 0;

	for (; *names && n < MAX_ENGINES; names++) {
		e[n] = engine_create(*names);
		if (e[n])
			n++;
		else
			printf("%s: not on this machine\n", *names);
	}
	return n;
}

static void print_kernel(const struct forms *forms)
{
	struct kernel *k = kernel_generate(options.seed, forms);
	char *text = kernel_text(k);

	fputs(text, stdout);
	free(text);
	kernel_free(k);
}

int main(int argc, char **argv)
{
	struct engine *e[MAX_ENGINES];
	struct forms forms;
	unsigned n;
	int c, result;

	while ((c = getopt(argc, argv, "n:t:s:f:p")) != -1) {
		if (c == 'n')
			options.count = strtoull(optarg, NULL, 0);
		else if (c == 't')
			options.seconds = atof(optarg);
		else if (c == 's')
			options.seed = strtoull(optarg, NULL, 0);
		else if (c == 'f')
			options.file = optarg;
		else if (c == 'p')
			options.print = true;
		else
			return 2;
	}
	n = options.print ? 0 : engines_start(argv + optind, e);
	if (n < 2 && !options.print) {
		printf("skipped: two engines are needed\n");
		return 77;
	}
	if (!forms_make(&forms, &(struct rng){7}))
		return 1;
	if (options.print)
		print_kernel(&forms), result = 0;
	else
		result = options.file ? run_file(e, n) : run_seeds(e, n, &forms);
	for (unsigned i = 0; i < n; i++)
		engine_destroy(e[i]);
	forms_free(&forms);
	return result;
}
