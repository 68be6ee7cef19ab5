/*
 * Streams as timelines: submitting commands, deciding which can run, completing them, and waiting for them.
 * The queues change only under soft.queue_lock, briefly; the threads of thread_pool.c run the commands.
 */
#include "backend/soft/core/soft.h"
#include "util/futex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/soft/stream/queue.h"

/* ---- commands ---- */

/* Spare commands of this thread, refilled from soft.spare_commands. */
static __thread struct command *own_spares __attribute__((tls_model("initial-exec")));

static struct command *spare_command_take(void)
{
	struct command *c = own_spares;

	if (!c)
		c = atomic_exchange_explicit(&soft.spare_commands, NULL, memory_order_acquire);
	if (c)
		own_spares = c->next;
	return c;
}

static void spare_command_give(struct command *c)
{
#ifdef __SANITIZE_ADDRESS__
	free(c); /* let the sanitizer find a use after free */
	return;
#endif
	c->next = atomic_load_explicit(&soft.spare_commands, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
		&soft.spare_commands, &c->next, c, memory_order_release, memory_order_relaxed))
		;
}

void queue_thread_exit(void)
{
	while (own_spares) {
		struct command *c = own_spares;

		own_spares = c->next;
		spare_command_give(c);
	}
}

struct command *command_create(const struct command_ops *ops, size_t payload)
{
	struct command *c = spare_command_take();

	if (!c)
		c = malloc(sizeof *c);
	if (!c)
		return NULL;
	memset(c, 0, offsetof(struct command, inline_payload));
	c->ops = ops;
	c->deps = c->inline_deps;
	c->max_deps = COMMAND_DEPS;
	c->data = c->inline_payload;
	if (payload <= sizeof c->inline_payload) {
		memset(c->inline_payload, 0, payload);
		return c;
	}
	c->data = calloc(1, payload);
	if (!c->data) {
		spare_command_give(c);
		return NULL;
	}
	return c;
}

static void command_drop_deps(struct command *c)
{
	while (c->ndeps)
		object_put(c->deps[--c->ndeps].stream);
	if (c->deps != c->inline_deps)
		free(c->deps);
	c->deps = c->inline_deps;
	c->max_deps = COMMAND_DEPS;
}

void command_release(struct command *c)
{
	if (c->ops->release && !c->released)
		c->ops->release(c);
	c->released = true;
}

void command_destroy(struct command *c)
{
	if (!c)
		return;
	command_release(c);
	command_drop_deps(c);
	if (c->data != c->inline_payload)
		free(c->data);
	spare_command_give(c);
}

int command_depend(struct command *c, struct stream *s, uint64_t number)
{
	if (atomic_load(&s->completed) >= number)
		return 0;
	if (c->ndeps == c->max_deps) {
		unsigned max = 4 * c->max_deps;
		struct dep *deps = malloc(max * sizeof *deps);

		if (!deps)
			return -ENOMEM;
		memcpy(deps, c->deps, c->ndeps * sizeof *deps);
		if (c->deps != c->inline_deps)
			free(c->deps);
		c->deps = deps;
		c->max_deps = max;
	}
	object_ref(s);
	c->deps[c->ndeps++] = (struct dep){s, number};
	return 0;
}

/* ---- dependencies ---- */

bool stream_blocking(const struct stream *s)
{
	return s->legacy || !(s->flags & CU_STREAM_NON_BLOCKING);
}

static bool stream_pending(struct stream *s)
{
	return s->head != NULL;
}

/* Call f for each busy stream that s must wait for by the rules of the gate and the legacy stream; stop if f fails. */
static int each_earlier_stream(struct stream *s, int (*f)(struct command *c, struct stream *ahead), struct command *c)
{
	struct context *ctx = s->object.ctx;
	int err = 0;

	if (ctx->gate && s != ctx->gate && stream_pending(ctx->gate) && (err = f(c, ctx->gate)))
		return err;
	if (!stream_blocking(s))
		return 0;
	if (!s->legacy)
		return ctx->legacy && stream_pending(ctx->legacy) ? f(c, ctx->legacy) : 0;
	list_each(it, &ctx->busy)
	{
		struct stream *ahead = container_of(it, struct stream, busy);

		if (ahead != s && stream_blocking(ahead) && (err = f(c, ahead)))
			break;
	}
	return err;
}

static int depend_on_stream(struct command *c, struct stream *ahead)
{
	return command_depend(c, ahead, atomic_load(&ahead->submitted));
}

int command_depend_on_context(struct command *c, struct context *ctx)
{
	int err = 0;

	list_each(it, &ctx->busy)
	{
		if (!err)
			err = depend_on_stream(c, container_of(it, struct stream, busy));
	}
	return err;
}

