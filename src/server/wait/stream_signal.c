/* Telling the client that the device has come to here. */
#include "server/code/code.h"
#include "server/session/message.h"
#include "server/wait/wait_threads.h"

void session_word_now(struct session *s, uint32_t word, uint32_t value)
{
	word_raise(s->link, word, value, NULL, 0);
}

bool session_has_word(struct session *s, uint32_t word)
{
	size_t size;

	word_base(s->link, &size);
	return word && word < size / WORD_STRIDE;
}

void session_word(struct session *s, CUstream stream, uint32_t word, uint32_t value, const struct piece *piece)
{
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;
	bool look;

	if (!session_has_word(s, word))
		return;
	look = output_look(s, stream) || s->freed;
	if (s->words && !look) /* the device writes it: nobody here has to wait */
		r = s->ops->cuStreamWriteValue32_v2(stream, s->words + word * WORD_STRIDE, value, 0);
	s->freed = false;
	if (r)
		r = waiters_stream(s->waiters, stream, word, value, piece);
	if (!r)
		return;
	session_late(s, s->context, r);
	session_word_now(s, word, value);
}

/*
 * Streams that follow events, so that a word is written when an event is done and not later.  One that still
 * waits is not used for another event: that could be done first.
 */
#define FOLLOWERS 32

static struct follower {
	struct session *session;
	CUcontext context; /* NULL: not yet made */
	CUstream stream;
	uint32_t word, value; /* what it writes last */
} followers[FOLLOWERS];

/* Those in other contexts go on: who sleeps until one of them has written finds it by its word. */
void session_context_gone(CUcontext context)
{
	session_unshared(context);
	for (int i = 0; i < FOLLOWERS; i++) {
		struct follower *f = &followers[i];
		if (!context || f->context != context)
			continue;
		if (!word_reached(f->session->link, f->word, f->value))
			session_word_now(f->session, f->word, f->value); /* nothing will happen there any more */
		*f = (struct follower){0};
	}
}

static struct follower *idle_follower(struct session *s)
{
	for (int i = 0; i < FOLLOWERS; i++) {
		struct follower *f = &followers[i];
		if (!f->context) {
			if (s->ops->cuStreamCreate(&f->stream, CU_STREAM_NON_BLOCKING))
				return NULL;
			f->session = s;
			f->context = s->context;
			return f;
		}
		if (f->context == s->context && word_reached(s->link, f->word, f->value))
			return f;
	}
	return NULL;
}

/* All of them wait for something: a stream for this event alone, and a thread that waits for the stream. */
static CUresult alone(struct session *s, CUevent event, uint32_t word, uint32_t value)
{
	CUstream stream;
	CUresult r = s->ops->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);

	if (r)
		return r;
	r = s->ops->cuStreamWaitEvent(stream, event, 0);
	if (!r)
		r = waiters_stream(s->waiters, stream, word, value, NULL);
	s->ops->cuStreamDestroy_v2(stream); /* what is in it still happens */
	return r;
}

/* Sets the word when the event is done. */
static CUresult after_event(struct session *s, CUevent event, uint32_t word, uint32_t value)
{
	struct follower *f = idle_follower(s);
	CUresult r;

	if (!f)
		return alone(s, event, word, value);
	r = s->ops->cuStreamWaitEvent(f->stream, event, 0);
	if (r)
		return r;
	f->word = word;
	f->value = value;
	session_word(s, f->stream, word, value, NULL);
	return CUDA_SUCCESS;
}

/* The one that will write it; its context may have gone meanwhile. */
static CUstream follower_of(struct session *s, uint32_t word, uint32_t value)
{
	for (int i = 0; i < FOLLOWERS; i++)
		if (followers[i].context == s->context && followers[i].word == word && followers[i].value == value)
			return followers[i].stream;
	return NULL;
}

/* Somebody waits for a stream that has ended with its context: nothing will happen there, and nothing has failed. */
static bool ended(struct msg *m, const struct wire_sync *a)
{
	if (a->kind != WIRE_SYNC_STREAM || !handles_ended(m->session->handles, HANDLE_CUstream, a->what))
		return false;
	if (session_has_word(m->session, a->word))
		session_word_now(m->session, a->word, a->value);
	m->result = CUDA_SUCCESS;
	return true;
}

void serve_sync(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_sync a;
	CUstream stream = NULL;
	CUevent event = NULL;

	(void)ops;
	msg_args(m, &a, sizeof a);
	if (ended(m, &a))
		return;
	if (a.kind == WIRE_SYNC_STREAM)
		stream = msg_handle(m, HANDLE_CUstream, a.what);
	else if (a.kind == WIRE_SYNC_EVENT)
		event = msg_handle(m, HANDLE_CUevent, a.what);
	else
		m->broken = true;
	if (m->broken)
		return;
	if (!session_has_word(m->session, a.word))
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (!m->error && a.kind == WIRE_SYNC_EVENT)
		m->error = after_event(m->session, event, a.word, a.value);
	else if (!m->error)
		session_word(m->session, stream, a.word, a.value, NULL);
	if (msg_bad(m))
		msg_late(m, m->error), session_word_now(m->session, a.word, a.value);
	m->result = CUDA_SUCCESS; /* it has been told */
}

/*
 * The client has gone to sleep on a word that the device will write: somebody must wake it.  If the stream has
 * been destroyed meanwhile, who did that has asked for it.
 */
void serve_wake(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_sync a;
	CUstream stream = NULL;
	bool known = false;
	CUresult r;

	(void)ops;
	msg_args(m, &a, sizeof a);
	if (ended(m, &a))
		return;
	if (a.kind == WIRE_SYNC_STREAM) {
		stream = msg_handle(m, HANDLE_CUstream, a.what);
		known = m->error != CUDA_ERROR_INVALID_HANDLE;
	} else {
		stream = follower_of(m->session, a.word, a.value);
		known = stream != NULL;
	}
	if (m->broken || !session_has_word(m->session, a.word))
		return;
	if (!known) { /* an event: it is done, or a thread waits for it and will say so */
		m->error = CUDA_SUCCESS;
		word_wake(m->session->link, a.word, NULL, 0);
		return;
	}
	if (msg_bad(m))
		return;
	r = waiters_stream(m->session->waiters, stream, a.word, a.value, NULL);
	if (r) {
		session_late(m->session, m->session->context, r);
		session_word_now(m->session, a.word, a.value);
	}
}
