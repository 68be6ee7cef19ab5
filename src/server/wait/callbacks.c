/* Runs host functions, callbacks and destructors in the client. */
#include "server/wait/callbacks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include "server/code/code.h"
#include "server/copy/copy.h"
#include "server/quota/account.h"
#include "server/session/pump.h"
#include "util/futex.h"

#define LINK_CHECK_NS 100000000 /* a broken link does not wake these waits: look at it this often */

struct callbacks {
	struct session *session;
	struct lane *lane;
	uint32_t *words; /* one for each slot: in the client's memory, or `own`, which callback_returned() sets */
	uint32_t own[WIRE_SLOTS];
	pthread_mutex_t lock; /* the lane and the slots */
	pthread_cond_t slot_freed;
	bool busy[WIRE_SLOTS];
	uint32_t value[WIRE_SLOTS];
};

void serve_listen(const struct cuda_ops *ops, struct msg *m)
{
	struct session *s = m->session;
	struct callbacks *c;
	size_t room;
	uint8_t *base = bulk_base(s->link, BULK_UP, &room);

	(void)ops;
	m->error = CUDA_SUCCESS;
	if (m->frame.npieces != 1 || m->frame.pieces[0].size < WIRE_SLOTS * sizeof *c->words ||
		m->frame.pieces[0].offset % sizeof *c->words)
		m->broken = true;
	if (msg_bad(m))
		return;
	c = s->callbacks || !pump_prepare(s, true, s->mirrors.used) ? NULL : calloc(1, sizeof *c);
	if (!c) {
		msg_result(m, s->callbacks ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY);
		return;
	}
	c->session = s;
	c->lane = m->frame.lane;
	c->words = link_peer(s->link)->local ? (uint32_t *)(base + m->frame.pieces[0].offset) : c->own;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->slot_freed, NULL);
	s->callbacks_new = c;
}

void callbacks_start(struct session *s)
{
	if (s->callbacks_new)
		s->callbacks = s->callbacks_new;
	s->callbacks_new = NULL;
}

bool callbacks_use_lane(struct session *s, const struct lane *lane)
{
	const struct callbacks *c = s->callbacks;

	return c && c->lane == lane;
}

bool callbacks_awaited(struct session *s)
{
	return atomic_load(&s->callbacks_awaited) != 0;
}

void callback_returned(struct session *s, const struct frame *f)
{
	struct callbacks *c = s->callbacks;
	struct wire_called a;

	if (!c || f->size < sizeof(struct wire_request) + sizeof a)
		return;
	memcpy(&a, (const uint8_t *)f->payload + sizeof(struct wire_request), sizeof a);
	if (a.slot >= WIRE_SLOTS)
		return;
	__atomic_store_n(&c->words[a.slot], a.value, __ATOMIC_RELEASE);
	futex_wake_shared(&c->words[a.slot]);
}

void serve_called(const struct cuda_ops *ops, struct msg *m)
{
	(void)ops;
	callback_returned(m->session, &m->frame);
	m->result = CUDA_SUCCESS;
}

/* Lock held; waits for a free slot. */
static unsigned slot_take(struct callbacks *c, uint32_t *value)
{
	unsigned i;

	for (;;) {
		for (i = 0; i < WIRE_SLOTS && c->busy[i]; i++)
			;
		if (i < WIRE_SLOTS)
			break;
		pthread_cond_wait(&c->slot_freed, &c->lock);
	}
	c->busy[i] = true;
	if (!++c->value[i])
		c->value[i] = 1;
	*value = c->value[i];
	return i;
}

/* Lock held. */
static int event_send(
	struct callbacks *c, const struct wire_event *v, const void *text, size_t size, const struct piece *piece)
{
	void *room;
	int r = lane_reply_reserve(c->lane, sizeof *v + size, &room);

	if (r)
		return r;
	memcpy(room, v, sizeof *v);
	if (size)
		memcpy((uint8_t *)room + sizeof *v, text, size);
	return lane_reply(c->lane, WIRE_LISTEN, 0, sizeof *v + size, piece, piece != NULL);
}

static void slot_wait(struct callbacks *c, unsigned slot, uint32_t value)
{
	uint32_t now;

	for (int spin = 0; spin < 2000; spin++)
		if (__atomic_load_n(&c->words[slot], __ATOMIC_ACQUIRE) == value)
			return;
	while ((now = __atomic_load_n(&c->words[slot], __ATOMIC_ACQUIRE)) != value) {
		if (link_error(c->session->link, NULL))
			return;
		futex_wait_shared(&c->words[slot], now, LINK_CHECK_NS);
	}
}

