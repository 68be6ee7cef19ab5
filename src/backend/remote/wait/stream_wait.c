/* Waiting for streams: commands posted, commands known to have completed, and the word in between. */
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/hostmem/mirror.h"

/* ---- the stream's word ---- */

void stream_word_lock_next(struct stream *s, uint32_t *value)
{
	pthread_mutex_lock(&s->lock);
	if (!s->signal.word && !word_pool_take(&s->signal))
		s->signal.word = 0;
	*value = ++s->signal.value;
}

void stream_word_lock(struct stream *s)
{
	pthread_mutex_lock(&s->lock);
}

void stream_word_unlock(struct stream *s)
{
	pthread_mutex_unlock(&s->lock);
}

static struct wait_target stream_wait_target(const struct stream *s, uint32_t value)
{
	return (struct wait_target){
		.kind = WIRE_SYNC_STREAM, .handle = s->id, .context = s->ctx->id, .signal = {s->signal.word, value}};
}

CUresult stream_post_signal(struct stream *s, unsigned op, uint32_t value)
{
	struct wait_target t = stream_wait_target(s, value);

	return wait_post(&t, op);
}

CUresult stream_word_wait(struct stream *s, uint32_t value)
{
	struct wait_target t = stream_wait_target(s, value);

	return wait_reached(&t);
}

CUresult stream_word_unlock_wait(struct stream *s, uint32_t value)
{
	struct wait_target t = stream_wait_target(s, value);

	stream_word_unlock(s);
	return wait_reached(&t);
}

CUresult stream_post_with_signal(struct stream *s, unsigned op, const void *args, size_t size, uint32_t *value)
{
	struct lane *lane = call_lane();
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	void *room = NULL;

	stream_word_lock_next(s, value);
	if (s->signal.word) {
		room = call_reserve(lane, size);
		r = client_lost();
	}
	if (room) {
		call_set_context(room, s->ctx->id);
		memcpy(room, args, size);
		*(struct wire_signal *)room = (struct wire_signal){s->signal.word, *value};
		r = call_send(lane, op, size, NULL, 0);
	}
	if (!room)
		--s->signal.value; /* never posted */
	stream_word_unlock(s);
	if (r && room) /* posted, and another call's error came back: the command must not be in flight on return */
		stream_word_wait(s, *value);
	return r;
}

/* ---- posted and completed ---- */

bool stream_idle(struct stream *s)
{
	return atomic_load_explicit(&s->completed, memory_order_acquire) ==
	       atomic_load_explicit(&s->posted, memory_order_relaxed);
}

bool stream_drained(struct stream *s)
{
	struct wire_signal last;

	pthread_mutex_lock(&s->lock);
	last = s->signal;
	pthread_mutex_unlock(&s->lock);
	return !last.word || word_reached(client->link, last.word, last.value) || link_error(client->link, NULL);
}

/* Removes the first n entries.  Lock held. */
static void implied_remove(struct stream *s, unsigned n)
{
	s->nimplied -= n;
	memmove(s->implied, s->implied + n, s->nimplied * sizeof *s->implied);
}

/* Streams for which s has waited have completed what it waited for. */
static void implied_apply(struct stream *s, uint64_t completed)
{
	struct implied_completion reached[IMPLIED_COMPLETIONS];
	unsigned n = 0;

	pthread_mutex_lock(&s->implied_lock);
	while (n < s->nimplied && s->implied[n].at <= completed) {
		reached[n] = s->implied[n];
		n++;
	}
	implied_remove(s, n);
	pthread_mutex_unlock(&s->implied_lock);
	for (unsigned i = 0; i < n; i++)
		stream_note_completed(reached[i].stream, reached[i].posted);
}

void stream_note_completed(struct stream *s, uint64_t posted)
{
	uint64_t completed = atomic_load(&s->completed);

	while (completed < posted && !atomic_compare_exchange_weak(&s->completed, &completed, posted))
		;
	if (s->nimplied)
		implied_apply(s, posted);
}

/* A recycled stream record has completed everything that an old entry says of it. */
void stream_note_waits(struct stream *s, struct stream *other, uint64_t posted)
{
	if (s == other || other->completed >= posted)
		return;
	pthread_mutex_lock(&s->implied_lock);
	if (s->nimplied == IMPLIED_COMPLETIONS)
		implied_remove(s, 1);
	s->implied[s->nimplied++] = (struct implied_completion){s->posted, other, posted};
	pthread_mutex_unlock(&s->implied_lock);
}

void stream_forget_waits(struct stream *s)
{
	pthread_mutex_lock(&s->implied_lock);
	s->nimplied = 0;
	pthread_mutex_unlock(&s->implied_lock);
}

/* The legacy stream also waits for its context's blocking streams. */
static bool stream_predecessors_idle(struct stream *s)
{
	bool idle = stream_idle(s);

	if (s->id || !idle)
		return idle;
	pthread_mutex_lock(&s->ctx->lock);
	list_each(l, &s->ctx->streams)
	{
		struct stream *o = container_of(l, struct stream, link);
		idle &= (o->flags & CU_STREAM_NON_BLOCKING) || stream_idle(o) || (o->destroyed && stream_drained(o));
	}
	pthread_mutex_unlock(&s->ctx->lock);
	return idle;
}

