/* Creates and destroys the state of the code room. */
#include "backend/remote/code/state.h"
#include <stdlib.h>
#include "backend/remote/code/code.h"

struct code_state *code_state_create(void)
{
	struct code_state *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	pthread_mutex_init(&s->function_lock, NULL);
	pthread_mutex_init(&s->functions.lock, NULL);
	pthread_mutex_init(&s->modules.lock, NULL);
	pthread_mutex_init(&s->libraries.lock, NULL);
	pthread_mutex_init(&s->globals_lock, NULL);
	pthread_mutex_init(&s->upload_lock, NULL);
	return s;
}

/* Libraries that the application has not unloaded are not freed, nor are the names of variables. */
void code_state_destroy(struct code_state *s)
{
	if (!s)
		return;
	recycle_pool_finish(&s->functions, function_finish);
	recycle_pool_finish(&s->modules, NULL);
	for (unsigned i = 0; i < HANDLE_CHUNKS && !s->carried; i++)
		free(s->libraries.chunk[i]);
	free(s);
}
