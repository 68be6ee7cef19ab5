/* What a thread has made for itself goes when it ends. */
#include <stdlib.h>
#include "backend/remote/session/remote.h"

struct ending {
	struct ending *next;
	void (*f)(void *arg);
	void *arg;
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void end(void *list)
{
	struct ending *e = list, *next;

	for (; e; e = next) {
		next = e->next;
		if (client)
			e->f(e->arg);
		free(e);
	}
}

static void make_key(void)
{
	pthread_key_create(&key, end);
}

bool thread_at_end(void (*f)(void *arg), void *arg)
{
	struct ending *e = malloc(sizeof *e);

	if (!e)
		return false;
	pthread_once(&once, make_key);
	*e = (struct ending){pthread_getspecific(key), f, arg};
	if (!pthread_setspecific(key, e))
		return true;
	free(e);
	return false;
}
