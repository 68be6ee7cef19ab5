/* Telling the client that the device has come to here. */
#include "server/msg.h"
#include "server/wait.h"

void session_word_now(struct session *s, uint32_t word, uint32_t value)
{
	word_set(s->link, word, value, NULL, 0);
}

static bool known_word(struct session *s, uint32_t word)
{
	size_t size;

	word_base(s->link, &size);
	return word && word < size / WORD_STRIDE;
}

void session_word(struct session *s, CUstream stream, uint32_t word, uint32_t value, const struct piece *piece)
{
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;

	if (!known_word(s, word))
		return;
	if (s->words) /* the device writes it: nobody here has to wait */
		r = s->ops->cuStreamWriteValue32_v2(stream, s->words + word * WORD_STRIDE, value, 0);
	if (r)
		r = waiters_stream(s->waiters, stream, word, value, piece);
	if (!r)
		return;
	session_late(s, r);
	session_word_now(s, word, value);
}

/* A stream of the current context that follows an event, or NULL. */
static CUstream after_event(struct session *s, CUevent event)
{
	if (s->follower_context != s->context) { /* the old one has gone, or goes, with its context */
		if (s->ops->cuStreamCreate(&s->follower, CU_STREAM_NON_BLOCKING))
			return NULL;
		s->follower_context = s->context;
	}
	return s->ops->cuStreamWaitEvent(s->follower, event, 0) ? NULL : s->follower;
}

void serve_sync(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_sync a;
	CUstream stream = NULL;

	(void)ops;
	msg_args(m, &a, sizeof a);
	if (a.kind == WIRE_SYNC_STREAM)
		stream = msg_handle(m, HANDLE_CUstream, a.what);
	else if (a.kind == WIRE_SYNC_EVENT)
		stream = after_event(m->session, msg_handle(m, HANDLE_CUevent, a.what));
	else
		m->broken = true;
	if (m->broken)
		return;
	if (msg_bad(m))
		session_late(m->session, m->error), session_word_now(m->session, a.word, a.value);
	else
		session_word(m->session, stream, a.word, a.value, NULL);
	m->result = CUDA_SUCCESS; /* it has been told */
}

/* The client has gone to sleep on a word that the device will write: somebody must wake it. */
void serve_wake(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_sync a;
	CUresult r;

	(void)ops;
	msg_args(m, &a, sizeof a);
	CUstream stream = a.kind == WIRE_SYNC_STREAM ? msg_handle(m, HANDLE_CUstream, a.what) : m->session->follower;
	if (msg_bad(m) || !known_word(m->session, a.word))
		return;
	r = waiters_stream(m->session->waiters, stream, a.word, a.value, NULL);
	if (r) {
		session_late(m->session, r);
		session_word_now(m->session, a.word, a.value);
	}
}
