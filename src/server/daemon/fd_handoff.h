/*
 * fd_handoff.h - the socket between parent and worker: the client's socket one way, messages the other.
 *
 *	parent ─ fork ─▶ worker opens the device ─ READY or FAILED ─▶ parent
 *	       ─ the client's socket ─▶ worker ─ TAKEN ─▶ parent
 */
#pragma once

#define HANDOFF_TEXT 256

enum handoff_message {
	HANDOFF_READY = 'r',
	HANDOFF_FAILED = 'f', /* the device could not be opened; the text says why */
	HANDOFF_TAKEN = 't',  /* the client belongs to the worker now */
};

/* Parent: 0 or -errno. */
int handoff_send_client(int worker, int client);

/* Parent: 0, -EAGAIN if there is no message, -EPIPE if the worker is gone. */
int handoff_receive_message(int worker, enum handoff_message *message, char text[HANDOFF_TEXT]);

/* Worker: the client's socket; -1 if the parent is gone or has no client for this worker. */
int handoff_receive_client(int parent);
void handoff_send_message(int parent, enum handoff_message message, const char *text);
