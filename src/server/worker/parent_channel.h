/*
 * parent_channel.h - a worker's end of the messages with its parent, while it serves a client.
 *
 * One thread receives; any thread may send.  The worker trusts its parent, and ends with it: when the parent's end of the
 * socket is closed, the thread ends the process.
 */
#pragma once

#include "server/worker/fd_handoff.h"

struct parent_channel;

/* The parent has closed its end of the socket. */
bool parent_gone(int fd);

/* Starts the receiving thread.  NULL: no memory or no thread. */
struct parent_channel *parent_channel_create(int fd);

/*
 * Sends a request and waits for the answer, which the caller discards (handoff_discard).  One request at a time is
 * under way; further callers wait.  0 or -errno.
 */
int parent_ask(struct parent_channel *c, struct handoff_message *request, struct handoff_message *answer);

/* Sends a message that has no answer.  0 or -errno. */
int parent_tell(struct parent_channel *c, const struct handoff_message *m);
