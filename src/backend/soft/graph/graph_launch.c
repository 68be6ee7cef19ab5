/*
 * Launches a plan.  If the plan is one segment, the launch is one command of its stream; otherwise
 *
 *	stream    head ── segments of lane 0 ── tail
 *	lane 1     └────── segments ──────────┘
 *
 * head has the dependencies of the stream order, tail waits for all lanes.  All commands are submitted under one lock.
 */
#include "backend/soft/graph/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/soft/stream/queue.h"

/* ---- steps ---- */

static void reset_conditions(const struct plan *p)
{
	for (unsigned i = 0; i < p->nsteps; i++) {
		struct condition *c = p->steps[i].work ? p->steps[i].work->condition : NULL;

		if (c && c->assign)
			atomic_store(&c->value, c->initial);
	}
}

static CUresult run_condition(const struct step *s, struct stream *stream)
{
	struct condition *c = s->work->condition;
	struct context *ctx = stream->object.ctx;
	uint32_t value = atomic_load(&c->value);
	CUresult r = CUDA_SUCCESS;

	switch (s->condition) {
	case CU_GRAPH_COND_TYPE_IF:
		if (value)
			return plan_run(s->bodies[0], stream);
		return s->nbodies > 1 ? plan_run(s->bodies[1], stream) : CUDA_SUCCESS;
	case CU_GRAPH_COND_TYPE_SWITCH:
		return value < s->nbodies ? plan_run(s->bodies[value], stream) : CUDA_SUCCESS;
	default:
		while (!r && atomic_load(&c->value) && !atomic_load(&ctx->stop))
			r = plan_run(s->bodies[0], stream);
		return r;
	}
}

/* Sets the time of the event; its completion is that of the segment. */
static void event_set_time(struct event *e, const struct command *segment)
{
	uint64_t now = soft_now();

	pthread_mutex_lock(&soft.queue_lock);
	if (segment && e->stream == segment->stream && e->number == segment->number)
		e->time = now;
	pthread_mutex_unlock(&soft.queue_lock);
}

static CUresult run_step(struct plan *p, const struct step *s, struct stream *stream, const struct command *segment)
{
	if (s->disabled)
		return CUDA_SUCCESS;
	if (s->type == STEP_RESET)
		reset_conditions(p);
	else if (s->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
		event_set_time(s->work->event, segment);
	else if (s->nbodies)
		return run_condition(s, stream);
	else
		return work_run(s->work, stream);
	return CUDA_SUCCESS;
}

static CUresult run_steps(struct plan *p, const struct segment *g, struct stream *stream, const struct command *c)
{
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = g->first; i < g->first + g->n && !r; i++)
		r = run_step(p, &p->steps[i], stream, c);
	return r;
}

CUresult plan_run(struct plan *p, struct stream *s)
{
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 0; i < p->nsegments && !r; i++)
		r = run_steps(p, &p->segments[i], s, NULL);
	return r;
}

/* ---- segments as commands ---- */

struct segment_run {
	struct plan *plan; /* referenced */
	unsigned index;
};

static CUresult run_segment(struct command *c)
{
	struct segment_run *s = c->data;

	return run_steps(s->plan, &s->plan->segments[s->index], c->stream, c);
}

static void release_segment(struct command *c)
{
	struct segment_run *s = c->data;

	graph_memory_hold(&s->plan->memory, -1);
	plan_put(s->plan);
}

static const struct command_ops command_segment = {COMMAND_OTHER, run_segment, release_segment, false};

/* Allocates n dependencies in advance, so that submitting cannot fail halfway. */
static struct command *launch_create_command(const struct command_ops *ops, size_t payload, unsigned n)
{
	struct command *c = command_create(ops, payload);

	if (!c || n <= c->max_deps)
		return c;
	struct dep *deps = malloc(n * sizeof *deps);
	if (!deps) {
		c->ops = &command_empty; /* the payload is not filled yet: release nothing */
		command_destroy(c);
		return NULL;
	}
	c->deps = deps;
	c->max_deps = n;
	return c;
}