static int stop_at_first(struct command *c, struct stream *ahead)
{
	(void)c, (void)ahead;
	return 1;
}

bool queue_idle(struct stream *s)
{
	return !stream_pending(s) && !each_earlier_stream(s, stop_at_first, NULL);
}

bool stream_idle(struct stream *s)
{
	pthread_mutex_lock(&soft.queue_lock);
	bool idle = queue_idle(s);
	pthread_mutex_unlock(&soft.queue_lock);
	return idle;
}

/* Called when s has a new head, or a dependency of its head is complete: make s ready, or wait for the next one. */
static void stream_advance(struct stream *s)
{
	struct command *c = s->head;

	while (c->ndeps) {
		struct dep *d = &c->deps[c->ndeps - 1];

		if (atomic_load(&d->stream->completed) < d->number) {
			list_append(&d->stream->blocked, &s->wait);
			return;
		}
		object_put(d->stream);
		c->ndeps--;
	}
	workers_add_ready(s);
}

/* Append c to s; true: c is the head. */
static bool stream_append(struct stream *s, struct command *c)
{
	c->stream = s;
	c->ctx = s->object.ctx;
	c->next = NULL;
	c->number = atomic_fetch_add(&s->submitted, 1) + 1;
	if (s->head) {
		s->tail->next = c;
		s->tail = c;
		return false;
	}
	s->head = s->tail = c;
	object_ref(s); /* for as long as the stream has commands */
	list_append(&c->ctx->busy, &s->busy);
	return true;
}

CUresult queue_submit(struct stream *s, struct command *c)
{
	if (each_earlier_stream(s, depend_on_stream, c))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (stream_append(s, c))
		stream_advance(s);
	return CUDA_SUCCESS;
}

CUresult stream_submit(struct stream *s, struct command *c, uint64_t *number)
{
	if (atomic_load_explicit(&s->capture, memory_order_acquire))
		return capture_command(s, c);
	pthread_mutex_lock(&soft.queue_lock);
	CUresult r = c->blocks && !workers_allow_blocking() ? CUDA_ERROR_OUT_OF_MEMORY : queue_submit(s, c);
	if (!r && number)
		*number = c->number;
	bool starved = soft.workers.starved;
	pthread_mutex_unlock(&soft.queue_lock);
	if (r)
		command_destroy(c);
	while (starved && workers_run_one())
		;
	return r;
}

CUresult stream_wait_point(struct stream *s, struct dep point)
{
	CUresult r = CUDA_SUCCESS;

	if (point.stream != s && !stream_done(point.stream, point.number)) {
		struct command *c = command_create(&command_empty, 0);

		if (!c || command_depend(c, point.stream, point.number)) {
			command_destroy(c);
			r = CUDA_ERROR_OUT_OF_MEMORY;
		} else {
			r = stream_submit(s, c, NULL);
		}
	}
	object_put(point.stream);
	return r;
}

static CUresult run_empty(struct command *c)
{
	(void)c;
	return CUDA_SUCCESS;
}

const struct command_ops command_empty = {COMMAND_EMPTY, run_empty, NULL, true};

/* Complete the head of s, which has run.  The caller then destroys the command, without the lock. */
static void queue_complete(struct stream *s)
{
	struct command *c = s->head;
	struct list ready;

	s->head = c->next;
	atomic_store(&s->completed, c->number);
	if (atomic_load(&s->waiters)) {
		atomic_fetch_add(&s->wake, 1);
		futex_wake_all(&s->wake);
	}
	/* Take the whole list first: stream_advance() may put a stream back on it for a later number. */
	list_init(&ready);
	while (!list_empty(&s->blocked)) {
		struct list *l = s->blocked.next;

		list_remove(l);
		list_append(&ready, l);
	}
	while (!list_empty(&ready)) {
		struct list *l = ready.next;

		list_remove(l);
		stream_advance(container_of(l, struct stream, wait));
	}
	if (s->head) {
		stream_advance(s);
	} else {
		s->tail = NULL;
		list_remove(&s->busy);
	}
}

/*
 * If s is idle, make c its head for this thread to run.  Other threads see a busy stream, and queue behind it.
 */
static bool stream_claim(struct stream *s, struct command *c)
{
	pthread_mutex_lock(&soft.queue_lock);
	bool mine = !c->ndeps && queue_idle(s);
	if (mine)
		stream_append(s, c);
	pthread_mutex_unlock(&soft.queue_lock);
	return mine;
}

CUresult command_run(struct command *c)
{
	struct usage *u = usage_report_begin(c);
	CUresult r = c->ops->run(c);

	usage_report_end(u, c);
	return r;
}

