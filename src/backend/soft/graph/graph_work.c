/* The work of nodes: shared commands, made by collecting the command of an ordinary call. */
#include "backend/soft/graph/graph.h"

#include <stdlib.h>

struct node_work *work_create(void)
{
	struct node_work *w = calloc(1, sizeof *w);

	if (w)
		atomic_init(&w->refs, 1);
	return w;
}

struct node_work *work_ref(struct node_work *w)
{
	if (w)
		atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
	return w;
}

void work_put(struct node_work *w)
{
	if (!w || atomic_fetch_sub(&w->refs, 1) != 1)
		return;
	command_destroy(w->command);
	object_put(w->event);
	graph_memory_put(w->memory);
	condition_put(w->condition);
	object_put(w->ctx);
	free(w->owned);
	free(w);
}

/* Launches may run the same work concurrently, so each uses its own command around the shared payload. */
CUresult work_run(struct node_work *w, struct stream *s)
{
	struct command c;

	if (!w || !w->command)
		return CUDA_SUCCESS;
	if (!atomic_load(&w->ctx->active))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	c.ops = w->command->ops;
	c.ctx = w->ctx;
	c.stream = s;
	c.next = NULL;
	c.number = 0;
	c.ndeps = c.max_deps = 0;
	c.deps = c.inline_deps;
	c.data = w->command->data;
	return command_run(&c);
}

/* ---- collecting ---- */

CUresult collect_begin(struct collector *b, CUcontext handle)
{
	CUresult r = context_find(handle, &b->ctx);

	if (r)
		return r;
	r = thread_push_context(b->ctx);
	if (r) {
		object_put(b->ctx);
		return r;
	}
	b->stream = stream_create(b->ctx, CU_STREAM_NON_BLOCKING, 0);
	b->strand = b->stream ? strand_collect(b->stream) : NULL;
	if (b->strand) {
		object_ref(b->stream);
		b->handle = object_handle(CUstream, b->stream);
		return CUDA_SUCCESS;
	}
	if (b->stream)
		object_close(b->stream);
	object_put(thread_pop_context());
	object_put(b->ctx);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult collect_end(struct collector *b, CUresult r, struct node_work **out)
{
	struct command *c = strand_collected(b->stream, b->strand);
	struct node_work *w = r ? NULL : work_create();

	object_close(b->stream);
	object_put(b->stream);
	object_put(thread_pop_context());
	if (!w) {
		command_destroy(c);
		object_put(b->ctx);
		return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (c) {
		c->ctx = b->ctx;
		c->stream = NULL;
	}
	w->command = c;
	w->ctx = b->ctx;
	*out = w;
	return CUDA_SUCCESS;
}
