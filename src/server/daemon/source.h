/* source.h - the parent's event loop: its sources of events, and its clock. */
#pragma once

#include <stdint.h>

/* An epoll source: the first member of everything that the parent listens to. */
struct source {
	void (*ready)(struct source *s, void *server);
};

/* CLOCK_MONOTONIC in milliseconds. */
uint64_t monotonic_ms(void);
