/* Kernel launches: checks, parameters, the command of a stream, and the entry points. */
#include "backend/soft/code/launch.h"

#include <string.h>

#include "backend/soft/stream/event.h"

static CUresult launch_run(struct command *c)
{
	struct kernel_launch *k = c->data;
	struct module *m = k->function->module;
	struct context *ctx = c->ctx;
	struct launch l = {
		.flags = k->flags,
		.shared = k->shared,
		.params = k->params,
		.params_size = k->params_size,
		.globals = m->globals,
		.grid_id = soft_next_id(),
		.printf_buffer = &ctx->printf_buffer,
		.engine_data = &ctx->engine_data,
		.device = ctx->device->ordinal,
		.stop = &ctx->stop,
	};

	memcpy(l.grid, k->grid, sizeof l.grid);
	memcpy(l.block, k->block, sizeof l.block);
	memcpy(l.cluster, k->cluster, sizeof l.cluster);
	pthread_mutex_lock(&ctx->lock);
	l.stack_limit = ctx->limits[CU_LIMIT_STACK_SIZE];
	l.heap_limit = ctx->limits[CU_LIMIT_MALLOC_HEAP_SIZE];
	l.printf_limit = ctx->limits[CU_LIMIT_PRINTF_FIFO_SIZE];
	pthread_mutex_unlock(&ctx->lock);
	if (soft.config.watchdog_ms)
		l.deadline = soft_now() + soft.config.watchdog_ms * 1000000ull;
	return soft.engine->launch(m->program->code, k->function->kernel, &l);
}

static void launch_release(struct command *c)
{
	object_put(((struct kernel_launch *)c->data)->function);
}

const struct command_ops command_launch = {COMMAND_LAUNCH, launch_run, launch_release, false};

/* ---- checking ---- */

