/*
 * tcp.h - the threads that move bytes over TCP.
 *
 *	client: board ── sending thread, or a caller that is about to wait ──> socket
 *	        down rings, words <── receiving thread, or a caller that spins ── socket
 *	server: link_next reads the socket itself; the thread that makes a reply sends it
 *	both: large pieces use extra connections (extra_connections.h)
 *
 * The two threads move frames that no caller waits for. A caller that waits moves the bytes itself, under the same locks,
 * which saves two thread switches for each round trip. While callers receive, the receiving thread stays away from the
 * socket; it checks again after a fraction of a millisecond, or when a caller goes to sleep.
 */
#pragma once

#include "transport/tcp/extra_connections.h"
#include "transport/tcp/heartbeat.h"
#include "transport/tcp/stream.h"

struct tcp {
	struct stream in;
	pthread_mutex_t in_lock, out_lock;
	pthread_t sender, receiver;
	bool sending, receiving;
	int called;                 /* client: eventfd that wakes the receiving thread */
	_Atomic uint32_t away;      /* flag: the receiving thread stays away from the socket */
	_Atomic unsigned assisting; /* counts calls of tcp_assist, to see whether one came lately */
	struct extras extras;
	struct heartbeat heartbeat;
};

struct tcp *tcp_new(struct link *l, const struct link_config *config);
int tcp_client_start(struct link *l);
