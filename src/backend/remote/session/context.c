/* Contexts.  The stack of current contexts belongs to the thread; the server hears of the current one with each call. */
#include <stdlib.h>
#include "backend/remote/backend.h"
#include "backend/remote/session/state.h"
#include "backend/remote/code/code.h"
#include "backend/remote/graph/graph.h"
#include "backend/remote/memory/memory.h"
#include "backend/remote/hostmem/hostmem.h"

#define STACK_DEPTH 64

static __thread struct context *context_stack[STACK_DEPTH];
static __thread int context_depth;

static struct context_table *contexts(void)
{
	return &client->session->contexts;
}

struct context *context_current(void)
{
	return context_depth ? context_stack[context_depth - 1] : NULL;
}

CUresult context_none(void)
{
	return call_context_id() == WIRE_CONTEXT_CALLBACK ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_CONTEXT;
}

struct context *context_find(CUcontext handle)
{
	return handle ? record_find((uintptr_t)handle, HANDLE_CUcontext) : context_current();
}

static void context_publish_current(struct context *c)
{
	call_context = c ? &c->wire_id : NULL;
	async_errors_current = c ? &c->errors : NULL;
}

/* ---- the word in which the server counts the async errors of a context ---- */

static void error_word_post(struct context *c, bool ended)
{
	struct wire_context a = {.context = c->id, .word = c->error_word.word, .ended = ended};

	call_post(WIRE_CONTEXT, &a, sizeof a, NULL, 0);
}

/* If no word is free, the errors of the context are reported like those of calls without a context. */
static void error_word_acquire(struct context *c)
{
	if (word_pool_take(&c->error_word)) {
		c->errors.seen = c->error_word.value;
		c->errors.word = word_address(client->link, c->error_word.word);
	}
	error_word_post(c, false);
}

/* Ends the counting.  The word may be reused after the server's next reply: error_word_release. */
static void error_word_detach(struct context *c)
{
	c->errors.sticky =
		CUDA_ERROR_CONTEXT_IS_DESTROYED; /* first: a thread that waits in the context gets one error or the other */
	c->errors.word = NULL;
	error_word_post(c, true);
}

static void error_word_release(struct context *c)
{
	c->error_word.value = c->error_word.word ? *word_address(client->link, c->error_word.word) : 0;
	word_pool_give(c->error_word);
	c->error_word.word = 0;
}

/* ---- creation, and primary contexts ---- */

/* A destroyed context, and a primary one that is not retained, answers every call with its sticky error. */
static void context_set_active(struct context *c, bool active)
{
	c->errors.sticky = active ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
	c->wire_id = active ? c->id : WIRE_CONTEXT_ENDED;
	c->times_ended += !active;
}

/* A primary context keeps the handle that it had with a former client; the server knows both. */
static CUresult context_keep_handle(struct context *c, uint64_t now)
{
	struct wire_alias a = {.former = c->id, .now = now};
	CUresult r = record_carry(c->id, c);

	return r ? r : call_sync(WIRE_ALIAS, &a, sizeof a, NULL, 0, NULL, 0);
}

static struct context *context_create(uint64_t now, CUdevice dev, unsigned flags, bool primary)
{
	uint64_t former = primary ? contexts()->primary[dev].former : 0, id = former ? former : now;
	struct context *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	*c = (struct context){.id = id, .wire_id = id, .device = dev, .flags = flags, .primary = primary};
	if (primary)
		context_set_active(c, false);
	c->number = atomic_fetch_add(&contexts()->numbers, 1) + 1;
	pthread_mutex_init(&c->lock, NULL);
	list_init(&c->streams);
	list_init(&c->destroyed);
	c->legacy = stream_create_legacy(c);
	if (!c->legacy || record_add(now, HANDLE_CUcontext, c) || (former && context_keep_handle(c, now))) {
		streams_drop(c, true);
		free(c);
		return NULL;
	}
	error_word_acquire(c);
	c->next = atomic_load(&contexts()->newest);
	while (!atomic_compare_exchange_weak(&contexts()->newest, &c->next, c))
		;
	return c;
}

struct context *context_newest(void)
{
	return atomic_load(&contexts()->newest);
}

