/*
 * object_retire: closing an object once all work submitted to its context is complete.
 *
 * Kernels reach some objects in ways that no launch shows: the handle of a texture is in a parameter or in memory.
 * An application may destroy the texture as soon as the launch call has returned, and the kernel, queued or running,
 * must still find it.
 */
#include "backend/soft/stream/queue.h"

static CUresult run_retire(struct command *c)
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

static const struct command_ops command_retire = {COMMAND_OTHER, run_retire, release_retire, true};

/* Submit c to s, to run after all work of the context; false: no memory. */
static bool submit_after_context(struct context *ctx, struct stream *s, struct command *c)
{
	pthread_mutex_lock(&soft.queue_lock);
	bool ok = !command_depend_on_context(c, ctx) && !queue_submit(s, c);
	pthread_mutex_unlock(&soft.queue_lock);
	return ok;
}

static bool context_idle(struct context *ctx)
{
	pthread_mutex_lock(&soft.queue_lock);
	bool idle = list_empty(&ctx->busy);
	pthread_mutex_unlock(&soft.queue_lock);
	return idle;
}

/* Close o from a command in a new stream, which is closed with it.  False: no memory. */
static bool object_retire_later(struct driver_object *o)
{
	struct stream *s = stream_create_held(o->ctx, CU_STREAM_NON_BLOCKING, 0);
	struct command *c = s ? command_create(&command_retire, sizeof o) : NULL;
	bool ok = false;

	if (c) {
		object_ref(o);
		*(struct driver_object **)c->data = o;
		ok = submit_after_context(o->ctx, s, c);
	}
	if (c && !ok) {
		context_wait(o->ctx);
		command_destroy(c); /* closes o */
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

	if (!context_idle(o->ctx) && object_retire_later(o))
		return;
	context_wait(o->ctx);
	object_close(o);
}
