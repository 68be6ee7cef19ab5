/* Creates and destroys the state of streams, events and waits. */
#include "backend/remote/wait/state.h"

#include <stdlib.h>

struct wait_state *wait_state_create(void)
{
	struct wait_state *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	pthread_mutex_init(&s->words.lock, NULL);
	recycle_pool_init(&s->streams);
	recycle_pool_init(&s->events.records);
	pthread_mutex_init(&s->value_waits.lock, NULL);
	return s;
}

static void stream_finish(void *stream)
{
	free(((struct stream *)stream)->staging);
}

void wait_state_destroy(struct wait_state *s)
{
	if (!s)
		return;
	word_pool_finish(&s->words);
	recycle_pool_finish(&s->streams, stream_finish);
	recycle_pool_finish(&s->events.records, NULL);
	value_waits_finish(&s->value_waits);
	free(s);
}
