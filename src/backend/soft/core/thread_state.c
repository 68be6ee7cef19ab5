/*
 * State of an application thread: the stack of current contexts, and its per-thread default stream in each context.
 */
#include "backend/soft/core/soft.h"
#include "backend/soft/stream/queue.h"

#include <stdlib.h>

struct own_stream {
	struct own_stream *next;
	struct stream *stream;
};

struct thread {
	struct context **stack;
	unsigned depth, room;
	struct own_stream *streams;
};

static __thread struct thread *this_thread __attribute__((tls_model("initial-exec")));

static void thread_exit(void *arg)
{
	struct thread *t = arg;

	this_thread = NULL;
	while (t->depth)
		object_put(t->stack[--t->depth]);
	while (t->streams) {
		struct own_stream *o = t->streams;

		t->streams = o->next;
		object_close(o->stream);
		object_put(o->stream);
		free(o);
	}
	queue_thread_exit();
	free(t->stack);
	free(t);
}

static void create_thread_key(void)
{
	pthread_key_create(&soft.thread_key, thread_exit);
}

static struct thread *thread_get(void)
{
	if (!this_thread) {
		pthread_once(&soft.thread_key_once, create_thread_key);
		this_thread = calloc(1, sizeof *this_thread);
		if (this_thread)
			pthread_setspecific(soft.thread_key, this_thread);
	}
	return this_thread;
}

struct context *thread_context(void)
{
	return this_thread && this_thread->depth ? this_thread->stack[this_thread->depth - 1] : NULL;
}

CUresult thread_push_context(struct context *ctx)
{
	struct thread *t = thread_get();

	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (t->depth == t->room) {
		unsigned room = t->room ? 2 * t->room : 8;
		struct context **stack = realloc(t->stack, room * sizeof *stack);

		if (!stack)
			return CUDA_ERROR_OUT_OF_MEMORY;
		t->stack = stack;
		t->room = room;
	}
	object_ref(ctx);
	t->stack[t->depth++] = ctx;
	return CUDA_SUCCESS;
}

struct context *thread_pop_context(void)
{
	return this_thread && this_thread->depth ? this_thread->stack[--this_thread->depth] : NULL;
}

CUresult thread_set_context(struct context *ctx)
{
	if (!ctx || !thread_context()) {
		if (ctx)
			return thread_push_context(ctx);
		object_put(thread_pop_context());
		return CUDA_SUCCESS;
	}
	struct context *old = thread_context();
	if (old != ctx) {
		object_ref(ctx);
		this_thread->stack[this_thread->depth - 1] = ctx;
		object_put(old);
	}
	return CUDA_SUCCESS;
}

/* Drop the streams of contexts that have ended: those are closed already. */
static void forget_ended_streams(struct thread *t)
{
	for (struct own_stream **p = &t->streams; *p;) {
		struct own_stream *o = *p;
		struct stream *s = object_find64(o->stream->object.handle, KIND_STREAM);

		object_put(s);
		if (s) {
			p = &o->next;
			continue;
		}
		*p = o->next;
		object_put(o->stream);
		free(o);
	}
}

struct stream *thread_stream(struct context *ctx)
{
	struct thread *t = thread_get();

	if (!t)
		return NULL;
	forget_ended_streams(t);
	for (struct own_stream *o = t->streams; o; o = o->next)
		if (o->stream->object.ctx == ctx)
			return o->stream;
	struct own_stream *o = calloc(1, sizeof *o);
	if (!o)
		return NULL;
	o->stream = stream_create_held(ctx, CU_STREAM_DEFAULT, 0);
	if (!o->stream) {
		free(o);
		return NULL;
	}
	o->next = t->streams;
	t->streams = o;
	return o->stream;
}
