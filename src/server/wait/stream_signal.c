/* Signals the client when a stream or an event reaches a point. */
#include "server/wait/stream_signal.h"

#include "server/session/message.h"
#include "server/wait/wait_threads.h"

void signal_now(struct session *s, uint32_t word, uint32_t value)
{
	word_raise(s->link, word, value, NULL, 0);
}

bool signal_word_valid(struct session *s, uint32_t word)
{
	size_t size;

	word_base(s->link, &size);
	return word && word < size / WORD_STRIDE;
}

/* A failure of the signal itself must not leave the client waiting. */
static void signal_failed(struct session *s, uint32_t word, uint32_t value, CUresult r)
{
	async_error_report(s, s->context, r);
	signal_now(s, word, value);
}

void signal_stream(struct session *s, CUstream stream, uint32_t word, uint32_t value, const struct piece *piece)
{
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;
	bool host_waits; /* kernel output and freed pool memory need a wait in the driver */

	if (!signal_word_valid(s, word))
		return;
	host_waits = kernel_output_wanted(s, stream) || s->pool_freed;
	if (s->shared.words && !host_waits)
		r = s->ops->cuStreamWriteValue32_v2(stream, s->shared.words + word * WORD_STRIDE, value, 0);
	s->pool_freed = false;
	if (r)
		r = wait_threads_add(s->wait_threads, stream, word, value, piece);
	if (r)
		signal_failed(s, word, value, r);
}

/* ---- Events ---- */

/* Followers in other contexts go on: a client that sleeps on one of their words finds the follower by its word. */
void signal_context_ended(struct session *s, CUcontext context)
{
	for (int i = 0; i < FOLLOWERS; i++) {
		struct follower *f = &s->followers.slot[i];
		if (!context || f->context != context)
			continue;
		if (!word_reached(s->link, f->word, f->value))
			signal_now(s, f->word, f->value);
		*f = (struct follower){0};
	}
}

static struct follower *follower_take_idle(struct session *s)
{
	for (int i = 0; i < FOLLOWERS; i++) {
		struct follower *f = &s->followers.slot[i];
		if (!f->context) {
			if (s->ops->cuStreamCreate(&f->stream, CU_STREAM_NON_BLOCKING))
				return NULL;
			f->context = s->context;
			return f;
		}
		if (f->context == s->context && word_reached(s->link, f->word, f->value))
			return f;
	}
	return NULL;
}

/* Every follower is busy: a stream for this event alone, and a thread that waits for the stream. */
static CUresult signal_event_by_thread(struct session *s, CUevent event, uint32_t word, uint32_t value)
{
	CUstream stream;
	CUresult r = s->ops->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);

	if (r)
		return r;
	r = s->ops->cuStreamWaitEvent(stream, event, 0);
	if (!r)
		r = wait_threads_add(s->wait_threads, stream, word, value, NULL);
	s->ops->cuStreamDestroy_v2(stream); /* the driver still completes its work */
	return r;
}

static CUresult signal_event(struct session *s, CUevent event, uint32_t word, uint32_t value)
{
	struct follower *f = follower_take_idle(s);
	CUresult r;

	if (!f)
		return signal_event_by_thread(s, event, word, value);
	r = s->ops->cuStreamWaitEvent(f->stream, event, 0);
	if (r)
		return r;
	f->word = word;
	f->value = value;
	signal_stream(s, f->stream, word, value, NULL);
	return CUDA_SUCCESS;
}

/* The stream of the follower that will write this signal; NULL: its context may have ended meanwhile. */
static CUstream follower_stream(struct session *s, uint32_t word, uint32_t value)
{
	for (int i = 0; i < FOLLOWERS; i++) {
		const struct follower *f = &s->followers.slot[i];
		if (f->context == s->context && f->word == word && f->value == value)
			return f->stream;
	}
	return NULL;
}

/* ---- Calls ---- */

/* A stream that ended with its context has no work left: waiting for it succeeds at once. */
static bool ended_stream_signalled(struct msg *m, const struct wire_sync *a)
{
	if (a->kind != WIRE_SYNC_STREAM || !handles_ended(m->session->handles, HANDLE_CUstream, a->what))
		return false;
	if (signal_word_valid(m->session, a->word))
		signal_now(m->session, a->word, a->value);
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
	if (ended_stream_signalled(m, &a))
		return;
	if (a.kind == WIRE_SYNC_STREAM)
		stream = msg_handle(m, HANDLE_CUstream, a.what);
	else if (a.kind == WIRE_SYNC_EVENT)
		event = msg_handle(m, HANDLE_CUevent, a.what);
	else
		m->broken = true;
	if (m->broken)
		return;
	if (!signal_word_valid(m->session, a.word))
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (!m->error && a.kind == WIRE_SYNC_EVENT)
		m->error = signal_event(m->session, event, a.word, a.value);
	else if (!m->error)
		signal_stream(m->session, stream, a.word, a.value, NULL);
	if (msg_bad(m)) {
		msg_report_async(m, m->error);
		signal_now(m->session, a.word, a.value);
	}
	m->result = CUDA_SUCCESS; /* the error has been reported */
}

/*
 * The client has gone to sleep on a word that the device will write without waking it: a wait thread must.  If the
 * stream has been destroyed meanwhile, the call that destroyed it has asked for a wake-up already.
 */
/*
 * An event that is recorded in such a stream becomes part of a capture, and looking at the event invalidates the capture.
 * All other errors, such as that of a kernel, are for the event to report.
 */
static bool stream_captured(const struct cuda_ops *ops, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult r = ops->cuStreamIsCapturing(stream, &status);

	return r == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || (!r && status != CU_STREAM_CAPTURE_STATUS_NONE);
}

void serve_wake(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_sync a;
	CUstream stream = NULL;
	bool known = false;
	CUresult r;

	msg_args(m, &a, sizeof a);
	if (ended_stream_signalled(m, &a))
		return;
	if (a.kind == WIRE_SYNC_STREAM) {
		stream = msg_handle(m, HANDLE_CUstream, a.what);
		known = m->error != CUDA_ERROR_INVALID_HANDLE;
	} else {
		stream = follower_stream(m->session, a.word, a.value);
		known = stream != NULL;
	}
	if (m->broken || !signal_word_valid(m->session, a.word))
		return;
	if (!known) { /* the event has completed, or a wait thread will wake the client */
		m->error = CUDA_SUCCESS;
		word_wake(m->session->link, a.word, NULL, 0);
		return;
	}
	if (msg_bad(m))
		return;
	/* The capture has begun after the word's value was posted. */
	if (a.kind == WIRE_SYNC_STREAM && stream_captured(ops, stream)) {
		wait_threads_add_word(m->session->wait_threads, a.word, a.value);
		return;
	}
	r = wait_threads_add(m->session->wait_threads, stream, a.word, a.value, NULL);
	if (r)
		signal_failed(m->session, a.word, a.value, r);
}
