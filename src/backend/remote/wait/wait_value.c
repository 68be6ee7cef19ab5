/*
 * Waits for a value in memory, which the host may have to write, or a call that comes later: until a stream is past one
 * no call that need not wait may wait for it, as copies of pinned memory would (pageable.h).  Which streams come
 * behind it, by way of events, only the server knows: as long as there is one, it counts for all.
 *
 * What the host writes to memory that is in two places goes up with the next work.  While there is such a wait, it goes up
 * when the host waits or asks, too, and while it waits: another thread may write it.
 */
#include <errno.h>
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/wait/wait.h"

#define LOOK_MS 50 /* at what other threads have written */

struct waiting {
	struct waiting *next;
	struct wire_tell past;     /* the stream's word says that it is */
	const struct context *ctx; /* when that had ended so often */
	uint32_t ended;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiting *first;
static atomic_uint pending;     /* in the list, or about to be */
static atomic_bool at_any_time; /* in graphs; or no word is left that would tell */

static void forget_past(void)
{
	pthread_mutex_lock(&lock);
	for (struct waiting **p = &first, *w; (w = *p);) {
		if (w->ctx->times == w->ended && !word_reached(call_link(), w->past.word, w->past.value)) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		free(w);
		atomic_fetch_sub(&pending, 1);
	}
	pthread_mutex_unlock(&lock);
}

bool value_waits_pending(void)
{
	if (atomic_load(&at_any_time))
		return true;
	if (!atomic_load(&pending))
		return false;
	forget_past();
	return atomic_load(&pending) != 0;
}

/* ---- while they are posted ---- */

/* The word's next value comes when the stream is past what was posted last. */
static bool ask(struct stream *s, struct wire_tell *past)
{
	bool asked;

	stream_word_next_locked(s, &past->value);
	past->word = s->tell.word;
	asked = past->word && !s->ended;
	if (asked)
		stream_post_signal(s, WIRE_SYNC, past->value);
	else
		s->tell.value--;
	stream_word_unlock(s);
	return asked;
}

struct stream *value_wait_begin(CUstream handle)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (s && stream_maybe_captured(s)) {
		at_any_time = true;
		return NULL;
	}
	if (s)
		atomic_fetch_add(&pending, 1);
	return s;
}

/* Whatever the call says: it may tell of another one's failure. */
CUresult value_wait_end(struct stream *s, CUresult r)
{
	struct waiting *w = s ? malloc(sizeof *w) : NULL;

	if (w && ask(s, &w->past)) {
		w->ctx = s->ctx;
		w->ended = w->ctx->times;
		pthread_mutex_lock(&lock);
		w->next = first;
		first = w;
		pthread_mutex_unlock(&lock);
		return r;
	}
	free(w);
	if (s) {
		at_any_time = true;
		atomic_fetch_sub(&pending, 1);
	}
	return r;
}

static bool waits(const CUstreamBatchMemOpParams *p, unsigned count)
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
	struct stream *s = p && waits(p, count) ? value_wait_begin(stream) : NULL;

	return value_wait_end(s, call_cuStreamBatchMemOp_v2(stream, count, p, flags));
}

void value_waits_note_graph(const CUstreamBatchMemOpParams *p, unsigned count)
{
	if (waits(p, count))
		at_any_time = true;
}

/* ---- waiting for what waits ---- */

bool value_waits_push(void)
{
	bool some = atomic_load_explicit(&call_before_work, memory_order_relaxed) && value_waits_pending();

	if (some)
		call_work(false);
	return some;
}

struct wake {
	int (*ask)(void *arg);
	void *arg;
};

/* Once is enough. */
static int wake(void *arg)
{
	struct wake *w = arg;
	int (*ask)(void *) = w->ask;

	w->ask = NULL;
	return ask ? ask(w->arg) : 0;
}

int value_waits_word_wait(uint32_t word, uint32_t value, int (*on_sleep)(void *arg), void *arg)
{
	struct wake w = {on_sleep, arg};
	int e = -ETIMEDOUT;

	while (e == -ETIMEDOUT && value_waits_push())
		e = word_wait(call_link(), word, value, LOOK_MS, wake, &w);
	return e == -ETIMEDOUT ? word_wait(call_link(), word, value, -1, w.ask, arg) : e;
}
