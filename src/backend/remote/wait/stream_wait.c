/* Waiting for streams: what has been posted, what is known to be done, and words that tell of the difference. */
#include <errno.h>
#include "backend/remote/copy/staged_copy.h"

void stream_word_next_locked(struct stream *s, uint32_t *value)
{
	pthread_mutex_lock(&s->lock);
	if (!s->tell.word && !word_pool_take(&s->tell))
		s->tell.word = 0;
	*value = ++s->tell.value;
}

void stream_word_unlock(struct stream *s)
{
	pthread_mutex_unlock(&s->lock);
}

/* What a wait is for: a copy, since the stream may be destroyed, and its record used again, before the wait is over. */
struct sleeper {
	uint64_t id, context;
	uint32_t word, value;
};

static struct sleeper sleeper_of(const struct stream *s, uint32_t value)
{
	return (struct sleeper){s->id, s->ctx->id, s->tell.word, value};
}

static CUresult post_sync(const struct sleeper *z, unsigned op)
{
	struct lane *lane = call_lane();
	struct wire_sync *a = call_reserve(lane, sizeof *a);

	if (!a)
		return call_lost();
	call_in(a, z->context);
	*a = (struct wire_sync){.kind = WIRE_SYNC_STREAM, .word = z->word, .value = z->value, .what = z->id};
	return call_send(lane, op, sizeof *a, NULL, 0);
}

CUresult stream_post_signal(struct stream *s, unsigned op, uint32_t value)
{
	struct sleeper z = sleeper_of(s, value);

	return post_sync(&z, op);
}

static int ask_wake(void *arg)
{
	return post_sync(arg, WIRE_WAKE) ? -EPIPE : 0;
}

static CUresult sleep_until(struct sleeper *z)
{
	return value_waits_word_wait(z->word, z->value, remote.local ? ask_wake : NULL, z) ? call_lost() : CUDA_SUCCESS;
}

CUresult stream_word_wait(struct stream *s, uint32_t value)
{
	struct sleeper z = sleeper_of(s, value);

	return sleep_until(&z);
}

CUresult stream_word_unlock_wait(struct stream *s, uint32_t value)
{
	struct sleeper z = sleeper_of(s, value);

	stream_word_unlock(s);
	return sleep_until(&z);
}

CUresult stream_post_with_signal(struct stream *s, unsigned op, const void *args, size_t size, uint32_t *value)
{
	struct lane *lane = call_lane();
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
	void *room = NULL;

	stream_word_next_locked(s, value);
	if (s->tell.word) {
		room = call_reserve(lane, size);
		r = call_lost();
	}
	if (room) {
		call_in(room, s->ctx->id);
		memcpy(room, args, size);
		*(struct wire_tell *)room = (struct wire_tell){s->tell.word, *value};
		r = call_send(lane, op, size, NULL, 0);
	}
	if (!room)
		--s->tell.value; /* nobody will set it */
	stream_word_unlock(s);
	if (r &&
		room) /* sent, and then told of another's failure: nothing of it is on its way any more when we return */
		stream_word_wait(s, *value);
	return r;
}

/* One that is destroyed and not yet through.  It may be gone and forgotten by now. */
static CUresult wait_ended(struct stream *s)
{
	struct wire_tell t;

	pthread_mutex_lock(&s->lock);
	t = s->tell;
	pthread_mutex_unlock(&s->lock);
	return t.word && value_waits_word_wait(t.word, t.value, NULL, NULL) ? call_lost() : CUDA_SUCCESS;
}

bool stream_idle(struct stream *s)
{
	return atomic_load_explicit(&s->settled, memory_order_acquire) ==
	       atomic_load_explicit(&s->work, memory_order_relaxed);
}

/* The legacy stream waits for the blocking streams of its context too. */
static bool nothing_ahead(struct stream *s)
{
	bool idle = stream_idle(s);

	if (s->id || !idle)
		return idle;
	pthread_mutex_lock(&s->ctx->lock);
	list_each(l, &s->ctx->streams)
	{
		struct stream *o = container_of(l, struct stream, link);
		idle &= (o->flags & CU_STREAM_NON_BLOCKING) || stream_idle(o) || (o->ended && stream_drained(o));
	}
	pthread_mutex_unlock(&s->ctx->lock);
	return idle;
}

