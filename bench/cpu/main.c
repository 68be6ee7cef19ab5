/*
 * bench-cpu [--check] [--only TEXT] [--reps N] KERNELS.ptx KERNELS.cl
 *
 * Runs each kernel of list.c in all forms, each form in a process of its own, in turns: every round runs each form once.
 * Prints the smallest time of each and the median in brackets, in milliseconds, the ratios that the targets of the CPU
 * device name, and the kernels that miss theirs. --check runs small sizes once and compares the results only.
 * Returns 1 if results differ.
 */
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

enum { MAX_REPS = 50, OUT_BYTES = 64 << 20 };
enum { C, OPENMP, POCL, INTERP, JIT, JIT_ONE, NFORMS };
enum command { PREPARE, RUN };

struct order {
	enum command command;
	unsigned bench, n;
};
struct answer {
	int ok;
	double seconds;
};

/* A form's process. out is shared with it: the result of the last PREPARE. */
static struct worker {
	const char *name, *environment; /* NAME=VALUE,NAME=VALUE */
	const struct form *form;
	int to, from;
	pid_t pid;
	void *out;
	double times[MAX_REPS];
	unsigned ntimes;
	double total, best, median;
} workers[NFORMS] = {
	[C] = {"C", "", &form_c},
	[OPENMP] = {"OpenMP", "", &form_omp},
	[POCL] = {"PoCL", "", &form_opencl},
	[INTERP] = {"interp", "GANGWAY_CPU_TIER=interp", &form_cuda},
	[JIT] = {"jit", "GANGWAY_CPU_TIER=jit", &form_cuda},
	[JIT_ONE] = {"jit, 1 thread", "GANGWAY_CPU_TIER=jit,GANGWAY_CPU_THREADS=1", &form_cuda},
};

static struct {
	bool check;
	const char *only, *ptx, *cl;
	unsigned reps;
} options = {.reps = 15};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- in a form's process -------------------------------------------------------------------------------- */

static void *host[MAX_BUFFERS];

static void worker_fill(const struct bench *b, unsigned n)
{
	for (unsigned i = 0; i < b->nbuffers; i++)
		buffer_fill(&b->buffers[i], n, i + 1, host[i]);
}

/* Allocates, fills, runs once to warm up, and hands the result over. */
static bool worker_prepare(const struct worker *w, const struct bench *b, unsigned n)
{
	for (unsigned i = 0; i < MAX_BUFFERS; i++) {
		free(host[i]);
		host[i] = NULL;
	}
	for (unsigned i = 0; i < b->nbuffers; i++)
		if (posix_memalign(&host[i], 64, buffer_size(&b->buffers[i], n)))
			return false;
	worker_fill(b, n);
	return w->form->prepare(b, n, host) && w->form->run(b, n) && w->form->fetch(b, n, w->out);
}

static bool worker_run(const struct worker *w, const struct bench *b, unsigned n, double *seconds)
{
	double start;

	if (b->in_place) {
		worker_fill(b, n);
		if (!w->form->reset(b, n, host))
			return false;
	}
	start = now();
	for (unsigned i = 0; i < b->repeat; i++)
		if (!w->form->run(b, n))
			return false;
	*seconds = (now() - start) / b->repeat;
	return true;
}

static _Noreturn void worker_main(struct worker *w, int in, int out)
{
	char *environment = strdup(w->environment);
	struct answer a = {0};
	struct order o;

	setenv("GANGWAY_DEVICE", "cpu", 1);
	for (char *p = strtok(environment, ","); p; p = strtok(NULL, ","))
		putenv(p);
	a.ok = w->form->start(w->form == &form_opencl ? options.cl : options.ptx);
	while (write(out, &a, sizeof a) == sizeof a && a.ok && read(in, &o, sizeof o) == sizeof o) {
		const struct bench *b = &benches[o.bench];

		a.ok = o.command == PREPARE ? worker_prepare(w, b, o.n) : worker_run(w, b, o.n, &a.seconds);
	}
	_exit(0);
}

