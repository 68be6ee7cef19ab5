#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "server/code/code.h"
#include "server/copy/mirror.h"
#include "server/wait/wait_threads.h"
#include "transport/wait.h"

struct item {
	struct item *next;
	CUcontext ctx;
	uint64_t life; /* the context's: session_life */
	CUevent event;
	CUresult failed; /* there is nothing to wait for: why */
	uint32_t word, value;
	bool has_piece;
	struct piece piece;
};

struct turn {
	unsigned queued;
	bool busy; /* a thread of ours waits for its next value */
};

/* Values of one word are told in the order in which they were asked for: a word never goes back. */
struct waiters {
	struct session *session;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct item *first, **last;
	unsigned idle, ready;      /* threads with nothing to do; words that want one */
	_Atomic(unsigned) pending; /* what nobody has been told of yet */
	unsigned nwords;
	struct turn *turn; /* by word */
};

bool waiters_busy(struct waiters *w)
{
	return atomic_load(&w->pending) != 0;
}

struct waiters *waiters_create(struct session *s)
{
	struct waiters *w = calloc(1, sizeof *w);
	size_t size;

	if (!w)
		return NULL;
	word_base(s->link, &size);
	w->nwords = size / WORD_STRIDE;
	w->turn = calloc(w->nwords, sizeof *w->turn);
	if (!w->turn) {
		free(w);
		return NULL;
	}
	w->session = s;
	w->last = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	return w;
}

/* The first one whose word nobody waits for, or NULL.  Lock held. */
static struct item *take_item(struct waiters *w)
{
	struct item **p = &w->first, *i;

	while ((i = *p) && w->turn[i->word].busy)
		p = &i->next;
	if (!i)
		return NULL;
	*p = i->next;
	if (w->last == &i->next)
		w->last = p;
	w->turn[i->word].busy = true;
	w->turn[i->word].queued--;
	w->ready--;
	return i;
}

static struct item *next_item(struct waiters *w)
{
	struct item *i;

	pthread_mutex_lock(&w->lock);
	w->idle++;
	while (!(i = take_item(w)))
		pthread_cond_wait(&w->more, &w->lock);
	w->idle--;
	pthread_mutex_unlock(&w->lock);
	return i;
}

static void told(struct waiters *w, uint32_t word)
{
	pthread_mutex_lock(&w->lock);
	w->turn[word].busy = false;
	w->ready += w->turn[word].queued != 0;
	pthread_mutex_unlock(&w->lock);
	atomic_fetch_sub(&w->pending, 1);
}

#define LOOK_NS 20000000 /* so long it is worth looking now and then */

#define GAP_NS 3000 /* between two looks, at least: the dispatcher wants the driver, too */

/*
 * A driver that sleeps until the device interrupts it wakes up a tenth of a millisecond late or more.  So we look
 * for a while, then ever more seldom, at a cost that never shows beside what was waited for, and then we sleep.
 * In the end a driver is asked to wait in any case: only then it prints what kernels have printed, and lets pools go.
 */
static CUresult wait_event(const struct session *s, CUevent event)
{
	uint64_t start = wait_now(), passed = 0, until;
	CUresult r = CUDA_ERROR_NOT_READY;

	while (s->look_us && passed < LOOK_NS && (r = s->ops->cuEventQuery(event)) == CUDA_ERROR_NOT_READY) {
		if (passed > s->look_us * 1000ull)
			nanosleep(&(struct timespec){.tv_nsec = (long)passed / 32}, NULL);
		for (until = wait_now() + GAP_NS; (passed = wait_now()) < until;)
			wait_pause();
		passed -= start;
	}
	return r && r != CUDA_ERROR_NOT_READY ? r : s->ops->cuEventSynchronize(event);
}

/*
 * What went wrong on the device shows here first: the client learns it before it is let go.  A context that
 * the client has destroyed meanwhile is nothing to tell it of.
 */
static void wait_for(struct session *s, struct item *i)
{
	const struct cuda_ops *ops = s->ops;
	CUresult r = i->failed ? i->failed : ops->cuCtxSetCurrent(i->ctx);
	bool gone = r == CUDA_ERROR_INVALID_CONTEXT || r == CUDA_ERROR_CONTEXT_IS_DESTROYED;

	if (!r)
		r = wait_event(s, i->event);
	if (r && !gone)
		session_late_in(s, i->ctx, i->life, r);
	events_flush(s);
	mirrors_tell(s);
	word_raise(
		s->link, i->word, i->value, &i->piece, i->has_piece); /* the device may have written it, and gone on */
	if (i->event)
		ops->cuEventDestroy_v2(i->event);
	free(i);
}

static void *run(void *arg)
{
	struct waiters *w = arg;

	for (;;) {
		struct item *i = next_item(w);
		uint32_t word = i->word;
		wait_for(w->session, i);
		told(w, word); /* and we look for its next value ourselves */
	}
	return NULL;
}

static void hand_over(struct waiters *w, struct item *i)
{
	struct turn *t = &w->turn[i->word];
	pthread_t thread;
	bool need;

	atomic_fetch_add(&w->pending, 1);
	pthread_mutex_lock(&w->lock);
	*w->last = i;
	w->last = &i->next;
	w->ready += !t->busy && !t->queued;
	t->queued++;
	need = w->ready > w->idle;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	if (need && !pthread_create(&thread, NULL, run, w))
		pthread_detach(thread);
}

CUresult waiters_stream(struct waiters *w, CUstream stream, uint32_t word, uint32_t value, const struct piece *piece)
{
	const struct cuda_ops *ops = w->session->ops;
	struct item *i;

	if (word >= w->nwords)
		return CUDA_ERROR_INVALID_VALUE;
	i = calloc(1, sizeof *i);
	if (!i)
		return CUDA_ERROR_OUT_OF_MEMORY;
	i->ctx = w->session->context;
	i->life = session_life(i->ctx);
	i->word = word;
	i->value = value;
	if (piece) {
		i->has_piece = true;
		i->piece = *piece;
	}
	i->failed = ops->cuEventCreate(&i->event, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
	if (!i->failed)
		i->failed = ops->cuEventRecord(i->event, stream);
	hand_over(w, i); /* a failure is told there, too: behind what the device has printed, and in the word's order */
	return CUDA_SUCCESS;
}

/* The process ends with the session; its threads may stand in the driver and are left there. */
void waiters_destroy(struct waiters *w)
{
	(void)w;
}
