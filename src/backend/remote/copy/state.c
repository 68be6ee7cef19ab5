/* Creates and destroys the state of copies. */
#include "backend/remote/copy/state.h"

#include <stdlib.h>

struct copy_state *copy_state_create(void)
{
	struct copy_state *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	pthread_mutex_init(&s->threads.lock, NULL);
	pthread_cond_init(&s->threads.job_added, NULL);
	pthread_cond_init(&s->threads.helper_left, NULL);
	s->threads.count = -1;
	return s;
}

void copy_state_destroy(struct copy_state *s)
{
	free(s);
}