/* ---- the parent ----------------------------------------------------------------------------------------- */

static bool worker_answer(struct worker *w, double *seconds)
{
	struct answer a;

	if (read(w->from, &a, sizeof a) != sizeof a || !a.ok)
		return false;
	*seconds = a.seconds;
	return true;
}

static void worker_stop(struct worker *w)
{
	close(w->to);
	close(w->from);
	kill(w->pid, SIGKILL); /* a later process holds the other end of its pipe */
	waitpid(w->pid, NULL, 0);
	w->pid = 0;
}

static bool worker_order(struct worker *w, enum command command, unsigned bench, unsigned n, double *seconds)
{
	struct order o = {command, bench, n};

	if (w->pid && write(w->to, &o, sizeof o) == sizeof o && worker_answer(w, seconds))
		return true;
	if (w->pid) {
		fprintf(stderr, "%s fails in %s\n", w->name, benches[bench].name);
		worker_stop(w);
	}
	return false;
}

/* False: the form is not there; its process has said why. */
static bool worker_start(struct worker *w)
{
	int to[2], from[2];
	double unused;

	w->out = mmap(NULL, OUT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->out == MAP_FAILED || pipe(to) || pipe(from))
		return false;
	fflush(stdout);
	w->pid = fork();
	if (!w->pid) {
		close(to[1]);
		close(from[0]);
		worker_main(w, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	w->to = to[1];
	w->from = from[0];
	if (worker_answer(w, &unused))
		return true;
	printf("# no %s: the reason is above\n", w->name);
	worker_stop(w);
	return false;
}

static bool results_equal(const struct bench *b, unsigned n, const struct worker *w)
{
	const float *f = workers[C].out, *g = w->out;
	const uint32_t *u = workers[C].out, *v = w->out;
	size_t count = buffer_size(&b->buffers[b->out], n) / 4;

	if (b->function && !strcmp(b->function, "reduce"))
		count = 1;
	if (!strcmp(b->function, "histogram"))
		count = 256;
	for (size_t i = 0; i < count; i++) {
		if (b->integers ? u[i] == v[i] : fabsf(f[i] - g[i]) <= 1e-3f * fmaxf(1, fabsf(f[i])))
			continue;
		if (b->integers)
			printf("%s: %s: element %zu is %u, in C %u\n", b->name, w->name, i, v[i], u[i]);
		else
			printf("%s: %s: element %zu is %g, in C %g\n", b->name, w->name, i, (double)g[i], (double)f[i]);
		return false;
	}
	return true;
}

static unsigned prepare_all(unsigned bench, unsigned n)
{
	unsigned wrong = 0;
	double unused;

	for (unsigned i = 0; i < NFORMS; i++) {
		struct worker *w = &workers[i];

		w->ntimes = 0;
		w->total = w->best = w->median = 0;
		if (worker_order(w, PREPARE, bench, n, &unused) && i && !results_equal(&benches[bench], n, w))
			wrong++;
	}
	return wrong;
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Slow forms run less often, but at least three times. */
static void time_all(unsigned bench, unsigned n)
{
	for (unsigned r = 0; r < options.reps; r++)
		for (unsigned i = 0; i < NFORMS; i++) {
			struct worker *w = &workers[i];
			double t;

			if ((r >= 3 && w->total > 1.5) || !w->pid || !worker_order(w, RUN, bench, n, &t))
				continue;
			w->total += t * benches[bench].repeat;
			w->times[w->ntimes++] = t;
		}
	for (unsigned i = 0; i < NFORMS; i++) {
		struct worker *w = &workers[i];

		if (!w->ntimes)
			continue;
		qsort(w->times, w->ntimes, sizeof *w->times, compare_times);
		w->best = w->times[0];
		w->median = w->times[w->ntimes / 2];
	}
}

static void print_ratio(const struct worker *a, const struct worker *b)
{
	if (a->best && b->best)
		printf(" %5.2f |", a->best / b->best);
	else
		printf("     – |");
}

static double target_speed(enum target t)
{
	return t == FIVE ? __builtin_cpu_supports("avx512f") ? 5 : 3.5 : t == MEMORY ? 0.9 : 1;
}

/* Prints a target that the compiled kernel misses; ours and other are times. */
static bool target_met(char *missed, size_t size, const struct worker *ours, const struct worker *other, double speed)
{
	size_t n = strlen(missed);

	if (!ours->best || !other->best || ours->best * speed <= other->best)
		return true;
	snprintf(missed + n, size - n, "%s%.2f of %s, wanted %.1f", n ? "; " : "", other->best / ours->best,
		other->name, speed);
	return false;
}

static unsigned print_row(const struct bench *b)
{
	char missed[200] = "";

	printf("| %-20s |", b->name);
	for (unsigned i = 0; i < NFORMS; i++)
		if (workers[i].best)
			printf(" %.3g (%.3g) |", workers[i].best * 1e3, workers[i].median * 1e3);
		else
			printf(" – |");
	print_ratio(&workers[C], &workers[JIT_ONE]);
	print_ratio(&workers[OPENMP], &workers[JIT]);
	print_ratio(&workers[POCL], &workers[JIT]);
	print_ratio(&workers[INTERP], &workers[JIT]);
	target_met(missed, sizeof missed, &workers[JIT], &workers[POCL], 1);
	if (b->target == FIVE || b->target == SCALAR)
		target_met(missed, sizeof missed, &workers[JIT_ONE], &workers[C], target_speed(b->target));
	if (b->target != SCALAR)
		target_met(missed, sizeof missed, &workers[JIT], &workers[OPENMP], b->target == MEMORY ? 0.9 : 1);
	printf(" %s |\n", *missed ? missed : "met");
	fflush(stdout);
	return *missed != 0;
}

static void print_head(void)
{
	printf("| kernel |");
	for (unsigned i = 0; i < NFORMS; i++)
		printf(" %s |", workers[i].name);
	printf(" C : jit, 1 thread | OpenMP : jit | PoCL : jit | interp : jit | target |\n|---|");
	for (unsigned i = 0; i < NFORMS + 4; i++)
		printf("---:|");
	printf("---|\n");
}

static bool parse_options(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--check"))
			options.check = true;
		else if (!strcmp(argv[i], "--only") && i + 1 < argc)
			options.only = argv[++i];
		else if (!strcmp(argv[i], "--reps") && i + 1 < argc)
			options.reps = (unsigned)atoi(argv[++i]);
		else
			return false;
	}
	if (options.reps > MAX_REPS)
		options.reps = MAX_REPS;
	if (i + 2 != argc)
		return false;
	options.ptx = argv[i];
	options.cl = argv[i + 1];
	return true;
}

int main(int argc, char **argv)
{
	unsigned wrong = 0, missed = 0, ran = 0;

	if (!parse_options(argc, argv)) {
		fprintf(stderr, "usage: bench-cpu [--check] [--only TEXT] [--reps N] KERNELS.ptx KERNELS.cl\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	for (unsigned i = 0; i < NFORMS; i++)
		if (i != POCL || !options.check)
			worker_start(&workers[i]);
	if (!workers[C].pid || !workers[INTERP].pid)
		return 1;
	if (!options.check)
		print_head();
	for (unsigned b = 0; b < nbenches; b++) {
		unsigned n = options.check ? benches[b].small : benches[b].n;

		if (options.only && !strstr(benches[b].name, options.only))
			continue;
		wrong += prepare_all(b, n);
		ran++;
		if (options.check)
			continue;
		time_all(b, n);
		missed += print_row(&benches[b]);
	}
	for (unsigned i = 0; i < NFORMS; i++)
		if (workers[i].pid)
			worker_stop(&workers[i]);
		else if (i != POCL)
			wrong += options.check; /* a form failed */
	printf("%u kernels, %u wrong results", ran, wrong);
	printf(options.check ? "\n" : ", %u miss a target\n", missed);
	return wrong != 0;
}
