/* Functions to call when a thread ends. */
#include <stdlib.h>
#include "backend/remote/guard.h"
#include "backend/remote/session/remote.h"

struct thread_exit {
	struct thread_exit *next;
	void (*f)(void *arg);
	void *arg;
	struct client *client;
};

/* Of the process, not of a client. */
static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;

static void thread_exits_run(void *list)
{
	struct thread_exit *e = list, *next;

	client_hold();
	for (; e; e = next) {
		next = e->next;
		if (e->client == client && client == atomic_load(&client_now))
			e->f(e->arg);
		free(e);
	}
	client_leave();
}

static void exit_key_create(void)
{
	pthread_key_create(&exit_key, thread_exits_run);
}

bool thread_at_end(void (*f)(void *arg), void *arg)
{
	struct thread_exit *e = malloc(sizeof *e);

	if (!e)
		return false;
	pthread_once(&exit_key_once, exit_key_create);
	*e = (struct thread_exit){pthread_getspecific(exit_key), f, arg, client};
	if (!pthread_setspecific(exit_key, e))
		return true;
	free(e);
	return false;
}

void thread_exits_forget(void)
{
	struct thread_exit *e, *next;

	pthread_once(&exit_key_once, exit_key_create);
	for (e = pthread_getspecific(exit_key); e; e = next) {
		next = e->next;
		free(e);
	}
	pthread_setspecific(exit_key, NULL);
}
