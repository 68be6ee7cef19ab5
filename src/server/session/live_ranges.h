/*
 * live_ranges.h - in fuzz builds (GANGWAY_CHECK_RANGES), checks every range of memory that the worker touches on behalf
 * of its client: each byte must belong to an arena of the link, to host memory that the client shares, or to memory that
 * the driver has allocated at this moment. A violation ends the process with a message.
 *
 * Trust: this is a second opinion on the checks of copy/, memory/ and graph/. It shares no code with them. In other builds
 * the functions are empty and cost nothing.
 */
#pragma once

#include <stdint.h>

struct session;

#ifdef GANGWAY_CHECK_RANGES
/* Dispatcher: the client's host memory is mapped here from now on, or is about to go. */
void live_host_add(uint64_t address, uint64_t size);
void live_host_remove(uint64_t address);

/* Any thread. */
void live_check(struct session *s, uint64_t address, uint64_t size, const char *what);
#else
static inline void live_host_add(uint64_t address, uint64_t size)
{
	(void)address, (void)size;
}

static inline void live_host_remove(uint64_t address)
{
	(void)address;
}

static inline void live_check(struct session *s, uint64_t address, uint64_t size, const char *what)
{
	(void)s, (void)address, (void)size, (void)what;
}
#endif