static struct command *make_segment(struct plan *p, unsigned i)
{
	struct command *c =
		launch_create_command(&command_segment, sizeof(struct segment_run), p->segments[i].ndeps + 4);

	if (!c)
		return NULL;
	graph_memory_hold(&p->memory, 1);
	*(struct segment_run *)c->data = (struct segment_run){plan_ref(p), i};
	return c;
}

/* ---- launching: soft.queue_lock held ---- */

static struct stream *exec_lane_stream(struct exec *x, struct stream *s, unsigned lane)
{
	return lane ? x->lanes[lane] : s;
}

static CUresult submit_segment(struct exec *x, struct stream *s, unsigned i, const struct command *head)
{
	struct plan *p = x->plan;
	const struct segment *g = &p->segments[i];
	struct command *c = x->commands[i];
	struct stream *lane = exec_lane_stream(x, s, g->lane);

	for (unsigned k = 0; k < g->ndeps; k++) {
		unsigned d = p->deps[g->dep + k];

		command_depend(c, exec_lane_stream(x, s, p->segments[d].lane), x->commands[d]->number);
	}
	if (g->lane && !g->ndeps && head)
		command_depend(c, s, head->number);
	if (g->waits) {
		struct event *e = p->steps[g->first].work->event;

		if (e->stream && e->stream != lane)
			command_depend(c, e->stream, e->number);
	}
	CUresult r = queue_submit(lane, c);
	if (!r && g->records)
		object_put(event_set_point(p->steps[g->first + g->n - 1].work->event, lane, c->number));
	return r;
}

/* The first command of a launch waits for the previous launch. */
static void command_wait_last(struct exec *x, struct stream *s, struct command *c)
{
	if (x->last.stream && x->last.stream != s)
		command_depend(c, x->last.stream, x->last.number);
}

/*
 * Submits all commands of a launch.  Only the rules of the legacy stream may still allocate memory; if that fails,
 * *begun tells whether some commands were submitted already.
 */
static CUresult launch_submit_commands(
	struct exec *x, struct stream *s, struct command *head, struct command *tail, bool *begun)
{
	unsigned n = x->plan->nsegments;
	CUresult r = CUDA_SUCCESS;

	command_wait_last(x, s, head ? head : n ? x->commands[0] : tail);
	*begun = false;
	if (head)
		r = queue_submit(s, head);
	*begun = head && !r;
	for (unsigned i = 0; i < n && !r; i++) {
		r = submit_segment(x, s, i, head);
		if (r)
			break;
		*begun = true;
		x->last.number = x->commands[i]->number;
	}
	if (r || !tail)
		return r;
	for (unsigned l = 1; l < x->plan->nlanes; l++)
		command_depend(tail, x->lanes[l], atomic_load(&x->lanes[l]->submitted));
	r = queue_submit(s, tail);
	if (!r)
		x->last.number = tail->number;
	return r;
}

/* ---- lanes ---- */

void exec_drop_lanes(struct exec *x)
{
	for (unsigned i = 1; i < x->nlanes; i++)
		if (x->lanes[i]) {
			object_close(x->lanes[i]);
			object_put(x->lanes[i]);
		}
	free(x->lanes);
	object_put(x->lane_ctx);
	x->lanes = NULL;
	x->lane_ctx = NULL;
	x->nlanes = 0;
}