/* The server gives out the handle of a primary context only by retaining it; whether it is active is counted here. */
CUresult remote_primary(CUdevice dev, CUcontext *ctx)
{
	CUresult r = CUDA_SUCCESS;
	CUcontext handle;

	if (!device_find(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&contexts()->lock);
	if (!contexts()->primary[dev].ctx) {
		r = call_cuDevicePrimaryCtxRetain(&handle, dev);
		if (!r && !(contexts()->primary[dev].ctx =
					  context_create((uintptr_t)handle, dev, contexts()->primary[dev].flags, true)))
			r = CUDA_ERROR_OUT_OF_MEMORY;
		contexts()->primary[dev].held = !r;
	}
	if (!r)
		*ctx = (CUcontext)(uintptr_t)contexts()->primary[dev].ctx->id;
	pthread_mutex_unlock(&contexts()->lock);
	return r;
}

/* ---- from one client to the next ---- */

/* Context records are never freed: a thread may have one current.  Those of former clients stay reachable here. */
static _Atomic(struct context *) former_contexts;

static void contexts_keep(struct context *newest)
{
	while (newest) {
		struct context *c = newest;
		newest = c->next;
		c->next = atomic_load(&former_contexts);
		while (!atomic_compare_exchange_weak(&former_contexts, &c->next, c))
			;
	}
}

void contexts_finish(struct context_table *t)
{
	contexts_keep(atomic_load(&t->newest));
}

/* Stands for every context that the former client's applications have created: all of them are destroyed. */
static struct context *context_create_lost(void)
{
	struct context *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->id = (uint64_t)HANDLE_CUcontext << 28; /* generation 0: never a handle */
	pthread_mutex_init(&c->lock, NULL);
	list_init(&c->streams);
	c->legacy = stream_create_legacy(c);
	context_set_active(c, false);
	contexts_keep(c);
	return c->legacy ? c : NULL;
}

void contexts_end_all(void)
{
	for (int dev = 0; dev < client->devices->count; dev++) {
		struct context *c = contexts()->primary[dev].ctx;
		if (c && !context_ended(c))
			client->context_ending((CUcontext)(uintptr_t)c->id);
	}
}

void contexts_carry(struct client *former)
{
	struct context_table *from = &former->session->contexts, *to = contexts();
	CUcontext handle;

	to->lost = context_create_lost();
	to->numbers = from->numbers;
	for (int dev = 0; dev < client->devices->count; dev++) {
		struct context *c = from->primary[dev].ctx;
		to->primary[dev].former = c ? c->id : from->primary[dev].former;
		to->primary[dev].flags = from->primary[dev].flags;
		if (to->primary[dev].former)
			remote_primary(dev, &handle);
	}
}

/* Contexts are never freed, so that this can look at those of a client that no longer exists. */
void contexts_follow(void)
{
	for (int i = 0; i < context_depth; i++) {
		struct context *was = context_stack[i], *now = contexts()->lost;
		if (was->primary && contexts()->primary[was->device].ctx)
			now = contexts()->primary[was->device].ctx;
		if (!now)
			context_depth = 0;
		context_stack[i] = now;
	}
	context_publish_current(context_current());
}

void contexts_hide(bool hide)
{
	context_publish_current(hide ? NULL : context_current());
}

/* Whether nothing can be lost by a new client for this call: the link is broken, and the primary context is not in use. */
static bool primary_unused(CUdevice dev)
{
	bool unused;

	pthread_mutex_lock(&contexts()->lock);
	unused = !contexts()->primary[dev].retained;
	pthread_mutex_unlock(&contexts()->lock);
	return unused;
}

/* ---- primary contexts ---- */

/* reset_lock held. */
static CUresult primary_retain(CUdevice dev)
{
	struct context *c = contexts()->primary[dev].ctx;
	CUresult r = CUDA_SUCCESS;
	CUcontext handle; /* always the same for a device */

	pthread_mutex_lock(&contexts()->lock);
	if (!contexts()->primary[dev].held && !(r = call_cuDevicePrimaryCtxRetain(&handle, dev))) {
		contexts()->primary[dev].held = true;
		error_word_acquire(c);
	}
	if (!r && !contexts()->primary[dev].retained++)
		context_set_active(c, true);
	pthread_mutex_unlock(&contexts()->lock);
	return r;
}

CUresult remote_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	CUresult r;

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (client_broken() && device_find(dev) && primary_unused(dev) && (r = client_renew()))
		return r;
	pthread_mutex_lock(&contexts()->reset_lock);
	r = remote_primary(dev, pctx);
	if (!r)
		r = primary_retain(dev);
	pthread_mutex_unlock(&contexts()->reset_lock);
	return r;
}

/*
 * reset_lock held.  The server retains its context again only when the application does: otherwise calls that other threads
 * have sent meanwhile would create objects in a context that is not active.
 */
static CUresult primary_reset(CUdevice dev)
{
	struct context *c;
	CUresult r;

	pthread_mutex_lock(&contexts()->lock);
	c = contexts()->primary[dev].ctx;
	pthread_mutex_unlock(&contexts()->lock);
	if (!c || context_ended(c))
		return CUDA_SUCCESS; /* not active: nothing to reset */
	client->context_ending((CUcontext)(uintptr_t)c->id);
	pthread_mutex_lock(&contexts()->lock);
	contexts()->primary[dev].retained = 0;
	pthread_mutex_unlock(&contexts()->lock);
	captures_drop(c);
	memory_forget(c->id);
	error_word_detach(c);
	r = call_cuDevicePrimaryCtxReset_v2(dev);
	streams_drop(c, false);
	code_note_reset();
	error_word_release(c);
	context_set_active(c, false);
	hostmem_gone(c->id);
	pthread_mutex_lock(&contexts()->lock);
	contexts()->primary[dev].held = false;
	pthread_mutex_unlock(&contexts()->lock);
	return r;
}

