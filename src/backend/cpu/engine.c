#include "backend/cpu/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/soft/texture.h"
#include "ptx/interp/interp.h"
#include "wire/trace.h"

/* Modules up to this size are parsed whole when they are loaded, so that errors come where CUDA has them. */
enum { EAGER_TEXT = 1 << 20 };

struct cpu_code {
	struct code code;
	struct image_code *info;
	struct ptx_module *module;
	struct interp_program *program;
	pthread_mutex_t lock; /* of module and program while something is parsed or decoded */
};

/* GANGWAY_CPU_CC: 8.0, or 80. */
static bool wanted_cc(int *major, int *minor)
{
	const char *s = getenv("GANGWAY_CPU_CC");
	int a, b;

	if (!s || !*s)
		return false;
	if (sscanf(s, "%d.%d", &a, &b) == 2 && a > 0 && b >= 0 && b < 10) {
		*major = a;
		*minor = b;
	} else {
		a = atoi(s);
		if (a < 10)
			return false;
		*major = a / 10;
		*minor = a % 10;
	}
	return true;
}

static void describe(int ordinal, struct engine_device *dev)
{
	(void)ordinal;
	snprintf(dev->name, sizeof dev->name, "Gangway CPU");
	dev->major = 8;
	dev->minor = 0;
	wanted_cc(&dev->major, &dev->minor);
	dev->shared_optin = 163 << 10;
	dev->max_cluster_size = 1;
}

