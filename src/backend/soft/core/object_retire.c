/*
 * Closing an object once everything its context has been given is complete.
 *
 * Some objects are named by kernels in ways that no launch shows: a texture's handle lies in a parameter or
 * in memory.  An application may destroy one as soon as the launch call has returned, and the kernel, queued
 * or running, still has to find it.
 */
#include "backend/soft/stream/queue.h"

static CUresult run_nothing(struct command *c)
{
	(void)c;
	return CUDA_SUCCESS;
}

static void release_retire(struct command *c)
{
	struct driver_object *o = *(struct driver_object **)c->data;

	object_close(o);
	object_put(o);
}

static const struct command_ops command_retire = {COMMAND_OTHER, run_nothing, release_retire, true};

static bool submit(struct context *ctx, struct stream *s, struct command *c)
{
	bool ok = true;

	pthread_mutex_lock(&soft.queue_lock);
	list_each(it, &ctx->busy)
	{
		struct stream *ahead = container_of(it, struct stream, busy);

		ok = ok && !command_depend(c, ahead, atomic_load(&ahead->submitted));
	}
	ok = ok && !queue_submit(s, c);
	pthread_mutex_unlock(&soft.queue_lock);
	return ok;
}

static bool idle(struct context *ctx)
{
	pthread_mutex_lock(&soft.queue_lock);
	bool idle = list_empty(&ctx->busy);
	pthread_mutex_unlock(&soft.queue_lock);
	return idle;
}

/* On a stream of its own, gone when it is done.  False: no memory. */
static bool retire_later(struct driver_object *o)
{
	struct stream *s = stream_create_held(o->ctx, CU_STREAM_NON_BLOCKING, 0);
	struct command *c = s ? command_create(&command_retire, sizeof o) : NULL;
	bool ok = false;

	if (c) {
		object_ref(o);
		*(struct driver_object **)c->data = o;
		ok = submit(o->ctx, s, c);
	}
	if (c && !ok) {
		context_wait(o->ctx);
		command_destroy(c); /* closes it */
		ok = true;
	}
	if (s)
		object_close(s);
	object_put(s);
	return ok;
}

void object_retire(void *object)
{
	struct driver_object *o = object;

	if (!idle(o->ctx) && retire_later(o))
		return;
	context_wait(o->ctx);
	object_close(o);
}
