/*
 * Streams that wait for a value in memory (cuStreamWaitValue32 and its like).
 *
 * The host may have to write that value, or a call made later may.  Until the stream is past the wait, a call that need
 * not block must not block behind it; copies of pinned memory over TCP therefore become deferred copies
 * (copy/deferred_copy.c).  Which other streams are blocked behind the wait, by way of events, only the server knows: a
 * pending wait counts for all streams.
 *
 * Writes of the host to mirrored memory normally travel with the next work.  While a wait is pending, they also travel when
 * the host queries or waits, and every few milliseconds while it waits, because another thread may write the value.
 */
#include <stdlib.h>
#include "backend/remote/wait/state.h"
#include "backend/remote/hostmem/mirror.h"

struct value_wait {
	struct value_wait *next;
	struct wire_signal past;   /* the stream's word; reached when the stream is past the wait */
	const struct context *ctx; /* the stream's, */
	uint32_t ctx_times;        /* when that had ended so often */
};

static void value_waits_remove_passed(struct value_wait_table *t)
{
	pthread_mutex_lock(&t->lock);
	for (struct value_wait **p = &t->first, *w; (w = *p);) {
		if (w->ctx->times_ended == w->ctx_times && !word_reached(client->link, w->past.word, w->past.value)) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		free(w);
		atomic_fetch_sub(&t->pending, 1);
	}
	pthread_mutex_unlock(&t->lock);
}

bool value_waits_pending(void)
{
	struct value_wait_table *t = &client->wait->value_waits;

	if (atomic_load(&t->any_moment))
		return true;
	if (!atomic_load(&t->pending))
		return false;
	value_waits_remove_passed(t);
	return atomic_load(&t->pending) != 0;
}

/* ---- posting ---- */

/* Posts a signal behind what was posted last.  False: no word is left, or the stream is destroyed. */
static bool value_wait_post_signal(struct stream *s, struct wire_signal *past)
{
	bool posted;

	stream_word_lock_next(s, &past->value);
	past->word = s->signal.word;
	posted = past->word && !s->destroyed;
	if (posted)
		stream_post_signal(s, WIRE_SYNC, past->value);
	else
		s->signal.value--;
	stream_word_unlock(s);
	return posted;
}

struct stream *value_wait_begin(CUstream handle)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (s && stream_maybe_captured(s)) {
		client->wait->value_waits.any_moment = true;
		return NULL;
	}
	if (s)
		atomic_fetch_add(&client->wait->value_waits.pending, 1);
	return s;
}

/* The wait may have been posted even if r is an error: that may be another call's async error. */
CUresult value_wait_end(struct stream *s, CUresult r)
{
	struct value_wait_table *t = &client->wait->value_waits;
	struct value_wait *w = s ? malloc(sizeof *w) : NULL;

	if (w && value_wait_post_signal(s, &w->past)) {
		w->ctx = s->ctx;
		w->ctx_times = w->ctx->times_ended;
		pthread_mutex_lock(&t->lock);
		w->next = t->first;
		t->first = w;
		pthread_mutex_unlock(&t->lock);
		return r;
	}
	free(w);
	if (s) {
		t->any_moment = true;
		atomic_fetch_sub(&t->pending, 1);
	}
	return r;
}

static bool memop_batch_waits(const CUstreamBatchMemOpParams *p, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (p[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
			p[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
			return true;
	return false;
}

CUresult remote_cuStreamBatchMemOp_v2(
	CUstream stream, unsigned int count, CUstreamBatchMemOpParams *p, unsigned int flags)
{
	struct stream *s = p && memop_batch_waits(p, count) ? value_wait_begin(stream) : NULL;

	return value_wait_end(s, call_cuStreamBatchMemOp_v2(stream, count, p, flags));
}

void value_waits_note_graph(const CUstreamBatchMemOpParams *p, unsigned count)
{
	if (memop_batch_waits(p, count))
		client->wait->value_waits.any_moment = true;
}

/* ---- mirrored memory ---- */

bool value_waits_push(void)
{
	bool some = atomic_load_explicit(&client->has_mirrors, memory_order_relaxed) && value_waits_pending();

	if (some)
		mirror_before_work(false);
	return some;
}

void value_waits_finish(struct value_wait_table *t)
{
	for (struct value_wait *w = t->first, *next; w; w = next) {
		next = w->next;
		free(w);
	}
}