CUresult remote_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	CUresult r;

	if (!device_find(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (client_broken())
		return client_renew();
	pthread_mutex_lock(&contexts()->reset_lock);
	r = primary_reset(dev);
	pthread_mutex_unlock(&contexts()->reset_lock);
	return r && client_broken() ? client_renew() : r;
}

CUresult remote_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	CUresult r = CUDA_SUCCESS;
	unsigned retained;

	if (!device_find(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&contexts()->reset_lock);
	pthread_mutex_lock(&contexts()->lock);
	retained = contexts()->primary[dev].retained;
	if (retained > 1)
		contexts()->primary[dev].retained--;
	pthread_mutex_unlock(&contexts()->lock);
	if (retained <= 1)
		r = retained ? primary_reset(dev) : CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_unlock(&contexts()->reset_lock);
	return r;
}

CUresult remote_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&contexts()->lock);
	*flags = contexts()->primary[dev].flags;
	*active = contexts()->primary[dev].retained != 0;
	pthread_mutex_unlock(&contexts()->lock);
	return CUDA_SUCCESS;
}

CUresult remote_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	CUresult r = call_cuDevicePrimaryCtxSetFlags_v2(dev, flags);

	if (!r) {
		pthread_mutex_lock(&contexts()->lock);
		contexts()->primary[dev].flags = flags;
		pthread_mutex_unlock(&contexts()->lock);
	}
	return r;
}

static CUresult context_push(struct context *c)
{
	if (context_depth == STACK_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context_stack[context_depth++] = c;
	context_publish_current(c);
	return CUDA_SUCCESS;
}

CUresult remote_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	struct context *c;
	CUresult r;

	if (!device_find(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (client_broken() && (r = client_renew()))
		return r;
	r = call_cuCtxCreate_v2(pctx, flags, dev);
	if (r)
		return r;
	c = context_create((uintptr_t)*pctx, dev, flags, false);
	return c ? context_push(c) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult remote_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
	if (params && (params->numExecAffinityParams || params->cigParams))
		return CUDA_ERROR_NOT_SUPPORTED;
	return remote_cuCtxCreate_v2(pctx, flags, dev);
}

/* Keeps an ended context: another thread may still have it current. */
static void context_keep_ended(struct context *c)
{
	pthread_mutex_lock(&contexts()->lock);
	c->next_ended = contexts()->ended;
	contexts()->ended = c;
	pthread_mutex_unlock(&contexts()->lock);
}

CUresult remote_cuCtxDestroy_v2(CUcontext ctx)
{
	struct context *c = ctx ? context_find(ctx) : NULL;
	CUresult r;

	if (!c || c->primary || !record_remove(c->id))
		return CUDA_ERROR_INVALID_CONTEXT;
	client->context_ending(ctx);
	if (context_current() == c)
		context_depth--;
	context_publish_current(context_current());
	captures_drop(c);
	memory_forget(c->id);
	error_word_detach(c);
	r = call_cuCtxDestroy_v2(ctx);
	context_set_active(c, false);
	error_word_release(c);
	streams_drop(c, true);
	hostmem_gone(c->id);
	context_keep_ended(c);
	return r;
}

CUresult remote_cuCtxPushCurrent_v2(CUcontext ctx)
{
	struct context *c = ctx ? context_find(ctx) : NULL;

	return c ? context_push(c) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult remote_cuCtxPopCurrent_v2(CUcontext *pctx)
{
	struct context *c = context_current();

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	context_depth--;
	context_publish_current(context_current());
	if (pctx)
		*pctx = (CUcontext)(uintptr_t)c->id;
	return CUDA_SUCCESS;
}

CUresult remote_cuCtxSetCurrent(CUcontext ctx)
{
	struct context *c = ctx ? context_find(ctx) : NULL;

	if (ctx && !c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context_depth)
		context_depth--;
	if (c)
		return context_push(c);
	context_publish_current(context_current());
	return CUDA_SUCCESS;
}

CUresult remote_cuCtxGetCurrent(CUcontext *pctx)
{
	struct context *c = context_current();

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = c ? (CUcontext)(uintptr_t)c->id : NULL;
	return CUDA_SUCCESS;
}

CUresult remote_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	struct context *c = context_find(ctx);

	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = c->device;
	return CUDA_SUCCESS;
}

CUresult remote_cuCtxGetDevice(CUdevice *device)
{
	return remote_cuCtxGetDevice_v2(device, NULL);
}

CUresult remote_cuCtxGetFlags(unsigned int *flags)
{
	struct context *c = context_current();

	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&contexts()->lock);
	*flags = c->primary ? contexts()->primary[c->device].flags : c->flags;
	pthread_mutex_unlock(&contexts()->lock);
	return CUDA_SUCCESS;
}

CUresult remote_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_find(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult remote_cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
	struct context *c = context_find(ctx);

	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*id = c->number;
	return CUDA_SUCCESS;
}

CUresult remote_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}
