/* Contexts: which one is current is the thread's business and never leaves the process. */
#include <stdlib.h>
#include "backend/remote/backend.h"
#include "backend/remote/code/code.h"
#include "backend/remote/graph/graph.h"

#define DEPTH 64

static __thread struct context *stack[DEPTH];
static __thread int depth;

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
/* Whoever retains waits for the end of a reset.  What is told of the end (remote.ending) may come back to us. */
static pthread_mutex_t reset_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct {
	struct context *ctx;
	unsigned retained, flags;
	bool held; /* in the server, by us */
} primaries[WIRE_DEVICES_MAX];

struct context *context_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

CUresult context_none(void)
{
	return call_context_id() == WIRE_CONTEXT_CALLBACK ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_CONTEXT;
}

struct context *context_find(CUcontext handle)
{
	return handle ? record_find((uintptr_t)handle, HANDLE_CUcontext) : context_current();
}

static void now_current(struct context *c)
{
	call_context = c ? &c->wire : NULL;
	call_here = c ? &c->late : NULL;
}

/* ---- the word in which the server counts what has failed in a context ---- */

static void tell_word(struct context *c, bool ended)
{
	struct wire_context a = {.context = c->id, .word = c->late_word.word, .ended = ended};

	call_post(WIRE_CONTEXT, &a, sizeof a, NULL, 0);
}

/* Without one its failures are told to whoever asks first. */
static void take_word(struct context *c)
{
	if (word_pool_take(&c->late_word)) {
		c->late.seen = c->late_word.value;
		c->late.word = word_address(call_link(), c->late_word.word);
	}
	tell_word(c, false);
}

/* No more from now on; and once the server has answered something, the word can be another's. */
static void leave_word(struct context *c)
{
	c->late.sticks = CUDA_ERROR_CONTEXT_IS_DESTROYED; /* before: who waits in it hears one or the other */
	c->late.word = NULL;
	tell_word(c, true);
}

static void give_word(struct context *c)
{
	c->late_word.value = c->late_word.word ? *word_address(call_link(), c->late_word.word) : 0;
	word_pool_give(c->late_word);
	c->late_word.word = 0;
}

/* ---- making ---- */

/* Nobody can use a primary context that is not retained, nor one that is destroyed. */
static void set_active(struct context *c, bool active)
{
	c->late.sticks = active ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
	c->wire = active ? c->id : WIRE_CONTEXT_ENDED;
	c->times += !active;
}

static struct context *make(uint64_t id, CUdevice dev, unsigned flags, bool primary)
{
	static atomic_ullong numbers;
	struct context *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	*c = (struct context){.id = id, .wire = id, .device = dev, .flags = flags, .primary = primary};
	if (primary)
		set_active(c, false);
	c->number = atomic_fetch_add(&numbers, 1) + 1;
	pthread_mutex_init(&c->lock, NULL);
	list_init(&c->streams);
	c->legacy = stream_create_legacy(c);
	if (!c->legacy || record_add(id, HANDLE_CUcontext, c)) {
		streams_drop(c, true);
		free(c);
		return NULL;
	}
	take_word(c);
	return c;
}

/* Its handle, which the server gives only to those who retain it; our own counting says whether it is active. */
CUresult remote_primary(CUdevice dev, CUcontext *ctx)
{
	CUresult r = CUDA_SUCCESS;
	CUcontext handle;

	if (!device_find(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&primary_lock);
	if (!primaries[dev].ctx) {
		r = call_cuDevicePrimaryCtxRetain(&handle, dev);
		if (!r && !(primaries[dev].ctx = make((uintptr_t)handle, dev, primaries[dev].flags, true)))
			r = CUDA_ERROR_OUT_OF_MEMORY;
		primaries[dev].held = !r;
	}
	if (!r)
		*ctx = (CUcontext)(uintptr_t)primaries[dev].ctx->id;
	pthread_mutex_unlock(&primary_lock);
	return r;
}

/* reset_lock held. */
static CUresult retain(CUdevice dev)
{
	struct context *c = primaries[dev].ctx;
	CUresult r = CUDA_SUCCESS;
	CUcontext handle; /* the same as ever, as CUDA has it */

	pthread_mutex_lock(&primary_lock);
	if (!primaries[dev].held && !(r = call_cuDevicePrimaryCtxRetain(&handle, dev))) {
		primaries[dev].held = true;
		take_word(c);
	}
	if (!r && !primaries[dev].retained++)
		set_active(c, true);
	pthread_mutex_unlock(&primary_lock);
	return r;
}

CUresult remote_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	CUresult r;

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&reset_lock);
	r = remote_primary(dev, pctx);
	if (!r)
		r = retain(dev);
	pthread_mutex_unlock(&reset_lock);
	return r;
}

