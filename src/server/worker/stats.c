/* Allocates the counters of a worker, and sorts times into buckets. */
#include "server/worker/stats.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#include "transport/memory.h"

static void *stats_map(int fd, int protection)
{
	void *p = mmap(NULL, sizeof(struct stats), protection, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

const struct stats *stats_create(int *fd)
{
	const struct stats *s = NULL;

	*fd = memory_create("gangway-statistics", sizeof *s);
	if (*fd < 0)
		errno = -*fd;
	else if (!(s = stats_map(*fd, PROT_READ)))
		close(*fd);
	return s;
}

struct stats *stats_open(int fd)
{
	struct stats *s = stats_map(fd, PROT_READ | PROT_WRITE);

	close(fd);
	return s;
}

void stats_destroy(const struct stats *s)
{
	if (s)
		munmap((void *)s, sizeof *s);
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
