/*
 * pending.h - connections that have not sent their hello yet.
 *
 *	accept ─▶ pending ─ complete, acceptable hello ─▶ a worker
 *	             ├─ hello that asks for the device ─▶ answered and closed
 *	             ├─ hello of an extra connection ─▶ the worker of its link
 *	             ├─ unacceptable hello ─▶ refused with the reason
 *	             └─ PENDING_MS without one, or pushed out ─▶ closed
 *
 * A connection costs a descriptor here, but no worker.  The number is bounded: if there are too many, the identity with
 * the most loses its oldest.  So an identity that opens connections in large numbers pushes out its own, and those of
 * another only if that one has more.
 *
 * Trust: none in the peer.  The hello stays in the socket; the worker reads and checks it again.
 */
#pragma once

#include <stdint.h>
#include "server/daemon/identity.h"
#include "server/daemon/source.h"
#include "transport/transport.h"

#define PENDING_MAX 1024
#define PENDING_MIN 16 /* even if few descriptors are allowed */
#define PENDING_MS  5000

struct pending_connection {
	struct source source;
	struct pending_connection *next, *previous; /* from the oldest to the newest */
	struct pending *pending;
	struct identity *who;
	int fd;
	uint64_t deadline; /* monotonic_ms() */
};

struct pending {
	int epoll;
	unsigned max, count;
	struct identities *identities;
	struct link_config config; /* what an acceptable hello agrees with */
	const char *device;        /* the server's, for clients that ask */
	struct pending_connection *oldest, *newest;
	uint64_t closed;         /* silent connections closed since the start */
	uint64_t log_at, logged; /* when the next line is logged, and `closed` at the last one */
	/* The connection has sent an acceptable hello; the function owns the descriptor. */
	void (*accept)(void *server, int client, struct identity *who);
};

void pending_init(struct pending *p, int epoll, struct identities *identities, const char *device);

/* Owns the descriptor. */
void pending_add(struct pending *p, int fd);

/* Closes the oldest connection of the identity that has the most; false if there is none. */
bool pending_push_out(struct pending *p);

/* When the time of the next connection is over (monotonic_ms); 0: there is none. */
uint64_t pending_due(const struct pending *p);

/* Closes the connections whose time is over. */
void pending_expire(struct pending *p);

void pending_finish(struct pending *p);
