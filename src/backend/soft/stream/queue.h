/*
 * queue.h - between the queues and the threads that empty them.  Called with soft.queue_lock held unless noted.
 */
#pragma once

#include "backend/soft/core/soft.h"

CUresult queue_submit(struct stream *s, struct command *c);   /* if it fails, c is still the caller's */
bool queue_idle(struct stream *s);                            /* as stream_idle */
CUresult queue_run_head(struct stream *s, struct command *c); /* without the lock: run c, its head, and go on */
bool workers_run_one(void); /* without the lock: if there are no workers, run one command here; true: done */
bool workers_run_stream(struct stream *s); /* without the lock, who waits for it: run its head if nobody has begun */
void queue_thread_exit(void);              /* without the lock: give spare commands back */