static CUresult check_block(const struct image_kernel *k, const struct device *d, const unsigned *b)
{
	if (!b[0] || !b[1] || !b[2] || b[0] > 1024 || b[1] > 1024 || b[2] > 64)
		return CUDA_ERROR_INVALID_VALUE;
	if (b[0] * b[1] * b[2] > kernel_max_threads(k, d))
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < 3 && k->req_threads[0]; i++)
		if (b[i] != (k->req_threads[i] ? k->req_threads[i] : 1))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_cluster(const struct function *f, const struct kernel_launch *l)
{
	const struct device *d = f->object.ctx->device;
	unsigned long long n = (unsigned long long)l->cluster[0] * l->cluster[1] * l->cluster[2];
	unsigned limit = d->info.max_cluster_size;

	if (n <= 1)
		return CUDA_SUCCESS;
	if (atomic_load(&f->tuning->non_portable_cluster) && limit > 1)
		limit *= 2;
	if (n > limit)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	for (int i = 0; i < 3; i++)
		if (l->grid[i] % l->cluster[i])
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult launch_check(const struct function *f, const struct kernel_launch *l)
{
	const struct device *d = f->object.ctx->device;
	const unsigned *g = l->grid;
	CUresult r = check_block(f->kernel, d, l->block);

	if (r)
		return r;
	if (!g[0] || !g[1] || !g[2] || g[0] > 2147483647u || g[1] > 65535 || g[2] > 65535)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->shared && l->shared > tuning_max_dynamic(f->kernel, f->module->program->code, f->tuning, d))
		return CUDA_ERROR_INVALID_VALUE;
	r = check_cluster(f, l);
	if (r || !(l->flags & LAUNCH_COOPERATIVE))
		return r;
	unsigned long long room = launch_occupancy(f, l->block[0] * l->block[1] * l->block[2], l->shared);
	if ((unsigned long long)g[0] * g[1] * g[2] > room * d->info.multiprocessors)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

/* ---- parameters ---- */

/* Reads buffer and size of the packed parameters from the list of pairs in extra. */
static CUresult read_extra(void **extra, const void **buffer, size_t *size)
{
	*buffer = NULL;
	*size = 0;
	for (int i = 0; i < 16; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_END)
			return CUDA_SUCCESS;
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
			*size = *(size_t *)extra[i + 1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Least size of a packed buffer: to the end of the last parameter, without padding. */
static size_t params_needed(const struct image_kernel *k)
{
	size_t need = 0;

	for (uint32_t i = 0; i < k->nparams; i++)
		if (k->params[i].offset + (size_t)k->params[i].size > need)
			need = k->params[i].offset + (size_t)k->params[i].size;
	return need;
}

static CUresult copy_params(const struct image_kernel *k, unsigned char *to, void **params, void **extra)
{
	const void *buffer;
	size_t size;

	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (!k->nparams)
		return CUDA_SUCCESS;
	if (extra) {
		CUresult r = read_extra(extra, &buffer, &size);

		if (r || !buffer || size < params_needed(k))
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(to, buffer, size < k->param_bytes ? size : k->param_bytes);
		return CUDA_SUCCESS;
	}
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < k->nparams; i++) {
		const struct image_param *p = &k->params[i];

		if (!params[i])
			return CUDA_ERROR_INVALID_VALUE;
		if ((uint64_t)p->offset + p->size > k->param_bytes)
			return CUDA_ERROR_INVALID_IMAGE;
		memcpy(to + p->offset, params[i], p->size);
	}
	return CUDA_SUCCESS;
}

CUresult launch_command(
	struct function *f, const struct kernel_launch *shape, void **params, void **extra, struct command **out)
{
	const struct image_kernel *k = f->kernel;
	CUresult r = launch_check(f, shape);

	if (r)
		return r;
	struct command *c = command_create(&command_launch, sizeof *shape + k->param_bytes);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct kernel_launch *l = c->data;
	memcpy(l, shape, sizeof *l);
	object_ref(f);
	l->function = f;
	l->params_size = k->param_bytes;
	r = copy_params(k, l->params, params, extra);
	if (r) {
		command_destroy(c);
		return r;
	}
	*out = c;
	return CUDA_SUCCESS;
}

/* ---- launching ---- */

static CUresult launch_submit(
	struct function *f, struct stream *s, const struct kernel_launch *shape, void **params, void **extra)
{
	struct command *c;

	if (f->object.ctx != s->object.ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	CUresult r = launch_command(f, shape, params, extra, &c);
	return r ? r : stream_submit(s, c, NULL);
}

/* The cluster shape of a kernel for launches that specify none. */
static void default_cluster(const struct function *f, unsigned *cluster)
{
	for (int i = 0; i < 3; i++) {
		int set = atomic_load(&f->tuning->cluster[i]);

		cluster[i] = set ? (unsigned)set : f->kernel->cluster[i] ? f->kernel->cluster[i] : 1;
	}
}

CUresult launch_kernel(CUfunction handle, CUstream stream, struct kernel_launch *shape, void **params, void **extra)
{
	struct function *f;
	struct stream *s;
	CUresult r = function_enter(handle, &f);

	if (r)
		return r;
	r = stream_enter(stream, &s);
	if (!r) {
		if (!shape->cluster[0])
			default_cluster(f, shape->cluster);
		printf_buffer_flush(&s->object.ctx->printf_buffer);
		r = launch_submit(f, s, shape, params, extra);
		object_put(s);
	}
	object_put(f);
	return r;
}

/* ---- entry points ---- */

CUresult soft_cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
	unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params, void **extra)
{
	struct kernel_launch l = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared};

	return launch_kernel(f, stream, &l, params, extra);
}

CUresult soft_cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params)
{
	struct kernel_launch l = {
		.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared, .flags = LAUNCH_COOPERATIVE};

	return launch_kernel(f, stream, &l, params, NULL);
}

/* Launch attributes other than the shape. */
struct launch_extras {
	CUevent event; /* recorded after the kernel; NULL: none */
};

static CUresult launch_apply_attribute(const CUlaunchAttribute *a, struct kernel_launch *l, struct launch_extras *x)
{
	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		if (a->value.cooperative)
			l->flags |= LAUNCH_COOPERATIVE;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		l->cluster[0] = a->value.clusterDim.x;
		l->cluster[1] = a->value.clusterDim.y;
		l->cluster[2] = a->value.clusterDim.z;
		return l->cluster[0] && l->cluster[1] && l->cluster[2] ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		x->event = a->value.programmaticEvent.event;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		x->event = a->value.launchCompletionEvent.event;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		if (a->value.deviceUpdatableKernelNode.deviceUpdatable)
			return CUDA_ERROR_NOT_SUPPORTED;
		return CUDA_SUCCESS;
	default: /* the others are hints about caches and scheduling, which may be ignored */
		if ((int)a->id < 0 || a->id >= CU_LAUNCH_ATTRIBUTE_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		return CUDA_SUCCESS;
	}
}

CUresult soft_cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	struct launch_extras x = {0};
	CUresult r = CUDA_SUCCESS;

	if (!c || (c->numAttrs && !c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	struct kernel_launch l = {.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
		.block = {c->blockDimX, c->blockDimY, c->blockDimZ},
		.shared = c->sharedMemBytes};
	for (unsigned i = 0; i < c->numAttrs && !r; i++)
		r = launch_apply_attribute(&c->attrs[i], &l, &x);
	if (!r)
		r = launch_kernel(f, c->hStream, &l, params, extra);
	if (!r && x.event)
		r = soft_cuEventRecord(x.event, c->hStream);
	return r;
}