/* Sends the event and waits until the client has handled it. */
static void event_run(
	struct callbacks *c, struct wire_event *v, const void *text, size_t size, const struct piece *piece)
{
	pthread_mutex_lock(&c->lock);
	v->slot = slot_take(c, &v->value);
	int r = event_send(c, v, text, size, piece);
	pthread_mutex_unlock(&c->lock);
	atomic_fetch_add(&c->session->callbacks_awaited, 1);
	if (!r)
		slot_wait(c, v->slot, v->value);
	atomic_fetch_sub(&c->session->callbacks_awaited, 1);
	pthread_mutex_lock(&c->lock);
	c->busy[v->slot] = false;
	pthread_cond_signal(&c->slot_freed);
	pthread_mutex_unlock(&c->lock);
}

/* An application's function may read what the device has written: mirrors first. */
static void application_function_run(struct wire_event v)
{
	struct session *s = worker_session;

	if (!s->callbacks)
		return;
	mirrors_announce(s);
	event_run(s->callbacks, &v, NULL, 0, NULL);
}

void callback_host_function(void *id)
{
	application_function_run((struct wire_event){.kind = WIRE_EVENT_HOST, .id = (uintptr_t)id});
}

struct callback_piece {
	uint64_t id;
	struct piece piece;
};

struct callback_piece *callback_piece_create(struct msg *m, uint64_t id, uint64_t offset, uint64_t size)
{
	struct callback_piece *p;
	size_t room;

	bulk_base(m->session->link, BULK_DOWN, &room);
	if (offset > room || size > room - offset)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (m->error || m->broken)
		return NULL;
	p = malloc(sizeof *p);
	if (p)
		*p = (struct callback_piece){id, {offset, size}};
	else
		m->error = CUDA_ERROR_OUT_OF_MEMORY;
	return p;
}

void callback_host_function_piece(void *piece)
{
	const struct callback_piece *p = piece;
	struct wire_event v = {.kind = WIRE_EVENT_HOST, .id = p->id};

	if (worker_session->callbacks)
		event_run(worker_session->callbacks, &v, NULL, 0, &p->piece);
}

/* A stream runs its host function once, unlike a graph. */
static void host_function_piece_once(void *piece)
{
	callback_host_function_piece(piece);
	free(piece);
}

void callback_stream(CUstream stream, CUresult status, void *id)
{
	(void)stream; /* the client knows which */
	application_function_run(
		(struct wire_event){.kind = WIRE_EVENT_CALLBACK, .status = status, .id = (uintptr_t)id});
}

void callback_destructor(void *id)
{
	struct wire_event v = {.kind = WIRE_EVENT_DESTROY, .id = (uintptr_t)id};
	struct callbacks *c = worker_session->callbacks;

	account_objects(worker_session->account, -1);
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	event_send(c, &v, NULL, 0, NULL);
	pthread_mutex_unlock(&c->lock);
}

void callback_print(struct session *s, bool errors, const void *text, size_t size)
{
	struct wire_event v = {.kind = errors ? WIRE_EVENT_ERRORS : WIRE_EVENT_OUTPUT};

	if (s->callbacks)
		event_run(s->callbacks, &v, text, size, NULL);
}

static void host_function_piece_launch(
	const struct cuda_ops *ops, struct msg *m, CUstream stream, const struct wire_host_call *a)
{
	struct callback_piece *p;

	copy_not_captured(ops, m, stream); /* a graph would run it more than once */
	p = m->error ? NULL : callback_piece_create(m, a->id, a->offset, a->size);
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuLaunchHostFunc(stream, host_function_piece_once, p));
	if (m->result)
		free(p);
}

void serve_host_call(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_host_call a;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	if (!m->session->callbacks)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	if (a.kind == WIRE_EVENT_HOST && a.size)
		host_function_piece_launch(ops, m, stream, &a);
	else if (a.kind == WIRE_EVENT_HOST)
		msg_result(m, ops->cuLaunchHostFunc(stream, callback_host_function, (void *)(uintptr_t)a.id));
	else
		msg_result(m, ops->cuStreamAddCallback(stream, callback_stream, (void *)(uintptr_t)a.id, a.flags));
}

void serve_object(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_object a;
	CUuserObject object;

	m->error = CUDA_SUCCESS;
	msg_args(m, &a, sizeof a);
	uint64_t *out = msg_out(m, true, sizeof *out);
	if (!m->session->callbacks)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	msg_result(m, ops->cuUserObjectCreate(&object, (void *)(uintptr_t)a.id, callback_destructor, a.count, a.flags));
	if (m->result)
		return;
	account_objects(m->session->account, 1);
	*out = handles_give(m->session->handles, HANDLE_CUuserObject, object);
}
