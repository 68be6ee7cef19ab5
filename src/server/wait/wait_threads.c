/* Threads that wait for events of the device and set the client's words. */
#include "server/wait/wait_threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "server/worker/log.h"
#include "server/session/session.h"
#include "transport/wait.h"

/* One event to wait for, one word to set. */
struct queued_wait {
	struct queued_wait *next;
	CUcontext context;
	uint64_t life;   /* of the context: async_error_life() */
	CUevent event;   /* NULL: the word itself is watched */
	CUresult failed; /* the event could not be recorded: why */
	uint32_t word, value;
	bool has_piece;
	struct piece piece;
};

struct word_queue {
	unsigned queued; /* waits for this word that no thread has taken */
	bool busy;       /* a thread waits for its next value */
};

/* Values of one word are set in the order in which they were asked for: a word never goes back. */
struct wait_threads {
	struct session *session;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct queued_wait *first, **last;
	unsigned idle;             /* threads with nothing to do */
	bool refused;              /* the last attempt to start a thread failed */
	unsigned ready;            /* words with queued waits and no thread */
	_Atomic(unsigned) pending; /* waits whose word has not been set yet */
	unsigned nwords;
	struct word_queue *words;
};

bool wait_threads_busy(struct wait_threads *t)
{
	return atomic_load(&t->pending) != 0;
}

struct wait_threads *wait_threads_create(struct session *s)
{
	struct wait_threads *t = calloc(1, sizeof *t);
	size_t size;

	if (!t)
		return NULL;
	word_base(s->link, &size);
	t->nwords = size / WORD_STRIDE;
	t->words = calloc(t->nwords, sizeof *t->words);
	if (!t->words) {
		free(t);
		return NULL;
	}
	t->session = s;
	t->last = &t->first;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->more, NULL);
	return t;
}

/* Lock held.  The first wait whose word has no thread, or NULL. */
static struct queued_wait *wait_take(struct wait_threads *t)
{
	struct queued_wait **p = &t->first, *w;

	while ((w = *p) && t->words[w->word].busy)
		p = &w->next;
	if (!w)
		return NULL;
	*p = w->next;
	if (t->last == &w->next)
		t->last = p;
	t->words[w->word].busy = true;
	t->words[w->word].queued--;
	t->ready--;
	return w;
}

static struct queued_wait *wait_next(struct wait_threads *t)
{
	struct queued_wait *w;

	pthread_mutex_lock(&t->lock);
	t->idle++;
	while (!(w = wait_take(t)))
		pthread_cond_wait(&t->more, &t->lock);
	t->idle--;
	pthread_mutex_unlock(&t->lock);
	return w;
}

static void word_done(struct wait_threads *t, uint32_t word)
{
	pthread_mutex_lock(&t->lock);
	t->words[word].busy = false;
	t->ready += t->words[word].queued != 0;
	pthread_mutex_unlock(&t->lock);
	atomic_fetch_sub(&t->pending, 1);
}

#define POLL_NS     20000000 /* a wait longer than this sleeps in the driver */
#define POLL_GAP_NS 3000     /* between two polls, at least: the dispatcher needs the driver, too */

/*
 * A driver that sleeps until the device interrupts it wakes up 100 us late or more.  So this thread polls for a
 * while, then less and less often, at a cost that stays small beside the time waited for, and then sleeps.  It calls
 * cuEventSynchronize in any case: only then the driver prints what kernels have printed, and trims its pools.
 */
static CUresult event_wait(const struct session *s, CUevent event)
{
	uint64_t start = wait_now(), passed = 0, until;
	CUresult r = CUDA_ERROR_NOT_READY;

	while (s->spin_us && passed < POLL_NS && (r = s->ops->cuEventQuery(event)) == CUDA_ERROR_NOT_READY) {
		if (passed > s->spin_us * 1000ull)
			nanosleep(&(struct timespec){.tv_nsec = (long)passed / 32}, NULL);
		for (until = wait_now() + POLL_GAP_NS; (passed = wait_now()) < until;)
			wait_pause();
		passed -= start;
	}
	return r && r != CUDA_ERROR_NOT_READY ? r : s->ops->cuEventSynchronize(event);
}

/*
 * Everything that the client must know is published before its word is set: the failure, the output of kernels, changed
 * mirrors.  A context that the client has destroyed meanwhile is no failure.
 */
