/*
 * queue.h - the interface between the stream queues (queue.c) and the worker threads that empty them (thread_pool.c).
 */
#pragma once

#include "backend/soft/core/soft.h"

/* ---- soft.queue_lock held ---- */

CUresult queue_submit(struct stream *s, struct command *c); /* on failure the caller still owns c */
bool queue_idle(struct stream *s);                          /* as stream_idle */
void workers_add_ready(struct stream *s);                   /* the head of s can run */
bool workers_allow_blocking(void);                          /* false: a command that blocks could block all workers */

/* ---- soft.queue_lock not held ---- */

CUresult queue_run_head(struct stream *s, struct command *c); /* run c, the head of s, and complete it */
bool workers_start_first(void);                               /* false: there is no worker, and none can be started */
bool workers_run_one(void); /* if workers cannot be started, run one ready command; false: none was run */
bool workers_run_stream(struct stream *s); /* for waiting threads: run the head of s unless a thread has taken it */
void queue_thread_exit(void);              /* give the calling thread's spare commands back */
