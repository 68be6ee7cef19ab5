/*
 * Calls every exported function with invalid arguments: before nvmlInit, with each pointer NULL and with all of them
 * NULL, with forged handles, with buffers of zeros and of ones.  Each call returns a result that NVML defines, a
 * missing pointer is never a success, and the process survives.
 *
 * The arguments come from the description that the trace is generated from.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi/nvml.h"
#include "gen/nvml_ops.h"
#include "test/check.h"
#include "cuda/nvml_errors.h"
#include "wire/trace.h"

static const struct nvml_ops *behind;
#define TRACED behind

static uint64_t trace_enter(int op, const uint64_t *a)
{
	return op && a;
}

static nvmlReturn_t trace_leave(int op, const uint64_t *a, nvmlReturn_t r, uint64_t start)
{
	(void)op, (void)a, (void)start;
	return r;
}

extern const struct nvml_ops nvml_trace_ops;
#include "gen/nvml_trace.inc"
extern const char *const nvml_names[];
#include "gen/nvml_names.inc"

#define ARGS 10
#define ROOM 65536

typedef int (*any_fn)(
	uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static char *room;
static const char *current_call = "nothing";
static long calls, refusals;

static void crashed(int signal)
{
	char text[200];
	int n = snprintf(text, sizeof text, "signal %d in %s\n", signal, current_call);

	n = (int)write(2, text, (size_t)n);
	_exit(n > 0 ? 1 : 2);
}

/* Returns a text instead of a result. */
static bool returns_text(const char *name)
{
	return !strcmp(name, "nvmlErrorString");
}

static int call(const struct trace_entry *c, any_fn f, const uint64_t *a)
{
	current_call = c->name;
	int r = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
	calls++;
	if (returns_text(c->name))
		return 0;
	if (!nvml_result_name(r)) {
		fprintf(stderr, "%s returns %d, which is no NVML result\n", c->name, r);
		failures++;
	}
	refusals += r != 0;
	return r;
}

/* A buffer for each pointer; values are the device handle or a number. */
static void fill_arguments(const struct trace_entry *c, uint64_t *a, uint64_t handle, uint64_t number, int byte)
{
	for (int i = 0; i < ARGS; i++) {
		a[i] = 0;
		if (i >= c->nargs)
			continue;
		char *p = room + i * ROOM;
		memset(p, byte, ROOM);
		p[ROOM - 1] = 0;
		a[i] = c->args[i].dir != 'v' ? (uintptr_t)p : c->args[i].kind == 'h' ? handle : number;
		/* a count beyond the buffer would be the caller's own fault */
		if (c->args[i].dir == 'x' && c->args[i].size == 4 && c->args[i].kind == 'u')
			memset(p, 0, 4), p[0] = 3;
	}
}

static bool initialises(const char *name)
{
	return !strncmp(name, "nvmlInit", 8) || !strcmp(name, "nvmlShutdown");
}

static void for_each_function(void *library, void (*what)(const struct trace_entry *c, any_fn f))
{
	for (int i = 0; i < nvml_OP_COUNT; i++) {
		const struct trace_call *t = &trace_calls[i];
		struct trace_entry c = {nvml_names[i], trace_names, trace_args + t->first, t->nargs, NULL};
		any_fn f = (any_fn)dlsym(library, nvml_names[i]);

		CHECK(f);
		if (f && !initialises(nvml_names[i]))
			what(&c, f);
	}
}

static void call_uninitialised(const struct trace_entry *c, any_fn f)
{
	uint64_t a[ARGS];

	fill_arguments(c, a, (uintptr_t)room, 0, 0);
	if (!returns_text(c->name))
		CHECK_EQ(call(c, f, a), NVML_ERROR_UNINITIALIZED);
}

static uint64_t device;

static void call_with_bad_arguments(const struct trace_entry *c, any_fn f)
{
	static const uint64_t handles[] = {0, 1, 0x47570000, 0x47570099, ~0ull, 0xdeadbeef};
	uint64_t a[ARGS] = {0};

	call(c, f, a);
	for (size_t h = 0; h < sizeof handles / sizeof *handles; h++) {
		fill_arguments(c, a, handles[h], 0, 0);
		int r = call(c, f, a);
		if (c->nargs && c->args[0].dir == 'v' && c->args[0].kind == 'h' && !r) {
			fprintf(stderr, "%s succeeds on handle 0x%llx\n", c->name, (unsigned long long)handles[h]);
			failures++;
		}
	}
	for (int missing = 0; missing < c->nargs; missing++) {
		fill_arguments(c, a, device, 16, 0);
		if (c->args[missing].dir == 'v')
			continue;
		a[missing] = 0;
		int r = call(c, f, a);
		/* NULL is valid for a list whose length is asked for; the private table has its own rules */
		if (!r && c->args[missing].len != -2 &&
			!(c->args[missing].len >= 0 && c->args[c->args[missing].len].dir == 'x')) {
			fprintf(stderr, "%s succeeds without %s\n", c->name, c->names + c->args[missing].name);
			failures++;
		}
	}
	for (int byte = 0; byte <= 0xff; byte += 0xff) {
		fill_arguments(c, a, device, byte ? ~0u : 64, byte);
		/* a length beyond the buffer would be the caller's own fault */
		for (int i = 0; i < c->nargs; i++)
			if (c->args[i].dir == 'v' && c->args[i].kind != 'h')
				a[i] = 16;
		call(c, f, a);
	}
}

int main(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	nvmlReturn_t (*init)(void), (*shutdown)(void), (*flags)(unsigned), (*get)(unsigned, nvmlDevice_t *);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	room = calloc(ARGS, ROOM);
	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
	signal(SIGFPE, crashed);
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	*(void **)&flags = dlsym(library, "nvmlInitWithFlags");
	*(void **)&shutdown = dlsym(library, "nvmlShutdown");
	*(void **)&get = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	CHECK_EQ(shutdown(), NVML_ERROR_UNINITIALIZED);
	for_each_function(library, call_uninitialised);
	CHECK_EQ(flags(99), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(init(), 0);
	CHECK_EQ(flags(NVML_INIT_FLAG_NO_GPUS), 0); /* initialisations are counted */
	nvmlDevice_t d = NULL;
	CHECK_EQ(get(0, &d), 0);
	device = (uintptr_t)d;
	for_each_function(library, call_with_bad_arguments);
	CHECK_EQ(shutdown(), 0);
	CHECK_EQ(get(0, &d), 0);
	CHECK_EQ(shutdown(), 0);
	CHECK_EQ(get(0, &d), NVML_ERROR_UNINITIALIZED);
	for_each_function(library, call_uninitialised);
	CHECK_EQ(init(), 0);
	CHECK_EQ(get(0, &d), 0);
	CHECK_EQ((uintptr_t)d, device); /* handles survive a shutdown: programs keep them */
	CHECK_EQ(shutdown(), 0);
	printf("%ld calls, %ld refused\n", calls, refusals);
	return RESULT();
}
