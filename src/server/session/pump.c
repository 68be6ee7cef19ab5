/* Queues frames for the dispatcher, and serves those that it may be blocked on. */
#include "server/session/pump.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "server/worker/log.h"
#include "server/session/dispatch.h"
#include "server/wait/callbacks.h"
#include "util/tsan_order.h"
#include "wire/wire.h"

#define QUEUE_BYTES         (64u << 20) /* of frames, before the pump stops reading */
#define QUEUE_BYTES_AWAITED (1u << 30)  /* the same while a callback is awaited: its answer comes after these frames */
#define QUEUE_CHECK_NS      10000000    /* a callback may become awaited meanwhile */

struct queued_frame {
	struct queued_frame *next;
	struct frame frame;
	_Alignas(16) uint8_t payload[];
};

struct pump {
	struct session *session;
	pthread_mutex_t lock;
	pthread_cond_t frame_added, frame_taken;
	struct queued_frame *first, **last;
	struct queued_frame *current; /* the dispatcher's */
	size_t bytes;
	unsigned asked[LINK_LANES]; /* calls of the lane that the dispatcher has to answer */
	bool running;               /* the dispatcher leaves the link to the pump */
	int error;
};

static void pump_stop(struct pump *p, int error)
{
	pthread_mutex_lock(&p->lock);
	p->error = error;
	pthread_cond_signal(&p->frame_added);
	pthread_mutex_unlock(&p->lock);
}

/* Lock held.  Returns after QUEUE_CHECK_NS at the latest. */
static void queue_wait_room(struct pump *p)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += QUEUE_CHECK_NS;
	if (end.tv_nsec >= 1000000000)
		end.tv_sec++, end.tv_nsec -= 1000000000;
	pthread_cond_timedwait(&p->frame_taken, &p->lock, &end);
}

static int frame_queue(struct pump *p, const struct frame *f)
{
	struct queued_frame *q = malloc(sizeof *q + f->size);

	if (!q)
		return -ENOMEM;
	q->next = NULL;
	q->frame = *f;
	q->frame.payload = q->payload;
	memcpy(q->payload, f->payload, f->size);
	pthread_mutex_lock(&p->lock);
	while (p->bytes > QUEUE_BYTES && (p->bytes > QUEUE_BYTES_AWAITED || !callbacks_awaited(p->session)))
		queue_wait_room(p);
	p->bytes += sizeof *q + f->size;
	p->asked[lane_number(f->lane)] += serve_replies(f->op);
	*p->last = q;
	p->last = &q->next;
	pthread_cond_signal(&p->frame_added);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

/* Other threads may be writing replies or events to this lane: the dispatcher answers, or refuses. */
static bool lane_is_answered(struct pump *p, const struct lane *lane)
{
	pthread_mutex_lock(&p->lock);
	bool answered = p->asked[lane_number(lane)];
	pthread_mutex_unlock(&p->lock);
	return answered || callbacks_use_lane(p->session, lane);
}

/* Some frames bypass the queue: the dispatcher may be blocked waiting for them. */
static int frame_handle(struct pump *p, const struct frame *f)
{
	switch (f->op) {
	case WIRE_CALLED:
		callback_returned(p->session, f);
		return 0;
	case WIRE_MIRROR_DOWN:
		if (lane_is_answered(p, f->lane))
			return frame_queue(p, f);
		/* fall through */
	case WIRE_MIRROR_UP:
		return mirrors_serve_in_pump(p->session, f);
	default:
		return frame_queue(p, f);
	}
}

static void *pump_run(void *arg)
{
	struct pump *p = arg;
	struct frame f;
	int r;

	pthread_mutex_lock(&p->lock);
	while (!p->running)
		pthread_cond_wait(&p->frame_taken, &p->lock);
	pthread_mutex_unlock(&p->lock);
	do {
		r = link_next(p->session->link, &f, -1);
		ORDER_AFTER(told); /* the reply may go out on a lane on which the dispatcher has replied before */
		if (!r)
			r = frame_handle(p, &f);
	} while (!r || r == -EINTR);
	pump_stop(p, r);
	return NULL;
}

static struct pump *pump_create(struct session *s)
{
	struct pump *p = calloc(1, sizeof *p);
	pthread_t thread;
	int err;

	if (!p)
		return NULL;
	p->session = s;
	p->last = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->frame_added, NULL);
	pthread_cond_init(&p->frame_taken, NULL);
	err = pthread_create(&thread, NULL, pump_run, p);
	if (err) {
		log_event("the thread that receives calls cannot be started: %s", strerror(err));
		free(p);
		return NULL;
	}
	pthread_detach(thread);
	return p;
}

bool pump_prepare(struct session *s, bool listens, bool mirrors)
{
	if (!s->pump && listens && (mirrors || !link_peer(s->link)->local))
		s->pump = pump_create(s);
	else
		return true;
	return s->pump;
}

int pump_next(struct pump *p, struct frame *frame)
{
	struct queued_frame *q;

	pthread_mutex_lock(&p->lock);
	if (p->current)
		p->asked[lane_number(p->current->frame.lane)] -= serve_replies(p->current->frame.op);
	free(p->current);
	if (!p->running) {
		p->running = true;
		pthread_cond_signal(&p->frame_taken);
	}
	while (!p->first && !p->error)
		pthread_cond_wait(&p->frame_added, &p->lock);
	q = p->current = p->first;
	if (q) {
		p->first = q->next;
		if (!p->first)
			p->last = &p->first;
		p->bytes -= sizeof *q + q->frame.size;
		pthread_cond_signal(&p->frame_taken);
	}
	pthread_mutex_unlock(&p->lock);
	if (!q)
		return p->error;
	*frame = q->frame;
	return 0;
}
