/* Launching a grid: the functions that the interpreter calls, and the engine table. */
#include "backend/cpu/check.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/heap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/soft/texture/texture.h"
#include "blas/job.h"
#include "ptx/interp/interp.h"
#include "wire/trace.h"

/* ---- launching -------------------------------------------------------------------------------------- */

/* A running grid: the argument of the host functions below. */
struct grid_run {
	struct cpu_code *code;
	const struct launch *launch;
	void (*fn)(void *data, uint64_t i);
	void *data;
};

static void run_index(void *arg, uint64_t i, unsigned who)
{
	struct grid_run *r = arg;

	(void)who;
	r->fn(r->data, i);
}

static void host_parallel(void *arg, uint64_t n, void (*fn)(void *data, uint64_t i), void *data)
{
	struct grid_run r = *(struct grid_run *)arg;

	r.fn = fn;
	r.data = data;
	soft_parallel(n, run_index, &r);
}

/* The context's heap, created at the first allocation with the limit of that time; NULL: no memory. */
static struct heap *context_heap(const struct launch *l)
{
	struct heap *h = atomic_load(l->engine_data), *mine;
	void *none = NULL;

	if (h || !(mine = heap_create(l->heap_limit)))
		return h;
	if (atomic_compare_exchange_strong(l->engine_data, &none, mine))
		return mine;
	heap_destroy(mine);
	return none;
}

static bool host_accessible(void *arg, uint64_t addr, uint64_t *base, uint64_t *size)
{
	const struct heap *h = atomic_load(((const struct grid_run *)arg)->launch->engine_data);

	return soft_accessible(addr, base, size) || (h && heap_holds(h, addr, base, size));
}

static bool host_nearest(void *arg, uint64_t addr, uint64_t *base, uint64_t *size)
{
	(void)arg;
	return soft_nearest(addr, base, size);
}

static const struct texture *host_texture(void *arg, uint64_t handle)
{
	(void)arg;
	return soft_texture(handle);
}

static uint64_t host_address(void *arg, const struct ptx_var *v)
{
	const struct grid_run *r = arg;

	return r->launch->globals[v->offset];
}

static void host_print(void *arg, const char *text, size_t len)
{
	soft_print(((const struct grid_run *)arg)->launch, text, len);
}

/* As in the vendor driver, the message goes to stderr, at once: the kernel and its context have failed. */
static void host_assertion(void *arg, const char *text, size_t len)
{
	(void)arg;
	fwrite(text, 1, len, stderr);
}

static uint64_t host_alloc(void *arg, uint64_t size)
{
	struct heap *h = context_heap(((const struct grid_run *)arg)->launch);

	return h ? heap_alloc(h, size) : 0;
}

static void host_release(void *arg, uint64_t addr)
{
	struct heap *h = atomic_load(((const struct grid_run *)arg)->launch->engine_data);

	if (h)
		heap_free(h, addr);
}

static void host_condition(void *arg, uint64_t handle, uint32_t value)
{
	(void)arg;
	soft_set_condition(handle, value);
}

/* Decode a kernel, for the host or for a kernel that launches it. */
static int host_kernel(void *arg, struct ptx_function *f, struct interp_kernel **k, char *why, size_t size)
{
	struct cpu_code *c = ((const struct grid_run *)arg)->code;
	int r;

	pthread_mutex_lock(&c->lock);
	r = interp_kernel(c->program, f, k, why, size);
	pthread_mutex_unlock(&c->lock);
	return r;
}

static CUresult kernel_find(struct cpu_code *c, const struct image_kernel *kernel, struct interp_kernel **k)
{
	struct ptx_function *f = ptx_function_find(c->modules[kernel->piece], kernel->name);
	char why[512] = "";
	struct grid_run run = {.code = c};
	int r;

	if (!f)
		return CUDA_ERROR_NOT_FOUND;
	r = host_kernel(&run, f, k, why, sizeof why);
	if (r)
		soft_explain("kernel %s cannot run: %s", kernel->name, why);
	switch (r) {
	case 0:
		return CUDA_SUCCESS;
	case -ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case -ENOTSUP:
	case -ENOENT: /* a function of the device runtime */
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_PTX;
	}
}

static CUresult cpu_launch(struct code *code, const struct image_kernel *kernel, const struct launch *l)
{
	struct grid_run run = {.code = (struct cpu_code *)code, .launch = l};
	struct interp_host host = {
		.arg = &run,
		.parallel = host_parallel,
		.threads = soft_parallelism(),
		.accessible = host_accessible,
		.nearest = host_nearest,
		.address = host_address,
		.texture = host_texture,
		.print = host_print,
		.assertion = host_assertion,
		.alloc = host_alloc,
		.release = host_release,
		.kernel = host_kernel,
		.condition = host_condition,
		.checks = check_callbacks(),
	};
	struct interp_launch il = {
		.host = &host,
		.grid = {l->grid[0], l->grid[1], l->grid[2]},
		.block = {l->block[0], l->block[1], l->block[2]},
		.cluster = {l->cluster[0], l->cluster[1], l->cluster[2]},
		.shared = l->shared,
		.params = l->params,
		.params_size = l->params_size,
		.stack_limit = l->stack_limit,
		.grid_id = l->grid_id,
		.cooperative = l->flags & LAUNCH_COOPERATIVE,
		.stop = l->stop,
		.deadline = l->deadline,
	};
	struct interp_kernel *k;
	CUresult r;

	if (!strcmp(kernel->name, BLAS_KERNEL))
		return cpu_launch_blas(l);
	r = kernel_find(run.code, kernel, &k);
	if (r)
		return r;
	r = (CUresult)interp_launch(k, &il);
	if (r == CUDA_ERROR_NOT_SUPPORTED)
		soft_explain("kernel %s, or one that it launched, cannot run: %s", kernel->name, il.message);
	else if (r == CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_MISALIGNED_ADDRESS)
		soft_explain("kernel %s failed: %s", kernel->name, il.message);
	else if (r)
		trace_note("kernel %s failed: %s", kernel->name, il.message);
	return r;
}

static void heap_release(void *engine_data)
{
	heap_destroy(engine_data);
}

static void cpu_note(const char *text)
{
	trace_note("%s", text);
}

const struct engine cpu_engine = {
	.name = "cpu",
	.accepts = IMAGE_WANT_PTX | IMAGE_WANT_OTHER_PTX,
	.note = cpu_note,
	.describe = cpu_describe,
	.load = cpu_load,
	.unload = cpu_unload,
	.measure = cpu_measure,
	.init_globals = cpu_init_globals,
	.launch = cpu_launch,
	.destroy_context_data = heap_release,
};
