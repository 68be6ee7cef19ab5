/*
 * Calls every exported function with invalid arguments: NULL pointers one at a time and all at once, forged handles,
 * handles of another kind, destroyed handles; before cuInit, without a context and with one.  Each call_and_check must return
 * a result that CUDA defines, and the process must survive.
 *
 * The kinds of the arguments come from the generated trace tables.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi/cuda.h"
#include "gen/cuda_ops.h"
#include "gen/cuda_protos.h"
#include "test/check.h"
#include "wire/trace.h"

static const struct cuda_ops *behind;
#define TRACED behind

static uint64_t trace_enter(int op, const uint64_t *a)
{
	return op && a;
}

static CUresult trace_leave(int op, const uint64_t *a, CUresult r, uint64_t start)
{
	(void)op, (void)a, (void)start;
	return r;
}

extern const struct cuda_ops cuda_trace_ops;
#include "gen/cuda_trace.inc"
extern const char *const cuda_names[]; /* of this program: the library does not export its own */
#include "gen/cuda_names.inc"

#define ARGS 20
#define ROOM (1 << 20)

typedef int (*any_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
	uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static char *room; /* ARGS buffers of zeros, for pointers that the driver follows */
static const char *now = "nothing";
static long calls, refusals, victim;
static CUcontext context;
static CUstream stream;
static CUevent event, destroyed_event;
static CUmodule module;
static CUfunction function;
static CUdeviceptr memory;

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing(.param "
			  ".u64 p)\n{\n	ret;\n}\n";

static void empty_callback(void)
{
}

static void exit_crashed(int signal)
{
	static const char text[] = ": exit_crashed or hung here\n";
	ssize_t r = write(2, now, strlen(now));

	r += write(2, text, sizeof text - 1);
	_exit(signal == SIGALRM ? 3 : 2 + (r < 0));
}

/* The driver calls these arguments, so they must be functions or NULL. */
static bool is_callback(const char *name)
{
	static const char *const names[] = {"callback", "callbackFunc", "fn", "destroy", "blockSizeToDynamicSMemSize"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * Functions that accept any address of the process as host memory: a bad address is the caller's mistake.  And
 * functions that make a stream wait for a value that is never written.
 */
static bool is_excluded(const char *name)
{
	static const char *const names[] = {"cuMemcpy", "cuMemcpy_ptds", "cuMemcpyAsync", "cuMemcpyAsync_ptsz"};

	if (strncmp(name, "cu", 2) || name[2] < 'A' || name[2] > 'Z')
		return true;
	if (!strncmp(name, "cuStreamWaitValue", 17))
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int call_and_check(const struct trace_entry *c, any_fn f, const uint64_t *a)
{
	const char *text = NULL;

	now = c->name;
	alarm(100);
	int r = f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
		a[16], a[17], a[18], a[19]);
	calls++;
	refusals += r != CUDA_SUCCESS;
	if (cuGetErrorName(r, &text) || !text) {
		fprintf(stderr, "%s returned %d, which is not a CUDA result\n", c->name, r);
		failures++;
	}
	return r;
}

/* Pointers point to zeroed memory; arguments by value are `handle` if they are handles or addresses, else `number`. */
static void fill_args(const struct trace_entry *c, uint64_t *a, uint64_t handle, uint64_t number)
{
	memset(a, 0, ARGS * sizeof *a);
	for (int i = 0; i < c->nargs; i++) {
		const struct trace_arg *arg = &c->args[i];

		if (arg->dir != 'v') {
			memset(room + i * ROOM, 0, 4096);
			a[i] = (uintptr_t)(room + i * ROOM);
		} else if (is_callback(c->names + arg->name)) {
			a[i] = (uintptr_t)empty_callback;
		} else {
			a[i] = arg->kind == 'h' ? handle : number;
		}
	}
}

static void set_context(bool with)
{
	CUcontext ctx = NULL;

	if (with && cuDevicePrimaryCtxRetain(&ctx, 0))
		failures++;
	cuCtxSetCurrent(ctx);
}

/* Does an argument give the length of an array?  A wrong length is the caller's mistake. */
static bool is_counted(const struct trace_entry *c)
{
	for (int i = 0; i < c->nargs; i++)
		if (c->args[i].dir != 'v' && c->args[i].len != -1)
			return true;
	return false;
}

/* Made again for each function: the previous one may have destroyed them. */
static void make_objects(void)
{
	now = "make_objects";
	CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	CHECK_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
	CHECK_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
	CHECK_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
	CHECK_EQ(cuEventCreate(&destroyed_event, 0), CUDA_SUCCESS);
	CHECK_EQ(cuEventDestroy_v2(destroyed_event), CUDA_SUCCESS);
	CHECK_EQ(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	CHECK_EQ(cuModuleGetFunction(&function, module, "nothing"), CUDA_SUCCESS);
	CHECK_EQ(cuMemAlloc_v2(&memory, 4096), CUDA_SUCCESS);
}

static void try_values(const struct trace_entry *c, any_fn f, bool with_context)
{
	make_objects();
	uint64_t handles[] = {
		0,
		1,
		3,
		0xdeadbeef,
		0x7fffdeadbeef,
		~0ull,
		(uintptr_t)&victim,
		(uintptr_t)stream,
		(uintptr_t)event,
		(uintptr_t)destroyed_event,
		(uintptr_t)context,
		(uintptr_t)module,
		(uintptr_t)function,
		memory,
	};
	static const uint64_t numbers[] = {0, 1, 2, 4096, 0x7fffffff, 0xffffffff, 1ull << 63, ~0ull};
	uint64_t a[ARGS];

	for (size_t h = 0; h < sizeof handles / sizeof *handles; h++) {
		for (size_t n = 0; n < (is_counted(c) ? 4 : sizeof numbers / sizeof *numbers); n++) {
			set_context(with_context);
			fill_args(c, a, handles[h], numbers[n]);
			call_and_check(c, f, a);
		}
		for (int i = 0; i < c->nargs; i++) {
			set_context(with_context);
			fill_args(c, a, handles[h], 1);
			a[i] = 0;
			call_and_check(c, f, a);
		}
	}
	memset(a, 0, sizeof a);
	set_context(with_context);
	call_and_check(c, f, a);
}

static void each_exported(void *library, void (*what)(const struct trace_entry *c, any_fn f, bool flag), bool flag)
{
	for (int i = 0; i < cuda_OP_COUNT; i++) {
		const struct trace_call *t = &trace_calls[i];
		struct trace_entry c = {cuda_names[i], trace_names, trace_args + t->first, t->nargs, NULL};
		any_fn f = c.name ? (any_fn)dlsym(library, c.name) : NULL;

		if (f && !is_excluded(c.name))
			what(&c, f, flag);
	}
}

/* Before cuInit: pointers to zeros, then NULL only. */
static void try_early(const struct trace_entry *c, any_fn f, bool flag)
{
	uint64_t a[ARGS];

	(void)flag;
	if (!strcmp(c->name, "cuInit"))
		return;
	fill_args(c, a, 0, 0);
	call_and_check(c, f, a);
	memset(a, 0, sizeof a);
	call_and_check(c, f, a);
}

int main(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	signal(SIGALRM, exit_crashed);
#ifndef __SANITIZE_ADDRESS__
	signal(SIGSEGV, exit_crashed);
	signal(SIGBUS, exit_crashed);
	signal(SIGABRT, exit_crashed);
#endif
	room = calloc(ARGS, ROOM);
	CHECK(room && library);
	if (failures)
		return 1;
	each_exported(library, try_early, false);
	CHECK_EQ(cuInit(0), CUDA_SUCCESS);
	make_objects();
	if (failures)
		return 1;
	each_exported(library, try_values, false);
	each_exported(library, try_values, true);
	CHECK_EQ(victim, 0);
	printf("%ld calls, %ld refused, all with results that CUDA defines\n", calls, refusals);
	return RESULT();
}
