/*
 * fd_handoff.h - the messages between the parent and a worker, on a socketpair that lives as long as the worker.
 *
 *	parent ─ START: settings, statistics ─▶ worker opens the device ─ READY or FAILED ─▶ parent
 *	       ─ CLIENT: the client's socket ─▶ worker ─ TAKEN ─▶ parent
 *	       ◀─────────── requests, answers and notices while the client is served ───────────▶
 *
 * A message has a type, a body and descriptors.  To add a type, append it to the enum and handle it in
 * worker_message_ready() (server.c) if the parent receives it, or in parent_message_handle() (parent_channel.c) if the
 * worker does.  A worker sends requests with parent_ask(), which waits for the answer with the same id; the parent
 * answers with handoff_answer().
 *
 * Trust: a worker is as trustworthy as its client.  The parent copies a message whole, checks every field, and never
 * waits for a worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANDOFF_BODY 1024 /* bytes */
#define HANDOFF_FDS  4
#define HANDOFF_TEXT 256

enum handoff_type {
	/* to the worker */
	HANDOFF_START = 1, /* struct worker_settings; a descriptor: the statistics */
	HANDOFF_CLIENT,    /* uint32_t: the user to become, or 0; a descriptor: the client's socket */
	HANDOFF_ANSWER,    /* to the request with the same id */

	/* to the parent */
	HANDOFF_READY = 64,
	HANDOFF_FAILED, /* the device could not be opened; the body is a text that says why */
	HANDOFF_TAKEN,  /* the client belongs to the worker now */

	/* requests to the parent: struct handoff_ipc (ipc_registry.h), and so is the answer */
	HANDOFF_IPC_PUBLISH, /* a descriptor: the store */
	HANDOFF_IPC_REVOKE,
	HANDOFF_IPC_OPEN,  /* the answer has a descriptor: the store */
	HANDOFF_IPC_ALIVE, /* does the worker whose process number is `offset` run? */
};

struct handoff_message {
	uint32_t type;
	uint64_t id; /* of a request and its answer; 0: neither */
	size_t size;
	_Alignas(8) uint8_t body[HANDOFF_BODY + 1]; /* a NUL follows the body */
	unsigned nfds;
	int fds[HANDOFF_FDS]; /* the receiver's; set one to -1 to keep it from handoff_discard() */
};

/* Sends a copy of the message; its descriptors stay the caller's.  0 or -errno: -EAGAIN only without `wait`. */
int handoff_send(int fd, const struct handoff_message *m, bool wait);

/* The same for a message with one descriptor, or with none (-1).  Never waits. */
int handoff_send_fd(int fd, enum handoff_type type, const void *body, size_t size, int descriptor);

/* Parent: answers a request of a worker.  Never waits. */
int handoff_answer(int worker, const struct handoff_message *request, struct handoff_message *answer);

/*
 * Receives a message; call handoff_discard() in the end.  0, -EAGAIN if there is none (only without `wait`), -EPIPE if
 * the other side is gone, -EPROTO if the message is malformed.
 */
int handoff_receive(int fd, struct handoff_message *m, bool wait);

/* Closes the descriptors of a received message. */
void handoff_discard(struct handoff_message *m);
