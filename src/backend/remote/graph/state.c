/* Creates and destroys the state of graphs and captures. */
#include "backend/remote/graph/state.h"

#include <stdlib.h>

struct graph_state *graph_state_create(void)
{
	struct graph_state *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	pthread_mutex_init(&s->captures.lock, NULL);
	list_init(&s->captures.active);
	pthread_mutex_init(&s->copies.lock, NULL);
	list_init(&s->copies.exec_copies);
	pthread_mutex_init(&s->nodes.lock, NULL);
	recycle_pool_init(&s->execs);
	return s;
}

/* Graph copies belong to the callbacks of their host nodes, and are not freed here. */
void graph_state_destroy(struct graph_state *s)
{
	if (!s)
		return;
	captures_finish(&s->captures);
	node_table_finish(&s->nodes);
	recycle_pool_finish(&s->execs, NULL);
	free(s);
}
