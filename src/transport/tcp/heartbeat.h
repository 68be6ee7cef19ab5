/*
 * heartbeat.h - notices a peer that is gone or stalled, on a TCP link.
 *
 * A thread on each side sends a heartbeat on every connection of the link, every beat_ms, however busy the rest of the
 * process is. It also asks the kernel how long ago each connection last received data. After silence_ms without any it
 * breaks the link. Data that this process has not read yet counts as life: then this side is the slow one.
 *
 * Heartbeats find what TCP cannot: a proxy that holds the connection open but forwards nothing, and a process that is
 * stopped. A machine that vanishes is found by TCP_USER_TIMEOUT and keep-alive as well (socket_tune).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct link;
struct link_config;

struct heartbeat {
	unsigned beat_ms, silence_ms, notice_ms;
	void (*on_silence)(void *arg, bool silent);
	void *arg;
	int stop; /* eventfd: ends the thread */
	bool running, noticed;
	pthread_t thread;
};

void heartbeat_init(struct heartbeat *h, const struct link_config *config);
int heartbeat_start(struct link *l);
void heartbeat_finish(struct link *l); /* the link is broken, or this is a forked child */
