/* state.h - the state of graphs and captures.  For the files of this room only. */
#pragma once

#include "backend/remote/graph/graph.h"

/* capture.c */
struct capture_table {
	pthread_mutex_t lock;
	struct list active; /* struct capture */
	uint64_t last_id;
};

/* graph_copy.c */
struct graph_copy_table {
	pthread_mutex_t lock;    /* also protects parts_made and ended of each graph copy */
	struct list exec_copies; /* those owned by nodes of executable graphs */
};

/* node_params.c */
struct node_table {
	pthread_mutex_t lock;
	struct map records; /* struct node_record, by the slot of the handle */
};

struct graph_state {
	struct capture_table captures;
	struct graph_copy_table copies;
	struct node_table nodes;
	struct recycle_pool execs; /* graph_exec.c */
};

struct graph_state *graph_state_create(void); /* NULL: no memory */
void graph_state_destroy(struct graph_state *s);

void captures_finish(struct capture_table *t);
void node_table_finish(struct node_table *t);
