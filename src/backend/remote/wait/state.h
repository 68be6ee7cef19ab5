/* state.h - the state of streams, events and waits.  For the files of this room only. */
#pragma once

#include "backend/remote/wait/wait.h"

struct pending_word;
struct value_wait;

/* word_pool.c */
struct word_pool {
	pthread_mutex_t lock;
	struct pending_word *pending;     /* given back, and not yet seen to have reached their last value */
	struct pending_word *spare_nodes; /* without a word */
};

/* event.c */
struct event_table {
	struct recycle_pool records;
	atomic_uint watch_count; /* words that watch an event */
};

/* wait_value.c */
struct value_wait_table {
	pthread_mutex_t lock;
	struct value_wait *first;
	atomic_uint pending; /* in the list, or about to be */
	atomic_bool
		any_moment; /* a graph contains waits, or no word was left to follow one: always pending from now on */
};

struct wait_state {
	struct word_pool words;
	struct recycle_pool streams;
	struct event_table events;
	struct value_wait_table value_waits;
};

struct wait_state *wait_state_create(void); /* NULL: no memory */
void wait_state_destroy(struct wait_state *s);

void word_pool_finish(struct word_pool *p);
void value_waits_finish(struct value_wait_table *t);
