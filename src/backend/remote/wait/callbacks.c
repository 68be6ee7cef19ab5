/*
 * The callback thread: runs host functions, callbacks and destructors for the server, and prints the output of kernels.
 *
 * The thread waits for events on a lane of its own and handles one at a time.  It is started before the first call that may
 * lead to a callback.  The server names a callback by an id of the client's, which is looked up like any other handle.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "backend/remote/session/remote.h"
#include "backend/remote/guard.h"
#include "backend/remote/wait/wait.h"
#include "backend/remote/wait/callbacks.h"
#include "backend/remote/hostmem/mirror.h"
#include "backend/remote/session/state.h"
#include "util/futex.h"
#include "util/handle.h"
#include "util/tsan_order.h"

enum callback_kind { CALLBACK_HOST = 1, CALLBACK_STREAM, CALLBACK_DESTROY };

struct callback {
	/* Of host functions in graphs, which stay: */
	struct map_node node;  /* key: a hash of function and data */
	struct callback *same; /* next one with the same key */
	uint64_t id;
	CUhostFn fn;
	CUstreamCallback callback;
	void *data;
	CUstream stream;
	bool once;
	bool reads;               /* ours, and writes nothing that the application sees: nobody has to be behind it */
	struct piece up;          /* size not 0: what it fills */
	void (*gone)(void *data); /* or NULL: it is not running, and will not run any more */
};

static struct callback_table *callbacks(void)
{
	return &client->session->callbacks;
}

/* ---- the thread ---- */

/*
 * Tells the server that the event was handled: in a word, or by a frame behind the piece and the changes of mirrors, so that
 * their bytes arrive first.  behind: mirrors were sent.
 */
static void event_finish(const struct wire_event *v, struct piece up, bool behind)
{
	uint8_t *base = bulk_base(client->link, BULK_UP, NULL);
	uint32_t *words = (uint32_t *)(base + callbacks()->done_words.offset);
	struct wire_called *called;

	if (!v->value || v->slot >= WIRE_SLOTS)
		return;
	if (client->local && !behind) {
		__atomic_store_n(&words[v->slot], v->value, __ATOMIC_RELEASE);
		futex_wake_shared(&words[v->slot]);
	} else if ((called = call_reserve(callbacks()->lane, sizeof *called))) {
		*called = (struct wire_called){v->slot, v->value};
		call_send(callbacks()->lane, WIRE_CALLED, sizeof *called, &up, up.size != 0);
	}
}

static struct piece callback_run(const struct wire_event *v, enum callback_kind kind, bool *pushed)
{
	struct callback *c = handle_get(&callbacks()->handles, v->id, kind);
	struct piece up = {0};
	CUhostFn fn;

	if (!c)
		return up;
	if (c->once && !handle_close(&callbacks()->handles, v->id, kind)) { /* another thread has just forgotten it */
		handle_put(&callbacks()->handles, v->id);
		return up;
	}
	fn = c->fn;
	up = c->up;
	ORDER_AFTER(posted);
	mirror_pull();
	if (kind == CALLBACK_STREAM)
		c->callback(c->stream, (CUresult)v->status, c->data);
	else
		fn(c->data);
	*pushed = mirror_push_on(callbacks()->lane);
	if (c->once && kind != CALLBACK_DESTROY && !c->reads)
		atomic_fetch_sub(&callbacks()->pending, 1);
	ORDER_BEFORE(called);
	handle_put(&callbacks()->handles, v->id);
	return up;
}

static void event_handle(const struct frame *f)
{
	struct wire_event v;
	struct piece up = {0};
	bool pushed = false;
	size_t text = f->size - sizeof v;

	memcpy(&v, f->payload, sizeof v);
	switch (v.kind) {
	case WIRE_EVENT_OUTPUT:
	case WIRE_EVENT_ERRORS:
		fwrite((const char *)f->payload + sizeof v, 1, text, v.kind == WIRE_EVENT_OUTPUT ? stdout : stderr);
		lane_release(callbacks()->lane);
		break;
	default:
		lane_release(callbacks()->lane); /* the function may take long */
		if (v.kind == WIRE_EVENT_HOST || v.kind == WIRE_EVENT_CALLBACK || v.kind == WIRE_EVENT_DESTROY)
			up = callback_run(&v,
				v.kind == WIRE_EVENT_HOST       ? CALLBACK_HOST
				: v.kind == WIRE_EVENT_CALLBACK ? CALLBACK_STREAM
								: CALLBACK_DESTROY,
				&pushed);
	}
	event_finish(&v, up, pushed);
}

static CUresult callbacks_listen(void)
{
	struct frame reply;
	CUresult r;

	if (!call_reserve(callbacks()->lane, 0))
		return client_lost();
	r = call_ask(callbacks()->lane, WIRE_LISTEN, 0, &callbacks()->done_words, 1, &reply);
	call_release_reply(callbacks()->lane);
	return r;
}

