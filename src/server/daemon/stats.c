/* Allocates the counters of a worker, and sorts times into buckets. */
#include "server/daemon/stats.h"

#include <stddef.h>
#include <sys/mman.h>

struct stats *stats_create(void)
{
	void *p = mmap(NULL, sizeof(struct stats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void stats_keep(struct stats *s)
{
	madvise(s, sizeof *s, MADV_DONTFORK);
}

void stats_destroy(struct stats *s)
{
	if (s)
		munmap(s, sizeof *s);
}

void stats_time(struct stats_times *t, uint64_t ns, uint64_t calls)
{
	uint64_t us = ns / 1000;
	unsigned bucket = us ? 64 - (unsigned)__builtin_clzll(us) : 0;

	if (ns && ns % 1000 == 0 && (us & (us - 1)) == 0) /* the upper bound belongs to the bucket */
		bucket--;
	stats_add(&t->bucket[bucket < STATS_BUCKETS ? bucket : STATS_BUCKETS], calls);
	stats_add(&t->sum_ns, ns * calls);
}

double stats_bucket_end(unsigned bucket)
{
	return (double)(1ull << bucket) / 1e6;
}