static CUresult exec_ensure_lanes(struct exec *x, struct stream *s)
{
	struct context *ctx = s->object.ctx;
	unsigned n = x->plan->nlanes;

	if (n <= 1 || (x->lane_ctx == ctx && x->nlanes >= n))
		return CUDA_SUCCESS;
	exec_drop_lanes(x);
	x->lanes = calloc(n, sizeof *x->lanes);
	if (!x->lanes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->nlanes = n;
	object_ref(ctx);
	x->lane_ctx = ctx;
	for (unsigned i = 1; i < n; i++) {
		bool own = x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

		x->lanes[i] = stream_create(ctx, CU_STREAM_NON_BLOCKING, own ? x->plan->lane_priority[i] : s->priority);
		if (!x->lanes[i]) {
			exec_drop_lanes(x);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		object_ref(x->lanes[i]);
	}
	return CUDA_SUCCESS;
}

static CUresult exec_ensure_commands(struct exec *x)
{
	unsigned n = x->plan->nsegments;

	if (x->max_commands < n) {
		struct command **commands = realloc(x->commands, n * sizeof *commands);

		if (!commands)
			return CUDA_ERROR_OUT_OF_MEMORY;
		x->commands = commands;
		x->max_commands = n;
	}
	for (unsigned i = 0; i < n; i++) {
		x->commands[i] = make_segment(x->plan, i);
		if (!x->commands[i]) {
			while (i)
				command_destroy(x->commands[--i]);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	return CUDA_SUCCESS;
}

static void exec_set_last(struct exec *x, struct stream *s)
{
	struct stream *old = x->last.stream;

	if (old == s)
		return;
	object_ref(s);
	x->last.stream = s;
	object_put(old);
}

/* Destroys the commands of a launch of which none was submitted. */
static CUresult launch_discard(struct exec *x, CUresult r, struct command *head, struct command *tail)
{
	for (unsigned i = 0; i < x->plan->nsegments; i++)
		command_destroy(x->commands[i]);
	command_destroy(head);
	command_destroy(tail);
	return r;
}

/* Requires x->lock. */
static CUresult exec_submit_launch(struct exec *x, struct stream *s)
{
	bool wide = x->plan->nlanes > 1, none = !x->plan->nsegments;
	struct command *head = NULL, *tail = NULL;
	bool begun;
	CUresult r = exec_ensure_lanes(x, s);

	if (!r)
		r = exec_ensure_commands(x);
	if (r)
		return r;
	if ((wide && !(head = launch_create_command(&command_empty, 0, 4))) ||
		((wide || none) && !(tail = launch_create_command(&command_empty, 0, x->plan->nlanes + 4))))
		return launch_discard(x, CUDA_ERROR_OUT_OF_MEMORY, head, tail);
	r = graph_memory_launch(&x->plan->memory, x->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	if (r)
		return launch_discard(x, r, head, tail);
	pthread_mutex_lock(&soft.queue_lock);
	r = launch_submit_commands(x, s, head, tail, &begun);
	pthread_mutex_unlock(&soft.queue_lock);
	if (r)
		return begun ? r : launch_discard(x, r, head, tail);
	exec_set_last(x, s);
	return CUDA_SUCCESS;
}

CUresult exec_launch(struct exec *x, struct stream *s)
{
	pthread_mutex_lock(&x->lock);
	CUresult r = exec_submit_launch(x, s);
	pthread_mutex_unlock(&x->lock);
	return r;
}

/* ---- entry points ---- */

static CUresult exec_stream_enter(CUgraphExec exec, CUstream stream, struct exec **x, struct stream **s)
{
	CUresult r = stream_enter(stream, s);

	if (r)
		return r;
	*x = object_find(exec, KIND_GRAPH_EXEC);
	if (*x)
		return CUDA_SUCCESS;
	object_put(*s);
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct exec *x;
	struct stream *s;
	CUresult r = exec_stream_enter(exec, stream, &x, &s);

	if (r)
		return r;
	r = atomic_load(&s->capture) ? capture_graph(s, x) : exec_launch(x, s);
	object_put(s);
	object_put(x);
	return r;
}

/* Creating the lanes is the only preparation that a launch needs. */
CUresult soft_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	struct exec *x;
	struct stream *s;
	CUresult r = exec_stream_enter(exec, stream, &x, &s);

	if (r)
		return r;
	if (atomic_load(&s->capture)) {
		r = capture_reject_stream(s);
	} else {
		pthread_mutex_lock(&x->lock);
		r = exec_ensure_lanes(x, s);
		pthread_mutex_unlock(&x->lock);
	}
	object_put(s);
	object_put(x);
	return r;
}
