#include <pthread.h>
#include <stdlib.h>
#include "server/wait.h"

struct item {
	struct item *next;
	CUcontext ctx;
	CUevent event;
	uint32_t word, value;
	bool has_piece;
	struct piece piece;
};

struct waiters {
	struct session *session;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct item *first, **last;
	unsigned idle;
};

struct waiters *waiters_create(struct session *s)
{
	struct waiters *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->session = s;
	w->last = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	return w;
}

static struct item *next_item(struct waiters *w)
{
	struct item *i;

	pthread_mutex_lock(&w->lock);
	w->idle++;
	while (!w->first)
		pthread_cond_wait(&w->more, &w->lock);
	w->idle--;
	i = w->first;
	w->first = i->next;
	if (!w->first)
		w->last = &w->first;
	pthread_mutex_unlock(&w->lock);
	return i;
}

/* What went wrong on the device shows here first: the client learns it before it is let go. */
static void wait_for(struct session *s, struct item *i)
{
	const struct cuda_ops *ops = s->ops;
	CUresult r = ops->cuCtxSetCurrent(i->ctx);

	if (!r)
		r = ops->cuEventSynchronize(i->event);
	if (r)
		session_late(s, r);
	if (s->words && word_reached(s->link, i->word, i->value))
		word_wake(s->link, i->word, NULL, 0); /* the device has written it, and maybe gone on */
	else
		word_set(s->link, i->word, i->value, &i->piece, i->has_piece);
	ops->cuEventDestroy_v2(i->event);
	free(i);
}

static void *run(void *arg)
{
	struct waiters *w = arg;

	for (;;)
		wait_for(w->session, next_item(w));
	return NULL;
}

static void hand_over(struct waiters *w, struct item *i)
{
	pthread_t thread;
	bool need;

	pthread_mutex_lock(&w->lock);
	*w->last = i;
	w->last = &i->next;
	need = !w->idle;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	if (need && !pthread_create(&thread, NULL, run, w))
		pthread_detach(thread);
}

CUresult waiters_stream(struct waiters *w, CUstream stream, uint32_t word, uint32_t value, const struct piece *piece)
{
	const struct cuda_ops *ops = w->session->ops;
	struct item *i = calloc(1, sizeof *i);
	CUresult r;

	if (!i)
		return CUDA_ERROR_OUT_OF_MEMORY;
	i->ctx = w->session->context;
	i->word = word;
	i->value = value;
	if (piece) {
		i->has_piece = true;
		i->piece = *piece;
	}
	r = ops->cuEventCreate(&i->event, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
	if (!r) {
		r = ops->cuEventRecord(i->event, stream);
		if (r)
			ops->cuEventDestroy_v2(i->event);
	}
	if (r) {
		free(i);
		return r;
	}
	hand_over(w, i);
	return CUDA_SUCCESS;
}

/* The process ends with the session; its threads may stand in the driver and are left there. */
void waiters_destroy(struct waiters *w)
{
	(void)w;
}