static void wait_complete(struct session *s, struct queued_wait *w)
{
	const struct cuda_ops *ops = s->ops;
	CUresult r = w->failed ? w->failed : ops->cuCtxSetCurrent(w->context);
	bool ended = r == CUDA_ERROR_INVALID_CONTEXT || r == CUDA_ERROR_CONTEXT_IS_DESTROYED;

	if (!r)
		r = event_wait(s, w->event);
	if (r && !ended)
		async_error_report_in(s, w->context, w->life, r);
	kernel_output_flush(s);
	mirrors_announce(s);
	/* raise, not set: the device may have written this value already, and a later one */
	word_raise(s->link, w->word, w->value, &w->piece, w->has_piece);
	if (w->event)
		ops->cuEventDestroy_v2(w->event);
	free(w);
}

#define WATCH_NS     1000000000u
#define WATCH_GAP_NS 100000

static void word_watch(struct session *s, struct queued_wait *w)
{
	uint64_t end = wait_now() + WATCH_NS;

	while (!word_reached(s->link, w->word, w->value) && wait_now() < end)
		nanosleep(&(struct timespec){.tv_nsec = WATCH_GAP_NS}, NULL);
	word_wake(s->link, w->word, NULL, 0);
	free(w);
}

static void *wait_thread_run(void *arg)
{
	struct wait_threads *t = arg;

	for (;;) {
		struct queued_wait *w = wait_next(t);
		uint32_t word = w->word;
		if (w->event || w->failed)
			wait_complete(t->session, w);
		else
			word_watch(t->session, w);
		word_done(t, word); /* this thread takes the word's next wait itself, if no other does */
	}
	return NULL;
}

/* Lock held.  0 or the error of pthread_create. */
static int wait_thread_start(struct wait_threads *t)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, wait_thread_run, t);

	if (!err)
		pthread_detach(thread);
	else if (!t->refused)
		log_event("a thread that waits for the device cannot be started: %s", strerror(err));
	t->refused = err;
	return err;
}

/*
 * A wait never queues behind a wait for another word: that one may depend on what the client does after this one.
 * False: the wait needs a thread of its own, and none can be started.
 */
static bool wait_queue(struct wait_threads *t, struct queued_wait *w)
{
	struct word_queue *q = &t->words[w->word];
	bool first;

	pthread_mutex_lock(&t->lock);
	first = !q->busy && !q->queued;
	if (first && t->ready + 1 > t->idle && wait_thread_start(t)) {
		pthread_mutex_unlock(&t->lock);
		return false;
	}
	atomic_fetch_add(&t->pending, 1);
	*t->last = w;
	t->last = &w->next;
	t->ready += first;
	q->queued++;
	pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->lock);
	return true;
}

#define POLL_HERE_NS 1000000000u /* how long the dispatcher waits itself if there is no thread */

/*
 * No thread for this wait: the dispatcher polls for a while.  Then the call fails; the device still works on it.  The client
 * would use a piece of an arena again that the device has yet to write: that ends the session instead.
 */
static CUresult wait_here(struct wait_threads *t, struct queued_wait *w)
{
	const struct session *s = t->session;
	uint64_t end = wait_now() + POLL_HERE_NS;
	CUresult r = w->failed;

	while (!r && (r = s->ops->cuEventQuery(w->event)) == CUDA_ERROR_NOT_READY && wait_now() < end) {
		nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
		r = CUDA_SUCCESS;
	}
	if (r != CUDA_ERROR_NOT_READY) {
		wait_complete(t->session, w);
		return CUDA_SUCCESS;
	}
	if (w->has_piece) {
		log_event("the session ends: no thread can wait for a download");
		link_shutdown(s->link);
	}
	s->ops->cuEventDestroy_v2(w->event);
	free(w);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult wait_threads_add(
	struct wait_threads *t, CUstream stream, uint32_t word, uint32_t value, const struct piece *piece)
{
	const struct cuda_ops *ops = t->session->ops;
	struct queued_wait *w;

	if (word >= t->nwords)
		return CUDA_ERROR_INVALID_VALUE;
	w = calloc(1, sizeof *w);
	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->context = t->session->context;
	w->life = async_error_life(t->session, w->context);
	w->word = word;
	w->value = value;
	if (piece) {
		w->has_piece = true;
		w->piece = *piece;
	}
	w->failed = ops->cuEventCreate(&w->event, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
	if (!w->failed)
		w->failed = ops->cuEventRecord(w->event, stream);
	/* A failure goes through the queue, too: after earlier output, and in the word's order. */
	return wait_queue(t, w) ? CUDA_SUCCESS : wait_here(t, w);
}

void wait_threads_add_word(struct wait_threads *t, uint32_t word, uint32_t value)
{
	struct queued_wait *w = word < t->nwords ? calloc(1, sizeof *w) : NULL;

	if (!w)
		return;
	w->word = word;
	w->value = value;
	if (!wait_queue(t, w))
		free(w);
}
