/*
 * What the server asks us to do: host functions, callbacks, destructors, showing what kernels printed.
 *
 * One thread waits for it on a lane of its own, and runs one thing at a time.  It is started with the
 * first thing that may call back.  The server names what is to be run by a number we gave it, which is
 * looked up like any other handle.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/wait/wait.h"
#include "backend/remote/session/callbacks.h"
#include "backend/remote/memory/mirror.h"
#include "backend/remote/session/state.h"
#include "util/futex.h"
#include "util/handle.h"
#include "util/tsan_order.h"

enum kind { HOST = 1, CALLBACK, DESTROY };

struct callback {
	struct map_node node; /* of those that stay: by what they are */
	struct callback *same;
	uint64_t id; /* of those that stay */
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

/* Over TCP the bytes are in place when the server hears of it; as what was written to memory that is in two places. */
static void done(const struct wire_event *v, struct piece up, bool behind)
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

static struct piece run_callback(const struct wire_event *v, enum kind kind, bool *pushed)
{
	struct callback *c = handle_get(&callbacks()->handles, v->id, kind);
	struct piece up = {0};
	CUhostFn fn;

	if (!c)
		return up;
	if (c->once && !handle_close(&callbacks()->handles, v->id, kind)) { /* somebody has just forgotten it */
		handle_put(&callbacks()->handles, v->id);
		return up;
	}
	fn = c->fn;
	up = c->up;
	ORDER_AFTER(posted);
	mirror_pull();
	if (kind == CALLBACK)
		c->callback(c->stream, (CUresult)v->status, c->data);
	else
		fn(c->data);
	*pushed = mirror_push_on(callbacks()->lane);
	if (c->once && kind != DESTROY && !c->reads)
		atomic_fetch_sub(&callbacks()->pending, 1);
	ORDER_BEFORE(called);
	handle_put(&callbacks()->handles, v->id);
	return up;
}

static void take_event(const struct frame *f)
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
		lane_release(callbacks()->lane); /* what runs now may take long */
		if (v.kind == WIRE_EVENT_HOST || v.kind == WIRE_EVENT_CALLBACK || v.kind == WIRE_EVENT_DESTROY)
			up = run_callback(&v,
				v.kind == WIRE_EVENT_HOST       ? HOST
				: v.kind == WIRE_EVENT_CALLBACK ? CALLBACK
								: DESTROY,
				&pushed);
	}
	done(&v, up, pushed);
}

static void *run(void *unused)
{
	static const _Atomic(uint64_t) no_calls = WIRE_CONTEXT_CALLBACK; /* from what we run here */
	struct frame f;

	(void)unused;
	call_context = &no_calls;
	while (!lane_wait_reply(callbacks()->lane, &f, -1)) {
		if (f.size < sizeof(struct wire_event)) {
			client_reject_reply(); /* or whoever waits for a function to run would wait for ever */
			break;
		}
		take_event(&f);
	}
	return NULL;
}

static CUresult start(void)
{
	struct frame reply;
	sigset_t all, old;
	pthread_t thread;
	size_t room;
	CUresult r;

	if (lane_open(client->link, &callbacks()->lane) ||
		bulk_alloc(client->link, BULK_UP, WIRE_SLOTS * sizeof(uint32_t), &callbacks()->done_words))
		return CUDA_ERROR_OUT_OF_MEMORY;
	memset((char *)bulk_base(client->link, BULK_UP, &room) + callbacks()->done_words.offset, 0,
		callbacks()->done_words.size);
	if (!call_reserve(callbacks()->lane, 0))
		return client_lost();
	r = call_ask(callbacks()->lane, WIRE_LISTEN, 0, &callbacks()->done_words, 1, &reply);
	call_release_reply(callbacks()->lane);
	if (r)
		return r;
	sigfillset(&all); /* signals are for the application's own threads */
	pthread_sigmask(SIG_BLOCK, &all, &old);
	r = pthread_create(&thread, NULL, run, NULL) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!r)
		pthread_detach(thread);
	return r;
}

CUresult callbacks_start(void)
{
	CUresult r;

	pthread_mutex_lock(&callbacks()->lock);
	if (callbacks()->started == CUDA_ERROR_NOT_INITIALIZED)
		callbacks()->started = start();
	r = callbacks()->started;
	pthread_mutex_unlock(&callbacks()->lock);
	return r;
}

/* ---- numbers for what may be called ---- */

static void release(void *callback)
{
	struct callback *c = callback;

	if (c->gone)
		c->gone(c->data);
	free(c);
}

/* Its number; 0: no memory.  It may be called and gone before this returns. */
static uint64_t enter(enum kind kind, struct callback what)
{
	struct callback *c = malloc(sizeof *c);
	uint64_t id;

	if (!c)
		return 0;
	*c = what;
	id = handle_create(&callbacks()->handles, kind, c, release);
	if (!id)
		free(c);
	return id;
}

/* A graph's host functions stay: nobody tells when the last copy of the graph is gone. */
static uint64_t make_staying(CUhostFn fn, void *data)
{
	uint64_t key = (uintptr_t)fn * 0x9e3779b97f4a7c15ull ^ (uintptr_t)data;
	struct callback *c, *first;
	uint64_t id;

	pthread_mutex_lock(&callbacks()->lock);
	first = (struct callback *)map_find(&callbacks()->host_functions, key);
	for (c = first; c && (c->fn != fn || c->data != data); c = c->same)
		;
	id = c ? c->id : enter(HOST, (struct callback){.fn = fn, .data = data});
	if (!c && id) {
		c = handle_peek(&callbacks()->handles, id, HOST); /* it stays */
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
	return once ? enter(HOST, (struct callback){.fn = fn, .data = data, .once = true}) : make_staying(fn, data);
}

uint64_t callback_create(CUhostFn fn, void *data, const struct piece *up, void (*gone)(void *data))
{
	return enter(HOST, (struct callback){.fn = fn, .data = data, .up = up ? *up : (struct piece){0}, .gone = gone});
}

uint64_t callback_destructor(CUhostFn fn, void *data)
{
	return enter(DESTROY, (struct callback){.fn = fn, .data = data, .once = true});
}

bool callback_find(uint64_t id, CUhostFn *fn, void **data)
{
	struct callback *c = handle_get(&callbacks()->handles, id, HOST);

	if (!c)
		return false;
	*fn = c->fn;
	*data = c->data;
	handle_put(&callbacks()->handles, id);
	return true;
}

bool callback_forget(uint64_t id)
{
	for (int k = HOST; k <= DESTROY; k++)
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

bool callbacks_pending(void)
{
	return atomic_load(&callbacks()->pending) || atomic_load(&callbacks()->in_graphs);
}

static CUresult post(struct stream *s, struct wire_host_call what, bool counts)
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

	a.id = r ? 0 : enter(HOST, c);
	if (!a.id) {
		free(data);
		return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
	}
	return post(s, a, !c.reads);
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
	return post(s, (struct wire_host_call){.id = callback_host(fn, data, !s->capturing), .kind = WIRE_EVENT_HOST},
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
		 : post(s, (struct wire_host_call){.id = enter(CALLBACK, c), .kind = WIRE_EVENT_CALLBACK},
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