CUresult queue_run_head(struct stream *s, struct command *c)
{
	struct context *ctx = c->ctx;
	CUresult r = CUDA_SUCCESS;

	if (!atomic_load(&ctx->error) || c->ops->always)
		r = command_run(c);
	if (r)
		context_fail(ctx, r);
	command_release(c);
	pthread_mutex_lock(&soft.queue_lock);
	queue_complete(s);
	bool drained = !s->head;
	pthread_mutex_unlock(&soft.queue_lock);
	command_destroy(c);
	if (drained)
		object_put(s);
	return r;
}

/* Run c at the head of a stream that the caller has claimed and holds a reference to. */
static CUresult run_claimed(struct stream *s, struct command *c)
{
	CUresult r = queue_run_head(s, c);

	return r ? r : (CUresult)atomic_load(&s->object.ctx->error);
}

CUresult stream_run(struct stream *s, struct command *c)
{
	struct context *ctx = s->object.ctx;
	uint64_t number = 0;

	CUresult r = stream_check_uncaptured(s);
	if (r) {
		command_destroy(c);
		return r;
	}
	if (stream_claim(s, c)) {
		r = run_claimed(s, c);
		printf_buffer_flush(&ctx->printf_buffer);
		return r;
	}
	r = stream_submit(s, c, &number);
	if (r)
		return r;
	stream_wait(s, number, true);
	printf_buffer_flush(&ctx->printf_buffer);
	return atomic_load(&ctx->error);
}

CUresult stream_submit_quick(struct stream *s, struct command *c)
{
	if (!atomic_load_explicit(&s->capture, memory_order_acquire) && stream_claim(s, c))
		return run_claimed(s, c);
	return stream_submit(s, c, NULL);
}

/* ---- waiting ---- */

bool stream_done(struct stream *s, uint64_t number)
{
	return atomic_load(&s->completed) >= number;
}

/* False: the deadline (CLOCK_MONOTONIC, ns) passed first. */
static bool stream_wait_until(struct stream *s, uint64_t number, bool spin, uint64_t deadline)
{
	bool expired = false;

	while (deadline == FOREVER && !stream_done(s, number) && workers_run_stream(s))
		;
	for (int i = 0; spin && i < 2000 && soft_parallelism() > 1; i++) {
		if (stream_done(s, number))
			return true;
		cpu_relax();
	}
	atomic_fetch_add(&s->waiters, 1);
	for (;;) {
		uint32_t seen = atomic_load(&s->wake);

		if (stream_done(s, number) || expired)
			break;
		if (workers_run_one())
			continue;
		uint64_t now = deadline == FOREVER ? 0 : soft_now();
		expired = now >= deadline;
		if (!expired)
			futex_wait(&s->wake, seen, deadline == FOREVER ? FOREVER : deadline - now);
	}
	atomic_fetch_sub(&s->waiters, 1);
	return stream_done(s, number);
}

void stream_wait(struct stream *s, uint64_t number, bool spin)
{
	stream_wait_until(s, number, spin, FOREVER);
}

/* The last command of each busy stream of ctx, at most `room`; *all counts the streams.  The caller drops them. */
static size_t busy_points(struct context *ctx, struct dep *deps, size_t room, size_t *all)
{
	size_t n = 0;

	*all = 0;
	pthread_mutex_lock(&soft.queue_lock);
	list_each(it, &ctx->busy)
	{
		struct stream *s = container_of(it, struct stream, busy);

		if ((*all)++ >= room)
			continue;
		object_ref(s);
		deps[n++] = (struct dep){s, atomic_load(&s->submitted)};
	}
	pthread_mutex_unlock(&soft.queue_lock);
	return n;
}

static bool wait_for_points(const struct dep *deps, size_t n, uint64_t deadline)
{
	bool done = true;

	for (size_t i = 0; i < n; i++) {
		done = stream_wait_until(deps[i].stream, deps[i].number, true, deadline) && done;
		object_put(deps[i].stream);
	}
	return done;
}

/* Without memory for a list of all busy streams, wait for some at a time until no others are busy. */
bool context_wait_until(struct context *ctx, uint64_t deadline)
{
	struct dep few[32], *many;
	size_t room = sizeof few / sizeof *few, all, n;
	bool done;

	busy_points(ctx, NULL, 0, &all);
	many = all > room ? malloc(all * sizeof *many) : NULL;
	room = many ? all : room;
	do {
		n = busy_points(ctx, many ? many : few, room, &all);
		done = wait_for_points(many ? many : few, n, deadline);
	} while (done && n < all);
	free(many);
	return done;
}

void context_wait(struct context *ctx)
{
	context_wait_until(ctx, FOREVER);
}

uint64_t soft_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}