static void unload(struct code *code)
{
	struct cpu_code *c = (struct cpu_code *)code;

	interp_destroy(c->program);
	ptx_module_destroy(c->module);
	image_code_destroy(c->info);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- loading ---------------------------------------------------------------------------------------- */

static void log_ptx(struct engine_log *log, const struct ptx_error *e)
{
	char text[512];

	ptx_error_format(e, text, sizeof text);
	engine_log(log, "%s\n", text);
}

/* Every kernel's body, and with it what it needs of shared and local memory. */
static CUresult parse_kernels(struct cpu_code *c, struct engine_log *log)
{
	for (size_t i = 0; i < c->info->nkernels; i++) {
		struct image_kernel *k = &c->info->kernels[i];
		struct ptx_function *f = ptx_function_find(c->module, k->name);
		int r = f ? ptx_kernel_layout(f) : -ENOENT;

		if (r == -ENOMEM)
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (r) {
			if (f)
				log_ptx(log, &f->error);
			return CUDA_ERROR_INVALID_PTX;
		}
		k->shared_bytes = (uint32_t)f->shared_static;
		k->local_bytes = (uint32_t)f->local_total;
	}
	return CUDA_SUCCESS;
}

static CUresult read_text(struct cpu_code *c, const void *data, size_t size, struct engine_log *log)
{
	struct image_error err = {.text = ""};
	int r;

	c->module = ptx_module_create(data, size);
	if (!c->module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (c->module->error.line) {
		log_ptx(log, &c->module->error);
		return CUDA_ERROR_INVALID_PTX;
	}
	r = image_code_read(&c->info, data, size, &err);
	if (r) {
		engine_log(log, "line %u: %s\n", err.line, err.text);
		return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
	}
	c->program = interp_create(c->module);
	if (!c->program)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return size <= EAGER_TEXT ? parse_kernels(c, log) : CUDA_SUCCESS;
}

static CUresult load(const void *data, size_t size, enum image_kind kind, const struct engine_device *dev,
		     struct engine_log *log, struct code **code)
{
	struct cpu_code *c;
	CUresult r;

	(void)dev;
	if (kind != IMAGE_PTX)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	c = calloc(1, sizeof *c);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&c->lock, NULL);
	r = read_text(c, data, size, log);
	if (r) {
		unload(&c->code);
		return r;
	}
	c->code = (struct code){
		.kernels = c->info->kernels,
		.nkernels = c->info->nkernels,
		.globals = c->info->globals,
		.nglobals = c->info->nglobals,
		.ptx_version = (int)c->info->sm,
		.binary_version = (int)c->info->sm,
		.const_bytes = c->info->const_bytes,
	};
	*code = &c->code;
	return CUDA_SUCCESS;
}

/* ---- variables -------------------------------------------------------------------------------------- */

static uint64_t global_address(const struct code *code, const uint64_t *addresses, const char *name)
{
	size_t low = 0, high = code->nglobals;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int c = strcmp(name, code->globals[mid].name);

		if (!c)
			return addresses[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return 0;
}

static void init_global(struct cpu_code *c, size_t i, const uint64_t *addresses)
{
	const struct ptx_var *v = ptx_var_find(c->module, c->code.globals[i].name);
	unsigned char *to = (unsigned char *)(uintptr_t)addresses[i];
	uint64_t size = c->code.globals[i].size;

	if (!v || !v->init)
		return;
	memcpy(to, v->init, v->init_size < size ? v->init_size : size);
	for (uint32_t k = 0; k < v->nrelocs; k++) {
		const struct ptx_reloc *r = &v->relocs[k];
		const struct ptx_function *f = ptx_function_find(c->module, r->name);
		uint64_t value =
			f ? interp_function_address(f) : global_address(&c->code, addresses, r->name);

		value = (value + (uint64_t)r->addend) >> r->shift;
		if (r->offset <= size && r->size <= size - r->offset && r->size <= sizeof value)
			memcpy(to + r->offset, &value, r->size);
	}
}

static CUresult init_globals(struct code *code, const uint64_t *addresses, bool managed)
{
	for (size_t i = 0; i < code->nglobals; i++)
		if (addresses[i] && code->globals[i].managed == managed)
			init_global((struct cpu_code *)code, i, addresses);
	return CUDA_SUCCESS;
}

/* ---- launching -------------------------------------------------------------------------------------- */

/* A grid as the interpreter's host sees it. */
struct run {
	struct cpu_code *code;
	const struct launch *launch;
	void (*fn)(void *data, uint64_t i);
	void *data;
};

static void run_one(void *arg, uint64_t i, unsigned who)
{
	struct run *r = arg;

	(void)who;
	r->fn(r->data, i);
}

static void parallel(void *arg, uint64_t n, void (*fn)(void *data, uint64_t i), void *data)
{
	struct run r = *(struct run *)arg;

	r.fn = fn;
	r.data = data;
	soft_parallel(n, run_one, &r);
}

static bool accessible(void *arg, uint64_t addr, uint64_t *base, uint64_t *size)
{
	(void)arg;
	return soft_accessible(addr, base, size) || heap_holds(addr, base, size);
}

static const struct texture *texture(void *arg, uint64_t handle)
{
	(void)arg;
	return soft_texture(handle);
}

static uint64_t address(void *arg, const struct ptx_var *v)
{
	const struct run *r = arg;

	return global_address(&r->code->code, r->launch->globals, v->name);
}

/* Where CUDA's own driver lets device printf and assert end up. */
static void print(void *arg, const char *text, size_t len)
{
	(void)arg;
	fwrite(text, 1, len, stdout);
}

static void assertion(void *arg, const char *text, size_t len)
{
	(void)arg;
	fwrite(text, 1, len, stderr);
}

static uint64_t alloc(void *arg, uint64_t size)
{
	return heap_alloc(size, ((const struct run *)arg)->launch->heap_limit);
}

static void release(void *arg, uint64_t addr)
{
	(void)arg;
	heap_free(addr);
}

static CUresult find_kernel(struct cpu_code *c, const char *name, struct interp_kernel **k)
{
	struct ptx_function *f = ptx_function_find(c->module, name);
	char why[512] = "";
	int r;

	if (!f)
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&c->lock);
	r = interp_kernel(c->program, f, k, why, sizeof why);
	pthread_mutex_unlock(&c->lock);
	if (r)
		trace_note("kernel %s cannot run: %s", name, why);
	switch (r) {
	case 0:
		return CUDA_SUCCESS;
	case -ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case -ENOTSUP:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_PTX;
	}
}

static CUresult launch(struct code *code, const struct image_kernel *kernel, const struct launch *l)
{
	struct run run = {.code = (struct cpu_code *)code, .launch = l};
	struct interp_host host = {
		.arg = &run,
		.parallel = parallel,
		.threads = soft_parallelism(),
		.accessible = accessible,
		.address = address,
		.texture = texture,
		.print = print,
		.assertion = assertion,
		.alloc = alloc,
		.release = release,
	};
	struct interp_launch il = {
		.host = &host,
		.grid = {l->grid[0], l->grid[1], l->grid[2]},
		.block = {l->block[0], l->block[1], l->block[2]},
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
	CUresult r = find_kernel(run.code, kernel->name, &k);

	if (r)
		return r;
	r = (CUresult)interp_launch(k, &il);
	fflush(stdout);
	if (r)
		trace_note("kernel %s failed: %s", kernel->name, il.message);
	return r;
}

const struct engine cpu_engine = {
	.name = "cpu",
	.accepts = IMAGE_WANT_PTX,
	.describe = describe,
	.load = load,
	.unload = unload,
	.init_globals = init_globals,
	.launch = launch,
};
