/*
 * Contexts: creating, ending and synchronising them, and the thread's current context.
 */
#include "backend/soft/core/soft.h"

#include <stdlib.h>

#include "backend/soft/memory/mempool.h"
#include "backend/soft/memory/range.h"
#include "backend/soft/stream/queue.h"

static void context_release(void *object)
{
	struct context *ctx = object;

	pthread_mutex_lock(&soft.contexts_lock);
	list_remove(&ctx->all);
	pthread_mutex_unlock(&soft.contexts_lock);
	printf_buffer_finish(&ctx->printf_buffer);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx);
}

/* A primary context is activated repeatedly: a launch from before its last end may still read the limits. */
static void context_set_default_limits(struct context *ctx)
{
	pthread_mutex_lock(&ctx->lock);
	ctx->limits[CU_LIMIT_STACK_SIZE] = 1024;
	ctx->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	ctx->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	ctx->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
	ctx->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
	ctx->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
	ctx->limits[CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = 0;
	pthread_mutex_unlock(&ctx->lock);
	atomic_store(&ctx->cache_config, CU_FUNC_CACHE_PREFER_NONE);
	atomic_store(&ctx->peers, 0);
}

struct context *context_create(struct device *dev, unsigned flags, bool primary)
{
	struct context *ctx = calloc(1, sizeof *ctx);

	if (!ctx)
		return NULL;
	pthread_mutex_init(&ctx->lock, NULL);
	printf_buffer_init(&ctx->printf_buffer);
	list_init(&ctx->objects);
	list_init(&ctx->busy);
	ctx->device = dev;
	ctx->primary = primary;
	atomic_init(&ctx->flags, flags);
	ctx->api_version = 3020;
	ctx->id = soft_next_id();
	list_init(&ctx->all);
	if (object_init(&ctx->object, KIND_CONTEXT, NULL, context_release)) {
		context_release(ctx);
		return NULL;
	}
	pthread_mutex_lock(&soft.contexts_lock);
	list_append(&soft.contexts, &ctx->all);
	pthread_mutex_unlock(&soft.contexts_lock);
	return ctx;
}

/* The context with the lowest number above `id` whose handle is valid, referenced; NULL: there is none. */
static struct context *context_next(unsigned long long id)
{
	struct context *next, *held = NULL;

	pthread_mutex_lock(&soft.contexts_lock);
	do {
		next = NULL;
		list_each(it, &soft.contexts)
		{
			struct context *ctx = container_of(it, struct context, all);

			if (ctx->id > id && (!next || ctx->id < next->id))
				next = ctx;
		}
		id = next ? next->id : id;
		held = next ? object_find64(next->object.handle, KIND_CONTEXT) : NULL;
	} while (next && !held);
	pthread_mutex_unlock(&soft.contexts_lock);
	return held;
}

/* A context without a valid handle has ended, after all its work. */
void contexts_wait(void)
{
	struct context *ctx;

	for (unsigned long long id = 0; (ctx = context_next(id)); object_put(ctx)) {
		id = ctx->id;
		context_wait(ctx);
	}
}

CUresult context_activate(struct context *ctx)
{
	struct stream *legacy;

	if (!workers_start_first())
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_store(&ctx->closed, false);
	legacy = stream_create_held(ctx, CU_STREAM_DEFAULT, 0);
	if (!legacy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	legacy->legacy = true;
	context_set_default_limits(ctx);
	pthread_mutex_lock(&soft.queue_lock);
	ctx->legacy = legacy;
	pthread_mutex_unlock(&soft.queue_lock);
	atomic_store(&ctx->error, CUDA_SUCCESS);
	atomic_store(&ctx->stop, false);
	atomic_store(&ctx->active, true);
	usage_report_context(ctx->device, 1);
	return CUDA_SUCCESS;
}

/* Close the first object in the list; false: the list is empty. */
static bool context_close_object(struct context *ctx)
{
	struct driver_object *o = NULL, *held = NULL;

	pthread_mutex_lock(&ctx->lock);
	if (!list_empty(&ctx->objects)) {
		o = container_of(ctx->objects.next, struct driver_object, link);
		held = object_find64(o->handle, o->kind);
		if (!held)
			list_remove(&o->link); /* another thread is closing it */
	}
	pthread_mutex_unlock(&ctx->lock);
	if (held)
		object_close(held);
	object_put(held);
	return o;
}

/* Time that running work gets to finish when its context ends. */
static unsigned context_end_grace_ms(void)
{
	return soft.config.end_grace_ms ? soft.config.end_grace_ms : 10000;
}

void context_end(struct context *ctx)
{
	if (!atomic_load(&ctx->active))
		return;
	if (soft.config.context_ending)
		soft.config.context_ending(object_handle(CUcontext, ctx));
	capture_end_context(ctx);
	if (!context_wait_until(ctx, soft_now() + context_end_grace_ms() * 1000000ull))
		atomic_store(&ctx->stop, true); /* an endless kernel must not keep the program from exiting */
	context_wait(ctx);
	atomic_store(&ctx->active, false);
	pthread_mutex_lock(&ctx->lock);
	atomic_store(&ctx->closed, true);
	pthread_mutex_unlock(&ctx->lock);
	context_wait(ctx); /* for work submitted meanwhile */
	printf_buffer_flush(&ctx->printf_buffer);
	while (context_close_object(ctx))
		;
	range_end_context(ctx);
	void *engine_data = atomic_exchange(&ctx->engine_data, NULL);
	if (engine_data && soft.engine->destroy_context_data)
		soft.engine->destroy_context_data(engine_data);
	pthread_mutex_lock(&soft.queue_lock);
	struct stream *legacy = ctx->legacy, *gate = ctx->gate;
	ctx->legacy = ctx->gate = NULL;
	pthread_mutex_unlock(&soft.queue_lock);
	object_put(legacy);
	object_put(gate);
	usage_report_context(ctx->device, -1);
}

void context_fail(struct context *ctx, CUresult error)
{
	int none = CUDA_SUCCESS;

	printf_buffer_flush(&ctx->printf_buffer); /* synchronising calls fail from now on, and do not show it */
	atomic_compare_exchange_strong(&ctx->error, &none, error);
}

void context_synchronized(struct context *ctx)
{
	pools_synchronized();
	printf_buffer_flush(&ctx->printf_buffer);
}

__thread bool soft_in_callback __attribute__((tls_model("initial-exec")));

CUresult context_current(struct context **ctx)
{
	if (soft_in_callback)
		return CUDA_ERROR_NOT_PERMITTED;
	*ctx = thread_context();
	if (!*ctx)
		return atomic_load(&soft.ready) ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
	return atomic_load(&(*ctx)->active) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult context_enter(struct context **ctx)
{
	CUresult r = context_current(ctx);

	return r ? r : (CUresult)atomic_load(&(*ctx)->error);
}

CUresult context_find(CUcontext handle, struct context **ctx)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (handle) {
		*ctx = object_find(handle, KIND_CONTEXT);
	} else {
		*ctx = thread_context();
		if (*ctx)
			object_ref(*ctx);
	}
	return *ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- entry points ---- */

/* At most one scheduling flag may be set. */
bool context_flags_ok(unsigned flags)
{
	unsigned sched = flags & CU_CTX_SCHED_MASK;

	return !(flags & ~CU_CTX_FLAGS_MASK) && !(sched & (sched - 1));
}

static CUresult context_create_current(CUcontext *pctx, unsigned flags, CUdevice dev)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	struct device *d = device_find(dev);
	if (!pctx || !context_flags_ok(flags))
		return CUDA_ERROR_INVALID_VALUE;
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	struct context *ctx = context_create(d, flags, false);
	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult r = context_activate(ctx);
	if (!r)
		r = thread_push_context(ctx);
	if (r) {
		context_end(ctx);
		object_close(ctx);
		return r;
	}
	*pctx = object_handle(CUcontext, ctx);
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return context_create_current(pctx, flags, dev);
}

/* Execution affinity exists only under MPS, which the software driver does not implement. */
CUresult soft_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *params, int n, unsigned int flags, CUdevice dev)
{
	if (n < 0 || (n && !params))
		return CUDA_ERROR_INVALID_VALUE;
	return n ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : context_create_current(pctx, flags, dev);
}

CUresult soft_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
	if (params && params->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (params && params->numExecAffinityParams)
		return soft_cuCtxCreate_v3(pctx, params->execAffinityParams, params->numExecAffinityParams, flags, dev);
	return context_create_current(pctx, flags, dev);
}

CUresult soft_cuCtxDestroy_v2(CUcontext handle)
{
	struct context *ctx;
	CUresult r = handle ? context_find(handle, &ctx) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	if (ctx->primary) {
		object_put(ctx);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	if (atomic_exchange(&ctx->ending, true)) {
		object_put(ctx); /* another thread is destroying it */
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	context_end(ctx);
	object_close(ctx);
	if (thread_context() == ctx)
		object_put(thread_pop_context());
	object_put(ctx);
	return r;
}

/* Reference counts of ordinary contexts, deprecated since primary contexts exist. */
CUresult soft_cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
	struct context *ctx;
	CUresult r = context_current(&ctx);

	if (r)
		return r;
	if (!pctx || flags)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_fetch_add(&ctx->attached, 1);
	*pctx = object_handle(CUcontext, ctx);
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxDetach(CUcontext handle)
{
	struct context *ctx;
	CUresult r = handle ? context_find(handle, &ctx) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	unsigned n = atomic_load(&ctx->attached);
	while (n && !atomic_compare_exchange_weak(&ctx->attached, &n, n - 1))
		;
	object_put(ctx);
	return n ? CUDA_SUCCESS : soft_cuCtxDestroy_v2(handle);
}

CUresult soft_cuCtxPushCurrent_v2(CUcontext handle)
{
	struct context *ctx;
	CUresult r = handle ? context_find(handle, &ctx) : CUDA_ERROR_INVALID_CONTEXT;

	if (r)
		return r;
	r = thread_push_context(ctx);
	object_put(ctx);
	return r;
}

CUresult soft_cuCtxPopCurrent_v2(CUcontext *pctx)
{
	struct context *ctx = thread_pop_context();

	if (!ctx)
		return atomic_load(&soft.ready) ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
	if (pctx)
		*pctx = object_handle(CUcontext, ctx);
	object_put(ctx);
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxSetCurrent(CUcontext handle)
{
	struct context *ctx;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!handle)
		return thread_set_context(NULL);
	CUresult r = context_find(handle, &ctx);
	if (r)
		return r;
	r = thread_set_context(ctx);
	object_put(ctx);
	return r;
}

CUcontext soft_current(void)
{
	struct context *ctx = thread_context();

	return ctx ? object_handle(CUcontext, ctx) : NULL;
}

CUresult soft_cuCtxGetCurrent(CUcontext *pctx)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = soft_current();
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxSynchronize(void)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (!r)
		r = capture_reject_context(ctx);
	if (r)
		return r;
	context_wait(ctx);
	context_synchronized(ctx);
	return atomic_load(&ctx->error);
}

CUresult soft_cuCtxSynchronize_v2(CUcontext handle)
{
	struct context *ctx;
	CUresult r = context_find(handle, &ctx);

	if (r)
		return r;
	if (!atomic_load(&ctx->active))
		r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (!r)
		r = capture_reject_context(ctx);
	if (!r) {
		context_wait(ctx);
		context_synchronized(ctx);
		r = atomic_load(&ctx->error);
	}
	object_put(ctx);
	return r;
}
