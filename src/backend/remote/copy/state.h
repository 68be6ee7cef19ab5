/* state.h - the state of copies.  For the files of this room only. */
#pragma once

#include "backend/remote/copy/staged_copy.h"

/* copy_threads.c */
struct copy_threads {
	pthread_mutex_t lock;
	pthread_cond_t job_added, helper_left;
	struct copy_job *jobs;
	int count; /* of threads; -1: not started */
	bool stopping;
};

struct copy_state {
	struct copy_threads threads;
	_Atomic(unsigned) kept_pieces[2]; /* staging.c: down and up */
};

struct copy_state *copy_state_create(void); /* NULL: no memory */
void copy_state_destroy(struct copy_state *s);
