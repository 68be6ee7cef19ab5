/* Receives the parent's messages in a thread of its own, and passes answers to the threads that asked. */
#include "server/worker/parent_channel.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "server/worker/log.h"

struct parent_channel {
	int fd;
	pthread_mutex_t asking; /* held while a request is under way */
	pthread_mutex_t lock;   /* protects the rest */
	pthread_cond_t changed;
	uint64_t id; /* of the latest request */
	bool waiting, answered;
	struct handoff_message answer;
};

/* An answer that nobody waits for is dropped: its request has failed. */
static void answer_deliver(struct parent_channel *c, struct handoff_message *m)
{
	pthread_mutex_lock(&c->lock);
	if (c->waiting && !c->answered && m->id == c->id) {
		c->answer = *m;
		c->answered = true;
		m->nfds = 0;
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
}

/* Messages of the parent that are no answers are handled here, by type. */
static void parent_message_handle(struct parent_channel *c, struct handoff_message *m)
{
	if (m->type == HANDOFF_ANSWER)
		answer_deliver(c, m);
}

bool parent_gone(int fd)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

static void *parent_channel_run(void *arg)
{
	struct parent_channel *c = arg;
	struct handoff_message m;
	int r;

	while (!(r = handoff_receive(c->fd, &m, true)) || r == -EPROTO)
		if (!r) {
			parent_message_handle(c, &m);
			handoff_discard(&m);
		}
	log_event("the parent of this worker has ended");
	_exit(0);
}

struct parent_channel *parent_channel_create(int fd)
{
	struct parent_channel *c = calloc(1, sizeof *c);
	sigset_t all, old;
	pthread_t thread;
	int err;

	if (!c)
		return NULL;
	c->fd = fd;
	pthread_mutex_init(&c->asking, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, parent_channel_run, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		free(c);
		return NULL;
	}
	pthread_detach(thread);
	return c;
}

int parent_ask(struct parent_channel *c, struct handoff_message *request, struct handoff_message *answer)
{
	int r;

	pthread_mutex_lock(&c->asking);
	pthread_mutex_lock(&c->lock);
	request->id = ++c->id;
	c->waiting = true;
	c->answered = false;
	r = handoff_send(c->fd, request, true);
	while (!r && !c->answered)
		pthread_cond_wait(&c->changed, &c->lock);
	c->waiting = false;
	if (!r)
		*answer = c->answer;
	pthread_mutex_unlock(&c->lock);
	pthread_mutex_unlock(&c->asking);
	return r;
}

int parent_tell(struct parent_channel *c, const struct handoff_message *m)
{
	return handoff_send(c->fd, m, true);
}
