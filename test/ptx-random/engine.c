/*
 * An engine: a process that runs kernels on the CPU device through libcuda.so.1, with its own environment, so that
 * engines of different tiers and instruction sets run side by side and a crash costs one process.
 *
 * The two processes share one mapping, which holds the request and, after the run, the kernel's memory. A pipe in each
 * direction wakes the other side.
 */
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"

enum { LIMIT_MS = 60000 };

/* One of each side writes at a time. */
struct shared {
	unsigned grid[3], block[3], threads;
	uint64_t seed;
	int result;
	bool end; /* instead of a request */
	char message[512], text[TEXT_MAX];
	uint8_t memory[MEMORY_MAX] __attribute__((aligned(64)));
};

struct engine {
	char name[128];
	struct shared *shared;
	pid_t pid;
	int to, from;
	char message[512];
};

/* ---- in the worker -------------------------------------------------------------------------------------- */

typedef unsigned long long devptr;
static struct {
	int (*init)(unsigned);
	int (*retain)(void **, int);
	int (*set)(void *);
	int (*load)(void **, const void *, unsigned, int *, void **);
	int (*unload)(void *);
	int (*function)(void **, void *, const char *);
	int (*alloc)(devptr *, size_t);
	int (*release)(devptr);
	int (*to)(devptr, const void *, size_t);
	int (*from)(void *, devptr, size_t);
	int (*launch)(
		void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	int (*sync)(void);
} cu;

static bool worker_find(void *lib, const char *name, void *fn)
{
	void *p = dlsym(lib, name);

	*(void **)fn = p;
	return p;
}

static bool worker_start(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW), *context;

	return lib && worker_find(lib, "cuInit", &cu.init) &&
	       worker_find(lib, "cuDevicePrimaryCtxRetain", &cu.retain) &&
	       worker_find(lib, "cuCtxSetCurrent", &cu.set) && worker_find(lib, "cuModuleLoadDataEx", &cu.load) &&
	       worker_find(lib, "cuModuleUnload", &cu.unload) &&
	       worker_find(lib, "cuModuleGetFunction", &cu.function) && worker_find(lib, "cuMemAlloc_v2", &cu.alloc) &&
	       worker_find(lib, "cuMemFree_v2", &cu.release) && worker_find(lib, "cuMemcpyHtoD_v2", &cu.to) &&
	       worker_find(lib, "cuMemcpyDtoH_v2", &cu.from) && worker_find(lib, "cuLaunchKernel", &cu.launch) &&
	       worker_find(lib, "cuCtxSynchronize", &cu.sync) && !cu.init(0) && !cu.retain(&context, 0) &&
	       !cu.set(context);
}

/* Inputs: random words among which interesting values are frequent. The rest begins with a pattern. */
static void fill_memory(const struct shared *s, uint8_t *p, const struct memory *m)
{
	static const uint32_t values[] = {0, 1, 2, 3, 31, 32, 255, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x80000001, 0x3c003c00, 0x7c00fc00,
		0x3f803f80, 0x40490fdb, 0x4b800000, 0x7f7fffff};
	struct rng r = {s->seed ^ 0x5555};
	uint32_t *words = (uint32_t *)p;

	for (size_t i = 0; i < IN_BYTES / 4; i++)
		words[i] = rng_percent(&r, 35)   ? values[rng_below(&r, sizeof values / 4)]
			   : rng_percent(&r, 30) ? rng_below(&r, 300)
			   : rng_percent(&r, 40) ? 0x3e000000 + rng_below(&r, 0x4000000)
						 : (uint32_t)rng_next(&r);
	for (size_t i = IN_BYTES / 4; i < m->size / 4; i++)
		words[i] = (uint32_t)(i * 2654435761u);
}

static int worker_launch(struct shared *s, const struct memory *m, void *function, devptr at)
{
	devptr in = at, own = at + m->own, cells = at + m->cells, acc = at + m->accumulators, res = at + m->results;
	unsigned number = (unsigned)s->seed % 1000;
	unsigned long long wide = s->seed * 0x9e3779b97f4a7c15u;
	float real = (float)(s->seed % 777) * 0.37f;
	void *params[] = {&in, &own, &cells, &acc, &res, &number, &wide, &real};
	int e = cu.launch(function, s->grid[0], s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2], 0, NULL,
		params, NULL);

	return e ? e : cu.sync();
}

static int worker_run(struct shared *s)
{
	struct kernel k = {.threads = s->threads};
	struct memory m = memory_of(&k);
	int options[] = {5, 6}; /* CU_JIT_ERROR_LOG_BUFFER and its size */
	void *values[] = {s->message, (void *)sizeof s->message}, *module, *function;
	devptr at;
	int e;

	s->message[0] = 0;
	fill_memory(s, s->memory, &m);
	if (cu.load(&module, s->text, 2, options, values) || cu.function(&function, module, "random"))
		return ENGINE_NOT_LOADED;
	e = cu.alloc(&at, m.size);
	if (!e)
		e = cu.to(at, s->memory, m.size);
	if (!e)
		e = worker_launch(s, &m, function, at);
	if (!e)
		e = cu.from(s->memory, at, m.size);
	if (!e) {
		cu.release(at);
		cu.unload(module);
	}
	return e;
}