/* Of the caller, which waits until `listens` is set. */
struct callback_start {
	struct client *client;
	_Atomic uint32_t listens; /* 1 + the result of callbacks_listen() */
};

/* The thread exists before the server is asked: the server waits for the answer to each event that it sends. */
static void *callback_thread(void *arg)
{
	static const _Atomic(uint64_t) no_calls = WIRE_CONTEXT_CALLBACK; /* CUDA forbids calls from callbacks */
	struct callback_start *start = arg;
	struct callback_table *t;
	struct frame f;
	CUresult r;

	client_thread_join(start->client);
	t = callbacks();
	r = callbacks_listen();
	atomic_store(&t->running, !r);
	atomic_store(&start->listens, r + 1);
	futex_wake_all(&start->listens); /* a spurious wake-up if the caller has seen the value and returned */
	if (r)
		return NULL;
	call_context = &no_calls;
	while (!lane_wait_reply(callbacks()->lane, &f, -1)) {
		if (f.size < sizeof(struct wire_event)) {
			client_reject_reply(); /* else a thread that waits for a function would wait for ever */
			break;
		}
		event_handle(&f);
	}
	atomic_store(&t->running, false); /* the client may be destroyed now */
	return NULL;
}

static CUresult callback_thread_run(void)
{
	struct callback_start start = {.client = client};
	sigset_t all, old;
	pthread_t thread;
	int err;

	sigfillset(&all); /* signals are for the threads of the application */
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = pthread_create(&thread, NULL, callback_thread, &start);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return CUDA_ERROR_OUT_OF_MEMORY;
	while (!atomic_load(&start.listens))
		futex_wait(&start.listens, 0, FOREVER);
	if (atomic_load(&start.listens) == 1)
		pthread_detach(thread);
	else
		pthread_join(thread, NULL);
	return atomic_load(&start.listens) - 1;
}

/* A failure leaves nothing behind: the next call that may lead to a callback tries again. */
static CUresult callback_thread_start(void)
{
	struct callback_table *t = callbacks();
	size_t room;
	CUresult r;

	int err = lane_open(client->link, &t->lane);
	if (err)
		return client_failed(err);
	r = bulk_alloc(client->link, BULK_UP, WIRE_SLOTS * sizeof(uint32_t), &t->done_words) ? CUDA_ERROR_OUT_OF_MEMORY
											     : CUDA_SUCCESS;
	if (!r) {
		memset((char *)bulk_base(client->link, BULK_UP, &room) + t->done_words.offset, 0, t->done_words.size);
		r = callback_thread_run();
		if (r)
			bulk_free(client->link, BULK_UP, t->done_words);
	}
	if (r)
		lane_close(t->lane);
	return r;
}

CUresult callbacks_start(void)
{
	CUresult r;

	pthread_mutex_lock(&callbacks()->lock);
	r = callbacks()->started ? callback_thread_start() : CUDA_SUCCESS;
	callbacks()->started = r ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
	pthread_mutex_unlock(&callbacks()->lock);
	return r;
}

/* ---- ids ---- */

static void callback_release(void *callback)
{
	struct callback *c = callback;

	if (c->gone)
		c->gone(c->data);
	free(c);
}

/* The id of a new callback; 0: no memory.  It may have run and be freed before this returns. */
static uint64_t callback_enter(enum callback_kind kind, struct callback what)
{
	struct callback *c = malloc(sizeof *c);
	uint64_t id;

	if (!c)
		return 0;
	*c = what;
	id = handle_create(&callbacks()->handles, kind, c, callback_release);
	if (!id)
		free(c);
	return id;
}

/* Host functions of graphs stay: the client does not learn when the last copy of a graph is destroyed. */
static uint64_t callback_enter_permanent(CUhostFn fn, void *data)
{
	uint64_t key = (uintptr_t)fn * 0x9e3779b97f4a7c15ull ^ (uintptr_t)data;
	struct callback *c, *first;
	uint64_t id;

	pthread_mutex_lock(&callbacks()->lock);
	first = (struct callback *)map_find(&callbacks()->host_functions, key);
	for (c = first; c && (c->fn != fn || c->data != data); c = c->same)
		;
	id = c ? c->id : callback_enter(CALLBACK_HOST, (struct callback){.fn = fn, .data = data});
	if (!c && id) {
		c = handle_peek(&callbacks()->handles, id, CALLBACK_HOST); /* never closed */
		c->id = id;
		c->node.key = key;
		callbacks()->in_graphs = true;
		if (first) {
			c->same = first->same;
			first->same = c;
		} else {
			map_insert(&callbacks()->host_functions, &c->node);
		}
	}
	pthread_mutex_unlock(&callbacks()->lock);
	return id;
}

