/* Creates and destroys the state of the code room. */
#include "backend/remote/code/state.h"
#include <stdlib.h>

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

/* Records of functions, modules and libraries that the application has not unloaded are not freed. */
void code_state_destroy(struct code_state *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < HANDLE_CHUNKS; i++)
		free(s->libraries.chunk[i]);
	free(s);
}
