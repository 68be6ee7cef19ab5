/*
 * tcp.h - who moves bytes over TCP.
 *
 *	client: board ── sending thread, or a caller that is about to wait ──> socket
 *	        down rings, words <── receiving thread, or a caller that spins ── socket
 *	server: link_next reads the socket itself; replies are sent by who makes them
 *	both: pieces of many bytes go by connections of their own (side.h)
 *
 * The two threads are there for what nobody waits for.  A caller that waits moves the bytes itself, under the
 * same locks: two changes of thread less on each round trip.  While callers receive, the receiving thread
 * stays away from the socket; it looks again after a fraction of a millisecond, or when one goes to sleep.
 */
#pragma once

#include "transport/tcp/extra_connections.h"
#include "transport/tcp/stream.h"

struct tcp {
	struct stream in;
	pthread_mutex_t in_lock, out_lock;
	pthread_t sender, receiver;
	bool sending, receiving;
	int called;                 /* eventfd, the client's: the receiving thread has something to do */
	_Atomic uint32_t away;      /* a flag: the receiving thread stays away */
	_Atomic unsigned assisting; /* callers' visits, ever: has there been one lately? */
	struct sides sides;
};

struct tcp *tcp_new(struct link *l);
int tcp_client_start(struct link *l);