void stream_mark_take(struct stream *s, struct stream_mark *m)
{
	m->posted = atomic_load(&s->posted);
	m->ahead = 0;
	if (s->id)
		return;
	pthread_mutex_lock(&s->ctx->lock);
	list_each(l, &s->ctx->streams)
	{
		struct stream *o = container_of(l, struct stream, link);

		if (o != s && !(o->flags & CU_STREAM_NON_BLOCKING) && !stream_idle(o) && m->ahead < MARK_STREAMS) {
			m->of[m->ahead].stream = o;
			m->of[m->ahead++].posted = atomic_load(&o->posted);
		}
	}
	pthread_mutex_unlock(&s->ctx->lock);
}

void stream_mark_reached(struct stream *s, const struct stream_mark *m)
{
	stream_note_completed(s, m->posted);
	for (unsigned i = 0; i < m->ahead; i++)
		stream_note_completed(m->of[i].stream, m->of[i].posted);
}

/* ---- waiting for a whole stream ---- */

/* The last value is posted already, with a wake-up.  The record may have been recycled meanwhile. */
static CUresult stream_wait_destroyed(struct stream *s)
{
	struct wait_target t = {.wake_posted = true};

	pthread_mutex_lock(&s->lock);
	t.signal = s->signal;
	pthread_mutex_unlock(&s->lock);
	return t.signal.word ? wait_reached(&t) : CUDA_SUCCESS;
}

CUresult stream_synchronize(struct stream *s)
{
	struct stream_mark mark;
	struct wait_target t;
	uint32_t value;
	CUresult r;

	if (s->capturing) /* setting the word would be captured, too */
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	stream_mark_take(s, &mark);
	stream_word_lock_next(s, &value);
	if (s->capturing) { /* another thread has begun to capture meanwhile */
		s->signal.value--;
		stream_word_unlock(s);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	if (s->destroyed) {
		s->signal.value--;
		stream_word_unlock(s);
		r = stream_wait_destroyed(s);
		mirror_pull();
		return r;
	}
	t = stream_wait_target(s, value);
	r = t.signal.word ? wait_post(&t, WIRE_SYNC) : CUDA_ERROR_OUT_OF_MEMORY;
	stream_word_unlock(s);
	if (!r)
		r = wait_reached(&t);
	if (r)
		return r;
	stream_mark_reached(s, &mark);
	staging_reclaim(s);
	mirror_pull();
	return CUDA_SUCCESS;
}

/* The legacy stream would wait for streams that are being captured; asking the server invalidates those captures. */
static bool stream_legacy_forbidden(CUstream handle)
{
	CUstreamCaptureStatus status;

	return call_cuStreamIsCapturing(handle, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult remote_cuStreamSynchronize(CUstream handle)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if (s->capturing) /* the server invalidates the capture */
		return call_cuStreamSynchronize(handle);
	if (stream_maybe_captured(s) && stream_legacy_forbidden(handle))
		return call_cuStreamSynchronize(handle);
	if (!stream_predecessors_idle(s)) {
		r = stream_synchronize(s);
		if (r)
			return r;
	}
	mirror_pull();
	return stream_async_error(s);
}

/* Has everything posted by now completed?  Posts one WIRE_SYNC for each new amount of work. */
static bool stream_query_word(struct stream *s, CUresult *why)
{
	uint64_t posted = atomic_load(&s->posted), signal;
	uint32_t value;

	*why = CUDA_SUCCESS;
	if (s->query_posted != posted) {
		stream_word_lock_next(s, &value);
		*why = s->signal.word ? stream_post_signal(s, WIRE_SYNC, value) : CUDA_ERROR_OUT_OF_MEMORY;
		if (!*why) {
			s->query_signal = (uint64_t)s->signal.word << 32 | value;
			s->query_posted = posted;
			query_patience_reset(&s->query_patience);
		}
		stream_word_unlock(s);
	}
	signal = s->query_signal;
	if (*why || !word_reached(client->link, signal >> 32, (uint32_t)signal))
		return false;
	stream_note_completed(s, posted);
	mirror_pull();
	return true;
}

CUresult remote_cuStreamQuery(CUstream handle)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if (stream_maybe_captured(s))
		return call_cuStreamQuery(handle);
	if (stream_predecessors_idle(s))
		return stream_async_error(s);
	value_waits_push();
	if (!s->id) /* the legacy stream also waits for others, which its word does not tell */
		return call_cuStreamQuery(handle);
	bool ready = stream_query_word(s, &r);
	if (r)
		return r;
	r = stream_async_error(s);
	if (!r && !ready && query_patience_over(&s->query_patience))
		r = call_cuStreamQuery(handle);
	return r ? r : ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