uint64_t callback_host(CUhostFn fn, void *data, bool once)
{
	return once ? callback_enter(CALLBACK_HOST, (struct callback){.fn = fn, .data = data, .once = true})
		    : callback_enter_permanent(fn, data);
}

uint64_t callback_create(CUhostFn fn, void *data, const struct piece *up, void (*gone)(void *data))
{
	return callback_enter(CALLBACK_HOST,
		(struct callback){.fn = fn, .data = data, .up = up ? *up : (struct piece){0}, .gone = gone});
}

uint64_t callback_destructor(CUhostFn fn, void *data)
{
	return callback_enter(CALLBACK_DESTROY, (struct callback){.fn = fn, .data = data, .once = true});
}

bool callback_find(uint64_t id, CUhostFn *fn, void **data)
{
	struct callback *c = handle_get(&callbacks()->handles, id, CALLBACK_HOST);

	if (!c)
		return false;
	*fn = c->fn;
	*data = c->data;
	handle_put(&callbacks()->handles, id);
	return true;
}

bool callback_forget(uint64_t id)
{
	for (int k = CALLBACK_HOST; k <= CALLBACK_DESTROY; k++)
		if (handle_close(&callbacks()->handles, id, k))
			return true;
	return false;
}

/* ---- the calls ---- */

bool callbacks_used(void)
{
	bool used;

	pthread_mutex_lock(&callbacks()->lock);
	used = callbacks()->started != CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_unlock(&callbacks()->lock);
	return used;
}

bool callbacks_running(const struct client *c)
{
	return atomic_load(&c->session->callbacks.running);
}

bool callbacks_pending(void)
{
	return atomic_load(&callbacks()->pending) || atomic_load(&callbacks()->in_graphs);
}

static CUresult callback_post_call(struct stream *s, struct wire_host_call what, bool counts)
{
	struct lane *lane = call_lane();
	struct wire_host_call *a = what.id ? call_reserve(lane, sizeof *a) : NULL;
	CUresult r;

	if (!a)
		return what.id ? client_lost() : CUDA_ERROR_OUT_OF_MEMORY;
	if (counts)
		atomic_fetch_add(&callbacks()->pending, 1);
	*a = what;
	a->stream = s->id;
	r = call_send(lane, WIRE_HOST_CALL, sizeof *a, NULL, 0);
	stream_note_posted(s);
	return r;
}

CUresult callback_post(struct stream *s, CUhostFn fn, void *data, struct piece up, struct piece down)
{
	struct callback c = {.fn = fn, .data = data, .once = true, .reads = up.size != 0, .up = up, .gone = free};
	struct wire_host_call a = {.kind = WIRE_EVENT_HOST, .offset = down.offset, .size = down.size};
	CUresult r = callbacks_start();

	a.id = r ? 0 : callback_enter(CALLBACK_HOST, c);
	if (!a.id) {
		free(data);
		return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
	}
	return callback_post_call(s, a, !c.reads);
}

CUresult remote_cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *data)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	if (!s)
		return r;
	r = callbacks_start();
	if (r)
		return r;
	return callback_post_call(s,
		(struct wire_host_call){.id = callback_host(fn, data, !s->capturing), .kind = WIRE_EVENT_HOST},
		!s->capturing);
}

CUresult remote_cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned int flags)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);
	struct callback c = {.callback = callback, .data = data, .stream = handle, .once = true};

	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!s)
		return r;
	r = callbacks_start();
	return r ? r
		 : callback_post_call(s,
			   (struct wire_host_call){
				   .id = callback_enter(CALLBACK_STREAM, c), .kind = WIRE_EVENT_CALLBACK},
			   !s->capturing);
}

CUresult user_object_create(
	CUuserObject *object, void *ptr, CUhostFn destroy, unsigned count, unsigned flags, bool *destroyed)
{
	struct wire_object a = {.count = count, .flags = flags};
	uint64_t number;
	CUresult r;

	*destroyed = false;
	r = callbacks_start();
	if (r)
		return r;
	a.id = callback_destructor(destroy, ptr);
	if (!a.id)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = call_sync(WIRE_OBJECT, &a, sizeof a, NULL, 0, &(struct wire_piece){&number, sizeof number}, 1);
	if (r)
		*destroyed = !callback_forget(a.id);
	else
		*object = (CUuserObject)(uintptr_t)number;
	return r;
}

CUresult remote_cuUserObjectCreate(
	CUuserObject *object, void *ptr, CUhostFn destroy, unsigned int count, unsigned int flags)
{
	bool destroyed;

	return object && destroy ? user_object_create(object, ptr, destroy, count, flags, &destroyed)
				 : CUDA_ERROR_INVALID_VALUE;
}
