/* Creates and destroys the state of the session. */
#include "backend/remote/session/state.h"
#include <stdlib.h>
#include "backend/remote/session/context.h"
#include "backend/remote/session/records.h"

struct session_state *session_state_create(void)
{
	struct session_state *s = calloc(1, sizeof *s);
	pthread_mutexattr_t recursive;

	if (!s)
		return NULL;
	pthread_mutex_init(&s->records.write_lock, NULL);
	pthread_rwlock_init(&s->records.carried_lock, NULL);
	pthread_mutex_init(&s->contexts.lock, NULL);
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&s->contexts.reset_lock, &recursive);
	pthread_mutexattr_destroy(&recursive);
	pthread_mutex_init(&s->callbacks.lock, NULL);
	pthread_mutex_init(&s->callbacks.handles.lock, NULL);
	s->callbacks.started = CUDA_ERROR_NOT_INITIALIZED;
	return s;
}

/* The objects behind the records belong to the rooms that made them. */
void session_state_destroy(struct session_state *s)
{
	if (!s)
		return;
	contexts_finish(&s->contexts);
	for (unsigned i = 0; i < RECORD_CHUNK; i++)
		free(s->records.chunks[i]);
	records_finish_carried(&s->records);
	for (unsigned i = 0; i < HANDLE_CHUNKS; i++)
		free(s->callbacks.handles.chunk[i]);
	free(s);
}
