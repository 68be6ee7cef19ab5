/* stats.h - GANGWAY_STATS: counts the frames of each operation, and prints the counts when the process ends. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* [op][1]: asked, the caller waited for a reply; [op][0]: posted.  NULL: not counting. */
extern _Atomic(uint64_t) (*stats_counts)[2];

/* Counts from now on.  The counts outlive the client: they are printed when the library is unloaded. */
void stats_start(void);
void stats_add(unsigned op, bool asked);

static inline void stats_count(unsigned op, bool asked)
{
	if (__builtin_expect(stats_counts != NULL, 0))
		stats_add(op, asked);
}