/* Ends after an error, since a fault makes the context unusable. */
static _Noreturn void worker_main(struct engine *e, int in, int out)
{
	char c = 0;

	setenv("GANGWAY_DEVICE", "cpu", 1);
	setenv("GANGWAY_CPU_CC", "100", 1);
	setenv("GANGWAY_WATCHDOG_MS", "30000", 1);
	for (char *p = strtok(e->name, ","); p; p = strtok(NULL, ","))
		putenv(p);
	e->shared->result = worker_start() ? 0 : ENGINE_ABSENT;
	while (write(out, &c, 1) == 1 && !e->shared->result && read(in, &c, 1) == 1 && !e->shared->end)
		e->shared->result = worker_run(e->shared);
	exit(0); /* writes the profile */
}

/* ---- in the parent -------------------------------------------------------------------------------------- */

/* An idle worker is asked to end, since it writes its profile then; others are killed. */
static void engine_stop(struct engine *e, bool idle)
{
	int status;

	if (!e->pid)
		return;
	/* Closing the pipe is not enough: other workers have copies of it. */
	e->shared->end = idle;
	if (!idle || write(e->to, "", 1) != 1)
		kill(e->pid, SIGKILL);
	close(e->to);
	close(e->from);
	waitpid(e->pid, &status, 0);
	e->shared->end = false;
	e->pid = 0;
}

/* Waits for the worker's byte: 0, or ENGINE_CRASHED with the reason in e->message, or ENGINE_HUNG. */
static int engine_wait(struct engine *e)
{
	struct pollfd p = {.fd = e->from, .events = POLLIN};
	int n = poll(&p, 1, LIMIT_MS), status;
	char c;

	if (n == 1 && read(e->from, &c, 1) == 1)
		return 0;
	snprintf(e->message, sizeof e->message, n ? "the process ended" : "no answer after %d s", LIMIT_MS / 1000);
	if (n && waitpid(e->pid, &status, 0) == e->pid) {
		if (WIFSIGNALED(status))
			snprintf(e->message, sizeof e->message, "killed by signal %d", WTERMSIG(status));
		close(e->to);
		close(e->from);
		e->pid = 0;
	}
	engine_stop(e, false);
	return n ? ENGINE_CRASHED : ENGINE_HUNG;
}

static int engine_start(struct engine *e)
{
	int to[2], from[2], r;

	if (pipe(to) || pipe(from))
		abort();
	fflush(stdout);
	e->pid = fork();
	if (!e->pid) {
		close(to[1]);
		close(from[0]);
		worker_main(e, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	e->to = to[1];
	e->from = from[0];
	r = engine_wait(e);
	if (!r && e->shared->result) {
		engine_stop(e, true);
		return ENGINE_ABSENT;
	}
	return r;
}

struct engine *engine_create(const char *environment)
{
	struct engine *e = calloc(1, sizeof *e);

	if (!e)
		abort();
	snprintf(e->name, sizeof e->name, "%s", environment);
	e->shared = mmap(NULL, sizeof *e->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (e->shared == MAP_FAILED)
		abort();
	if (engine_start(e)) {
		engine_destroy(e);
		return NULL;
	}
	return e;
}

void engine_destroy(struct engine *e)
{
	if (!e)
		return;
	engine_stop(e, true);
	munmap(e->shared, sizeof *e->shared);
	free(e);
}

const char *engine_name(const struct engine *e)
{
	return e->name;
}

int engine_run(struct engine *e, const struct kernel *k, const char *text)
{
	struct shared *s = e->shared;
	int r;

	if (!e->pid && (r = engine_start(e)))
		return r;
	if (strlen(text) >= TEXT_MAX || memory_of(k).size > MEMORY_MAX)
		abort();
	memcpy(s->grid, k->grid, sizeof s->grid);
	memcpy(s->block, k->block, sizeof s->block);
	s->threads = k->threads;
	s->seed = k->seed;
	strcpy(s->text, text);
	if (write(e->to, "", 1) != 1)
		return ENGINE_CRASHED;
	r = engine_wait(e);
	if (r)
		return r;
	memcpy(e->message, s->message, sizeof e->message);
	if (s->result)
		engine_stop(e, true);
	return s->result;
}

const uint8_t *engine_memory(const struct engine *e)
{
	return e->shared->memory;
}

const char *engine_message(const struct engine *e)
{
	return e->message;
}
