#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "server/code/code.h"
#include "server/copy/mirror.h"
#include "server/session/pump.h"
#include "util/tsan_order.h"
#include "wire/wire.h"

#define MOST    (64u << 20) /* bytes of frames that wait here */
#define EVER    (1u << 30)  /* while an answer is expected, which comes behind them */
#define LOOK_NS 10000000

struct held {
	struct held *next;
	struct frame frame;
	_Alignas(16) uint8_t payload[];
};

struct pump {
	struct session *session;
	pthread_mutex_t lock;
	pthread_cond_t more, less;
	struct held *first, **last, *current;
	size_t bytes;
	int error;
};

static void stop(struct pump *p, int error)
{
	pthread_mutex_lock(&p->lock);
	p->error = error;
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
}

/* Not for long: an event may go out meanwhile. */
static void wait_less(struct pump *p)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += LOOK_NS;
	if (end.tv_nsec >= 1000000000)
		end.tv_sec++, end.tv_nsec -= 1000000000;
	pthread_cond_timedwait(&p->less, &p->lock, &end);
}

static int hold(struct pump *p, const struct frame *f)
{
	struct held *h = malloc(sizeof *h + f->size);

	if (!h)
		return -ENOMEM;
	h->next = NULL;
	h->frame = *f;
	h->frame.payload = h->payload;
	memcpy(h->payload, f->payload, f->size);
	pthread_mutex_lock(&p->lock);
	while (p->bytes > MOST && (p->bytes > EVER || !events_expected()))
		wait_less(p);
	p->bytes += sizeof *h + f->size;
	*p->last = h;
	p->last = &h->next;
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

/* What the dispatcher may be waiting for goes past it. */
static int take(struct pump *p, const struct frame *f)
{
	switch (f->op) {
	case WIRE_CALLED:
		events_called(f);
		return 0;
	case WIRE_MIRROR_UP:
	case WIRE_MIRROR_DOWN:
		return mirrors_now(p->session, f);
	default:
		return hold(p, f);
	}
}

static void *run(void *arg)
{
	struct pump *p = arg;
	struct frame f;
	int r;

	do {
		r = link_next(p->session->link, &f, -1);
		ORDER_AFTER(told); /* an answer to this may be on a lane on which the dispatcher has answered */
		if (!r)
			r = take(p, &f);
	} while (!r || r == -EINTR);
	stop(p, r);
	return NULL;
}

struct pump *pump_create(struct session *s)
{
	struct pump *p = calloc(1, sizeof *p);
	pthread_t thread;

	if (!p)
		return NULL;
	p->session = s;
	p->last = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->more, NULL);
	pthread_cond_init(&p->less, NULL);
	if (pthread_create(&thread, NULL, run, p)) {
		free(p);
		return NULL;
	}
	pthread_detach(thread);
	return p;
}

int pump_next(struct pump *p, struct frame *frame)
{
	struct held *h;

	free(p->current);
	pthread_mutex_lock(&p->lock);
	while (!p->first && !p->error)
		pthread_cond_wait(&p->more, &p->lock);
	h = p->current = p->first;
	if (h) {
		p->first = h->next;
		if (!p->first)
			p->last = &p->first;
		p->bytes -= sizeof *h + h->frame.size;
		pthread_cond_signal(&p->less);
	}
	pthread_mutex_unlock(&p->lock);
	if (!h)
		return p->error;
	*frame = h->frame;
	return 0;
}