void stream_mark_take(struct stream *s, struct stream_mark *p)
{
	p->work = atomic_load(&s->work);
	p->ahead = 0;
	if (s->id)
		return;
	pthread_mutex_lock(&s->ctx->lock);
	list_each(l, &s->ctx->streams)
	{
		struct stream *o = container_of(l, struct stream, link);

		if (o != s && !(o->flags & CU_STREAM_NON_BLOCKING) && !stream_idle(o) && p->ahead < MARK_STREAMS) {
			p->of[p->ahead].stream = o;
			p->of[p->ahead++].work = atomic_load(&o->work);
		}
	}
	pthread_mutex_unlock(&s->ctx->lock);
}

/* Records are used again, and their counts go on: an old count changes nothing. */
void stream_mark_reached(struct stream *s, const struct stream_mark *p)
{
	stream_note_completed(s, p->work);
	for (unsigned i = 0; i < p->ahead; i++)
		stream_note_completed(p->of[i].stream, p->of[i].work);
}

CUresult stream_synchronize(struct stream *s)
{
	struct stream_mark point;
	struct sleeper z;
	uint32_t value;
	CUresult r;

	if (s->capturing) /* a word's writing would be captured, too */
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	stream_mark_take(s, &point);
	stream_word_next_locked(s, &value);
	if (s->ended) {
		s->tell.value--;
		stream_word_unlock(s);
		r = wait_ended(s);
		mirror_pull();
		return r;
	}
	z = sleeper_of(s, value);
	r = z.word ? post_sync(&z, WIRE_SYNC) : CUDA_ERROR_OUT_OF_MEMORY;
	stream_word_unlock(s);
	if (!r)
		r = sleep_until(&z);
	if (r)
		return r;
	stream_mark_reached(s, &point);
	staging_reclaim(s);
	mirror_pull();
	return CUDA_SUCCESS;
}

void stream_note_completed(struct stream *s, uint64_t work)
{
	uint64_t settled = atomic_load(&s->settled);

	while (settled < work && !atomic_compare_exchange_weak(&s->settled, &settled, work))
		;
}

/* It would wait for streams that are being captured; asking for it makes those captures invalid. */
static bool legacy_forbidden(CUstream handle)
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
	if (s->capturing) /* the capture becomes invalid */
		return call_cuStreamSynchronize(handle);
	if (stream_maybe_captured(s) && legacy_forbidden(handle))
		return call_cuStreamSynchronize(handle);
	if (!nothing_ahead(s)) {
		r = stream_synchronize(s);
		if (r)
			return r;
	}
	mirror_pull();
	return stream_async_error(s);
}

/* A word will say when all that is posted now is done; asked for once per new work. */
static bool look(struct stream *s, CUresult *why)
{
	uint64_t work = atomic_load(&s->work), tell;
	uint32_t value;

	*why = CUDA_SUCCESS;
	if (s->asked != work) {
		stream_word_next_locked(s, &value);
		*why = s->tell.word ? stream_post_signal(s, WIRE_SYNC, value) : CUDA_ERROR_OUT_OF_MEMORY;
		if (!*why) {
			s->asked_tell = (uint64_t)s->tell.word << 32 | value;
			s->asked = work;
		}
		stream_word_unlock(s);
	}
	tell = s->asked_tell;
	if (*why || !word_reached(call_link(), tell >> 32, (uint32_t)tell))
		return false;
	stream_note_completed(s, work);
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
	if (nothing_ahead(s))
		return stream_async_error(s);
	value_waits_push();
	if (!s->id) /* the legacy stream waits for others, too */
		return call_cuStreamQuery(handle);
	bool ready = look(s, &r);
	if (r)
		return r;
	r = stream_async_error(s);
	return r ? r : ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