/*
 * reset_lock held.  The server's is not retained again before ours is: what other threads have sent in it meanwhile
 * would be made there, and stay in a context that is not active, where nobody looks for it.
 */
static CUresult reset(CUdevice dev)
{
	struct context *c;
	CUresult r;

	pthread_mutex_lock(&primary_lock);
	c = primaries[dev].ctx;
	pthread_mutex_unlock(&primary_lock);
	if (!c || context_ended(c))
		return CUDA_SUCCESS; /* not active: nothing to lose */
	remote.ending((CUcontext)(uintptr_t)c->id);
	pthread_mutex_lock(&primary_lock);
	primaries[dev].retained = 0;
	pthread_mutex_unlock(&primary_lock);
	captures_drop(c);
	memory_forget(c->id);
	leave_word(c);
	r = call_cuDevicePrimaryCtxReset_v2(dev);
	streams_drop(c, false);
	code_epoch++;
	give_word(c);
	set_active(c, false);
	hostmem_gone(c->id);
	pthread_mutex_lock(&primary_lock);
	primaries[dev].held = false;
	pthread_mutex_unlock(&primary_lock);
	return r;
}

CUresult remote_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	CUresult r;

	if (!device_find(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&reset_lock);
	r = reset(dev);
	pthread_mutex_unlock(&reset_lock);
	return r;
}

CUresult remote_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	CUresult r = CUDA_SUCCESS;
	unsigned retained;

	if (!device_find(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&reset_lock);
	pthread_mutex_lock(&primary_lock);
	retained = primaries[dev].retained;
	if (retained > 1)
		primaries[dev].retained--;
	pthread_mutex_unlock(&primary_lock);
	if (retained <= 1)
		r = retained ? reset(dev) : CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_unlock(&reset_lock);
	return r;
}

CUresult remote_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&primary_lock);
	*flags = primaries[dev].flags;
	*active = primaries[dev].retained != 0;
	pthread_mutex_unlock(&primary_lock);
	return CUDA_SUCCESS;
}

CUresult remote_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	CUresult r = call_cuDevicePrimaryCtxSetFlags_v2(dev, flags);

	if (!r) {
		pthread_mutex_lock(&primary_lock);
		primaries[dev].flags = flags;
		pthread_mutex_unlock(&primary_lock);
	}
	return r;
}

static CUresult push(struct context *c)
{
	if (depth == DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = c;
	now_current(c);
	return CUDA_SUCCESS;
}

CUresult remote_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	struct context *c;
	CUresult r;

	if (!device_find(dev)) /* the server cannot have it either, whatever it says */
		return CUDA_ERROR_INVALID_DEVICE;
	r = call_cuCtxCreate_v2(pctx, flags, dev);
	if (r)
		return r;
	c = make((uintptr_t)*pctx, dev, flags, false);
	return c ? push(c) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult remote_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
	if (params && (params->numExecAffinityParams || params->cigParams))
		return CUDA_ERROR_NOT_SUPPORTED;
	return remote_cuCtxCreate_v2(pctx, flags, dev);
}

/* Another thread may still have it current. */
static void keep(struct context *c)
{
	static struct context *ended;

	pthread_mutex_lock(&primary_lock);
	c->next_ended = ended;
	ended = c;
	pthread_mutex_unlock(&primary_lock);
}

CUresult remote_cuCtxDestroy_v2(CUcontext ctx)
{
	struct context *c = ctx ? context_find(ctx) : NULL;
	CUresult r;

	if (!c || c->primary || !record_remove(c->id))
		return CUDA_ERROR_INVALID_CONTEXT;
	remote.ending(ctx);
	if (context_current() == c)
		depth--;
	now_current(context_current());
	captures_drop(c);
	memory_forget(c->id);
	leave_word(c);
	r = call_cuCtxDestroy_v2(ctx);
	set_active(c, false);
	give_word(c);
	streams_drop(c, true);
	hostmem_gone(c->id);
	keep(c);
	return r;
}

CUresult remote_cuCtxPushCurrent_v2(CUcontext ctx)
{
	struct context *c = ctx ? context_find(ctx) : NULL;

	return c ? push(c) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult remote_cuCtxPopCurrent_v2(CUcontext *pctx)
{
	struct context *c = context_current();

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	now_current(context_current());
	if (pctx)
		*pctx = (CUcontext)(uintptr_t)c->id;
	return CUDA_SUCCESS;
}

CUresult remote_cuCtxSetCurrent(CUcontext ctx)
{
	struct context *c = ctx ? context_find(ctx) : NULL;

	if (ctx && !c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth)
		depth--;
	if (c)
		return push(c);
	now_current(context_current());
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
	pthread_mutex_lock(&primary_lock);
	*flags = c->primary ? primaries[c->device].flags : c->flags;
	pthread_mutex_unlock(&primary_lock);
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
