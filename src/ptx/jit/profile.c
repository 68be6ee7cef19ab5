/*
 * GANGWAY_PROFILE: a table of all kernels when the process ends.  GANGWAY_PERF: names of compiled kernels for perf.
 *
 * Records outlive their kernels: a program may unload its modules before it ends.  Kernels of the same name share one.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ptx/interp/core.h"
#include "ptx/jit/tier.h"

struct profile_record {
	char *name, *file;
	uint32_t line;
	uint64_t launches, ns, warps[2];
	uint64_t compile_ns, code_size;
	bool cached;
	char refusal[160];
	struct profile_record *next;
};

/* One for each process. */
static struct profile {
	pthread_mutex_t lock; /* protects all, and all records */
	bool begun;
	const char *to; /* NULL: no profile */
	struct profile_record *records;
	int perf; /* the map for perf; -1: none */
} profile = {.lock = PTHREAD_MUTEX_INITIALIZER, .perf = -1};

/* ---- the table -------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct profile_record *x = *(struct profile_record *const *)a, *y = *(struct profile_record *const *)b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* compiled: all warps since the first launch; partly: some of them. */
static const char *record_tier(const struct profile_record *r)
{
	if (!r->warps[1])
		return "interpreted";
	return r->warps[0] ? "partly" : "compiled";
}

static void record_print(FILE *f, const struct profile_record *r)
{
	fprintf(f, "%10.3f %8" PRIu64 " %10.1f  %-11s %10.1f %12" PRIu64 " %12" PRIu64 "  %s", (double)r->ns / 1e6,
		r->launches, r->launches ? (double)r->ns / 1e3 / (double)r->launches : 0.0, record_tier(r),
		(double)r->compile_ns / 1e6, r->warps[0], r->warps[1], r->name);
	if (r->line)
		fprintf(f, " (%s:%u)", r->file ? r->file : "?", r->line);
	if (r->cached)
		fprintf(f, " [from the cache]");
	if (*r->refusal)
		fprintf(f, " [not compiled: %s]", r->refusal);
	fputc('\n', f);
}

static void profile_print(void)
{
	struct profile_record **all;
	size_t n = 0, i = 0;
	FILE *f = !strcmp(profile.to, "1") ? stderr : fopen(profile.to, "ae");

	pthread_mutex_lock(&profile.lock);
	for (struct profile_record *r = profile.records; r; r = r->next)
		n++;
	all = calloc(n + 1, sizeof *all);
	for (struct profile_record *r = profile.records; r && all; r = r->next)
		all[i++] = r;
	if (all && f) {
		qsort(all, n, sizeof *all, by_time);
		fprintf(f,
			"gangway profile of process %d: kernels on the CPU device, by time\n"
			"%10s %8s %10s  %-11s %10s %12s %12s  %s\n",
			(int)getpid(), "ms", "launches", "us/launch", "tier", "compile ms", "warps interp",
			"warps comp", "kernel");
		for (i = 0; i < n; i++)
			record_print(f, all[i]);
	}
	pthread_mutex_unlock(&profile.lock);
	free(all);
	if (f && f != stderr)
		fclose(f);
	else
		fflush(stderr);
}

/* The lock is held. */
static void profile_begin(void)
{
	char path[64];
	const char *perf = secure_getenv("GANGWAY_PERF");

	profile.begun = true;
	profile.to = secure_getenv("GANGWAY_PROFILE");
	if (profile.to && (!*profile.to || !strcmp(profile.to, "0")))
		profile.to = NULL;
	if (profile.to && atexit(profile_print))
		profile.to = NULL;
	if (!perf || strcmp(perf, "1"))
		return;
	/* perf expects this name. Every user may write to /tmp, so a link that another user made is never followed. */
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	profile.perf = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
}

/* ---- records ---------------------------------------------------------------------------------------- */

static struct profile_record *record_create(const struct ptx_function *f)
{
	struct profile_record *r = calloc(1, sizeof *r);
	const char *file;

	if (!r)
		return NULL;
	r->name = strdup(f->name);
	for (uint32_t i = 0; i < f->ninsts && !r->line; i++) {
		file = f->insts[i].loc_line ? ptx_module_file(f->module, f->insts[i].loc_file) : NULL;
		r->line = f->insts[i].loc_line;
		r->file = file ? strdup(file) : NULL;
	}
	if (!r->name) {
		free(r->file);
		free(r);
		return NULL;
	}
	r->next = profile.records;
	return profile.records = r;
}

struct profile_record *profile_record_get(const struct interp_kernel *k)
{
	const struct ptx_function *f = k->entry->fn;
	struct profile_record *r = NULL;

	pthread_mutex_lock(&profile.lock);
	if (!profile.begun)
		profile_begin();
	if (profile.to) {
		for (r = profile.records; r && strcmp(r->name, f->name); r = r->next)
			;
		if (!r)
			r = record_create(f);
	}
	pthread_mutex_unlock(&profile.lock);
	return r;
}

void profile_add_launch(struct profile_record *r, uint64_t ns, const struct jit_launch *x)
{
	if (!r)
		return;
	pthread_mutex_lock(&profile.lock);
	r->launches++;
	r->ns += ns;
	r->warps[0] += atomic_load(&x->warps[0]);
	r->warps[1] += atomic_load(&x->warps[1]);
	pthread_mutex_unlock(&profile.lock);
}

void profile_add_code(struct profile_record *r, const struct jit_code *code, uint64_t ns, bool cached)
{
	if (!r)
		return;
	pthread_mutex_lock(&profile.lock);
	r->compile_ns += ns;
	r->code_size += code->text;
	r->cached |= cached;
	pthread_mutex_unlock(&profile.lock);
}

void profile_add_refusal(struct profile_record *r, const char *why)
{
	if (!r)
		return;
	pthread_mutex_lock(&profile.lock);
	snprintf(r->refusal, sizeof r->refusal, "%s", why);
	pthread_mutex_unlock(&profile.lock);
}

void perf_add_code(const char *name, enum jit_variant v, const struct jit_code *code)
{
	static const char *const variants[JIT_VARIANTS] = {"any", "full", "halves", "affine"};
	char line[512];
	int n;

	if (profile.perf < 0)
		return;
	n = snprintf(line, sizeof line, "%" PRIxPTR " %zx %.400s [%s]\n", (uintptr_t)code->memory, code->text, name,
		variants[v]);
	/* One write for each line: several threads append. */
	if (write(profile.perf, line, (size_t)n) != n)
		profile.perf = -1;
}
