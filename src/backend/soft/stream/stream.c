/*
 * Streams: creating, finding, synchronising and querying them.
 */
#include "backend/soft/core/soft.h"

#include <stdlib.h>

#include "backend/soft/memory/mempool.h"
#include "cuda/per_thread.h"

static void stream_release(void *object)
{
	free(object);
}

int stream_priority(int wanted)
{
	return wanted > 0 ? 0 : wanted <= -PRIORITIES ? 1 - PRIORITIES : wanted;
}

struct stream *stream_create_held(struct context *ctx, unsigned flags, int priority)
{
	struct stream *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->flags = flags;
	s->priority = stream_priority(priority);
	s->id = soft_next_id();
	list_init(&s->blocked);
	list_init(&s->wait);
	list_init(&s->busy);
	if (object_init_held(&s->object, KIND_STREAM, ctx, stream_release)) {
		free(s);
		return NULL;
	}
	return s;
}

struct stream *stream_create(struct context *ctx, unsigned flags, int priority)
{
	struct stream *s = stream_create_held(ctx, flags, priority);

	object_put(s);
	return s;
}

/* The stream that handle 0, 1 or 2 means in ctx, referenced. */
static CUresult special_stream(struct context *ctx, uintptr_t value, struct stream **s)
{
	bool own = value == 2 || (value == 0 && per_thread_default);

	if (own) {
		*s = thread_stream(ctx);
		if (!*s)
			return CUDA_ERROR_OUT_OF_MEMORY;
		object_ref(*s);
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&soft.queue_lock);
	*s = ctx->legacy;
	if (*s)
		object_ref(*s);
	pthread_mutex_unlock(&soft.queue_lock);
	return *s ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult stream_enter(CUstream handle, struct stream **s)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if ((uintptr_t)handle <= 2)
		return special_stream(ctx, (uintptr_t)handle, s);
	*s = object_find(handle, KIND_STREAM);
	if (!*s)
		return CUDA_ERROR_INVALID_HANDLE;
	r = atomic_load(&(*s)->object.ctx->error);
	if (r)
		object_put(*s);
	return r;
}

/* ---- entry points ---- */

CUresult soft_cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || flags & ~CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	struct stream *s = stream_create_held(ctx, flags, priority);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = object_handle(CUstream, s);
	object_put(s);
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamCreate(CUstream *out, unsigned int flags)
{
	return soft_cuStreamCreateWithPriority(out, flags, 0);
}

/* Only the handle becomes invalid: commands already submitted still run. */
CUresult soft_cuStreamDestroy_v2(CUstream handle)
{
	struct stream *s;

	if ((uintptr_t)handle <= 2)
		return handle ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	CUresult r = stream_enter(handle, &s);
	if (r)
		return r;
	if (atomic_load(&s->capture))
		r = capture_reject_destroy(s);
	if (!r && !object_close(s))
		r = CUDA_ERROR_INVALID_HANDLE;
	object_put(s);
	return r;
}

/* Wait until all commands of s are complete; for the legacy stream also those of all blocking streams. */
static void stream_synchronize(struct stream *s)
{
	struct command *c;
	uint64_t number;

	if (stream_idle(s))
		return;
	number = atomic_load(&s->submitted);
	if (!s->legacy) {
		stream_wait(s, number, true);
		return;
	}
	/* An empty command in the legacy stream waits for the other streams. */
	c = command_create(&command_empty, 0);
	if (c && !stream_submit(s, c, &number))
		stream_wait(s, number, true);
	else
		context_wait(s->object.ctx);
}

CUresult soft_cuStreamSynchronize(CUstream handle)
{
	struct stream *s;
	CUresult r = stream_enter(handle, &s);

	if (r)
		return r;
	r = stream_check_uncaptured(s);
	if (!r) {
		stream_synchronize(s);
		context_synchronized(s->object.ctx);
		r = atomic_load(&s->object.ctx->error);
	}
	object_put(s);
	return r;
}

CUresult soft_cuStreamQuery(CUstream handle)
{
	struct stream *s;
	CUresult r = stream_enter(handle, &s);

	if (r)
		return r;
	r = stream_check_uncaptured(s);
	if (!r) {
		bool idle = s->legacy ? stream_idle(s) : stream_done(s, atomic_load(&s->submitted));

		r = idle ? (CUresult)atomic_load(&s->object.ctx->error) : CUDA_ERROR_NOT_READY;
	}
	object_put(s);
	return r;
}

/* An entry point that returns one property of a stream. */
#define STREAM_GETTER(name, type, value) \
	CUresult name(CUstream handle, type *out) \
	{ \
		struct stream *s; \
		CUresult r = out ? stream_enter(handle, &s) : CUDA_ERROR_INVALID_VALUE; \
\
		if (r) \
			return r; \
		*out = value; \
		object_put(s); \
		return CUDA_SUCCESS; \
	}

STREAM_GETTER(soft_cuStreamGetPriority, int, s->priority)
STREAM_GETTER(soft_cuStreamGetFlags, unsigned int, s->flags)
STREAM_GETTER(soft_cuStreamGetId, unsigned long long, s->id)
STREAM_GETTER(soft_cuStreamGetDevice, CUdevice, s->object.ctx->device->ordinal)
STREAM_GETTER(soft_cuStreamGetCtx, CUcontext, object_handle(CUcontext, s->object.ctx))

/* There are no green contexts: every stream answers that it belongs to none, as cuDNN expects of an ordinary stream. */
STREAM_GETTER(soft_cuStreamGetGreenCtx, CUgreenCtx, NULL)

CUresult soft_cuStreamGetCtx_v2(CUstream handle, CUcontext *ctx, CUgreenCtx *green)
{
	CUresult r = soft_cuStreamGetCtx(handle, ctx);

	if (!r && green)
		*green = NULL;
	return r;
}

CUresult soft_stream_identity(CUcontext handle, CUstream stream, int per_thread, unsigned long long *id)
{
	struct context *ctx;
	struct stream *s = NULL;
	CUresult r = context_find(handle, &ctx);

	if (r)
		return r;
	if ((uintptr_t)stream > 2)
		s = object_find(stream, KIND_STREAM);
	else
		r = special_stream(ctx, per_thread && !stream ? 2 : (uintptr_t)stream, &s);
	object_put(ctx);
	if (!s)
		return r ? r : CUDA_ERROR_INVALID_HANDLE;
	*id = s->id;
	object_put(s);
	return CUDA_SUCCESS;
}
