/*
 * What the client does for us: host functions, callbacks, destructors, and showing what kernels printed.
 *
 * The client listens on a lane of its own.  Who needs it done before going on (a thread of the driver's,
 * never the dispatcher) takes a slot, sends the event and waits for the slot's word, which lies in memory
 * that the client writes: it does not come through the dispatcher, which may itself be waiting in the
 * driver for this very function.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "server/code/code.h"
#include "server/copy/copy.h"
#include "server/copy/mirror.h"
#include "util/futex.h"

#define LOOK_NS 100000000

struct events {
	struct session *session;
	struct lane *lane;
	uint32_t *words; /* the client's, or our own that events_called sets; one a slot */
	uint32_t own[WIRE_SLOTS];
	pthread_mutex_t lock;
	pthread_cond_t freed;
	bool busy[WIRE_SLOTS];
	uint32_t value[WIRE_SLOTS];
};

/* The driver calls back with one word only, and there is one session a process. */
static _Atomic(struct events *) the_events;
static atomic_uint expected; /* events that somebody waits for */

void serve_listen(const struct cuda_ops *ops, struct msg *m)
{
	struct session *s = m->session;
	struct events *e;
	size_t room;
	uint8_t *base = bulk_base(s->link, BULK_UP, &room);

	(void)ops;
	m->error = CUDA_SUCCESS;
	if (m->frame.npieces != 1 || m->frame.pieces[0].size < WIRE_SLOTS * sizeof *e->words ||
		m->frame.pieces[0].offset % sizeof *e->words)
		m->broken = true;
	if (msg_bad(m))
		return;
	e = s->events ? NULL : calloc(1, sizeof *e);
	if (!e) {
		msg_result(m, s->events ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	e->session = s;
	e->lane = m->frame.lane;
	e->words = link_peer(s->link)->local ? (uint32_t *)(base + m->frame.pieces[0].offset) : e->own;
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->freed, NULL);
	s->events = the_events = e;
}

bool events_expected(void)
{
	return atomic_load(&expected) != 0;
}

void events_called(const struct frame *f)
{
	struct events *e = the_events;
	struct wire_called a;

	if (!e || f->size < sizeof(struct wire_request) + sizeof a)
		return;
	memcpy(&a, (const uint8_t *)f->payload + sizeof(struct wire_request), sizeof a);
	if (a.slot >= WIRE_SLOTS)
		return;
	__atomic_store_n(&e->words[a.slot], a.value, __ATOMIC_RELEASE);
	futex_wake_shared(&e->words[a.slot]);
}

void serve_called(const struct cuda_ops *ops, struct msg *m)
{
	(void)ops;
	events_called(&m->frame);
	m->result = CUDA_SUCCESS;
}

static unsigned take_slot(struct events *e, uint32_t *value)
{
	unsigned i;

	for (;;) {
		for (i = 0; i < WIRE_SLOTS && e->busy[i]; i++)
			;
		if (i < WIRE_SLOTS)
			break;
		pthread_cond_wait(&e->freed, &e->lock);
	}
	e->busy[i] = true;
	if (!++e->value[i])
		e->value[i] = 1;
	*value = e->value[i];
	return i;
}

static int send_event(
	struct events *e, const struct wire_event *v, const void *text, size_t size, const struct piece *piece)
{
	void *room;
	int r = lane_reply_reserve(e->lane, sizeof *v + size, &room);

	if (r)
		return r;
	memcpy(room, v, sizeof *v);
	if (size)
		memcpy((uint8_t *)room + sizeof *v, text, size);
	return lane_reply(e->lane, WIRE_LISTEN, 0, sizeof *v + size, piece, piece != NULL);
}

static void wait_word(struct events *e, unsigned slot, uint32_t value)
{
	uint32_t now;

	for (int spin = 0; spin < 2000; spin++)
		if (__atomic_load_n(&e->words[slot], __ATOMIC_ACQUIRE) == value)
			return;
	while ((now = __atomic_load_n(&e->words[slot], __ATOMIC_ACQUIRE)) != value) {
		if (link_error(e->session->link, NULL))
			return;
		futex_wait_shared(
			&e->words[slot], now, LOOK_NS); /* the link may break meanwhile, and wakes nobody here */
	}
}

static void do_there(struct events *e, struct wire_event *v, const void *text, size_t size, const struct piece *piece)
{
	pthread_mutex_lock(&e->lock);
	v->slot = take_slot(e, &v->value);
	int r = send_event(e, v, text, size, piece);
	pthread_mutex_unlock(&e->lock);
	atomic_fetch_add(&expected, 1);
	if (!r)
		wait_word(e, v->slot, v->value);
	atomic_fetch_sub(&expected, 1);
	pthread_mutex_lock(&e->lock);
	e->busy[v->slot] = false;
	pthread_cond_signal(&e->freed);
	pthread_mutex_unlock(&e->lock);
}

/* A function of the application's: it may read what the device has written before. */
static void run_there(struct wire_event v)
{
	if (!the_events)
		return;
	mirrors_tell(the_events->session);
	do_there(the_events, &v, NULL, 0, NULL);
}

void events_host(void *id)
{
	run_there((struct wire_event){.kind = WIRE_EVENT_HOST, .id = (uintptr_t)id});
}

struct events_given {
	uint64_t id;
	struct piece piece;
};

struct events_given *events_give(struct msg *m, uint64_t id, uint64_t offset, uint64_t size)
{
	struct events_given *g;
	size_t room;

	bulk_base(m->session->link, BULK_DOWN, &room);
	if (offset > room || size > room - offset)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (m->error || m->broken)
		return NULL;
	g = malloc(sizeof *g);
	if (g)
		*g = (struct events_given){id, {offset, size}};
	else
		m->error = CUDA_ERROR_OUT_OF_MEMORY;
	return g;
}

void events_host_piece(void *given)
{
	const struct events_given *g = given;
	struct wire_event v = {.kind = WIRE_EVENT_HOST, .id = g->id};

	if (the_events)
		do_there(the_events, &v, NULL, 0, &g->piece);
}

/* In a stream it is run one time. */
static void host_piece_once(void *given)
{
	events_host_piece(given);
	free(given);
}

void events_callback(CUstream stream, CUresult status, void *id)
{
	(void)stream; /* the client knows which */
	run_there((struct wire_event){.kind = WIRE_EVENT_CALLBACK, .status = status, .id = (uintptr_t)id});
}

void events_destroy(void *id)
{
	struct wire_event v = {.kind = WIRE_EVENT_DESTROY, .id = (uintptr_t)id};
	struct events *e = the_events;

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	send_event(e, &v, NULL, 0, NULL);
	pthread_mutex_unlock(&e->lock);
}

void events_text(struct session *s, bool errors, const void *text, size_t size)
{
	struct wire_event v = {.kind = errors ? WIRE_EVENT_ERRORS : WIRE_EVENT_OUTPUT};

	if (s->events)
		do_there(s->events, &v, text, size, NULL);
}

static void host_with_piece(const struct cuda_ops *ops, struct msg *m, CUstream stream, const struct wire_host_call *a)
{
	struct events_given *g;

	copy_not_captured(ops, m, stream); /* or it would be run again */
	g = m->error ? NULL : events_give(m, a->id, a->offset, a->size);
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuLaunchHostFunc(stream, host_piece_once, g));
	if (m->result)
		free(g);
}

void serve_host_call(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_host_call a;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	if (!m->session->events)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	if (a.kind == WIRE_EVENT_HOST && a.size)
		host_with_piece(ops, m, stream, &a);
	else if (a.kind == WIRE_EVENT_HOST)
		msg_result(m, ops->cuLaunchHostFunc(stream, events_host, (void *)(uintptr_t)a.id));
	else
		msg_result(m, ops->cuStreamAddCallback(stream, events_callback, (void *)(uintptr_t)a.id, a.flags));
}

void serve_object(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_object a;
	CUuserObject object;

	m->error = CUDA_SUCCESS;
	msg_args(m, &a, sizeof a);
	uint64_t *out = msg_out(m, true, sizeof *out);
	if (!m->session->events)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuUserObjectCreate(&object, (void *)(uintptr_t)a.id, events_destroy, a.count, a.flags));
	if (!m->result)
		*out = handles_give(m->session->handles, HANDLE_CUuserObject, object);
}
