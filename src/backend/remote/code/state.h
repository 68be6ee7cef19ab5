/* state.h - the state of the code room.  For the files of this room only. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include "backend/remote/session/records.h"
#include "util/handle.h"

struct code_state {
	_Atomic(uint32_t) resets;      /* contexts reset: addresses and functions found before are void */
	pthread_mutex_t function_lock; /* creating function records, lists of owners, kernels and their functions */
	struct recycle_pool functions; /* function.c */
	struct recycle_pool modules;   /* module.c */
	struct handle_table libraries; /* library.c */
	bool carried;                  /* the libraries belong to another client now: renew.c */
	pthread_mutex_t globals_lock;  /* globals.c: the lists of all owners */
	pthread_mutex_t upload_lock;   /* upload.c: two threads must not mix the chunks of one image */
};

struct code_state *code_state_create(void); /* NULL: no memory */
void code_state_destroy(struct code_state *s);
