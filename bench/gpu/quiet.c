/*
 * Find the least disturbed processors of this machine, and print them in taskset's format.
 *
 *	quiet [-v] N		the N best
 *	quiet -t NUMBER		how disturbed one is now: what the loop takes there, in ns
 *
 * A virtual processor shares its core with another virtual processor, perhaps of another tenant, and runs at half speed
 * while that one is busy. The program therefore times a loop that fills a core on each processor in turn for a second,
 * and prints the fastest processors.
 * -v: print each processor's time relative to the best, on standard error.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 1024

static struct processor {
	int number;
	double sum; /* of the loop times */
} all[MOST];

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Several independent chains of cheap instructions: they run visibly slower on a shared core. */
static double loop(void)
{
	static volatile uint64_t sink;
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
	double start = now_us();

	for (unsigned i = 0; i < 50000; i++) {
		a += i ^ b;
		b ^= a << 1;
		c += i ^ d;
		d ^= c << 1;
		e += i ^ f;
		f ^= e << 1;
	}
	sink = a + b + c + d + e + f;
	(void)sink;
	return now_us() - start;
}

static double timed_on(int processor)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(processor, &only);
	if (sched_setaffinity(0, sizeof only, &only))
		return 1e9;
	return loop();
}

/* Average loop time over 30 ms, long enough for another tenant to be scheduled. */
static double now_on(int processor)
{
	double start = now_us(), sum = 0;
	unsigned n = 0;

	do
		sum += timed_on(processor), n++;
	while (now_us() < start + 3e4);
	return sum / n;
}

static int by_sum(const void *a, const void *b)
{
	double x = ((const struct processor *)a)->sum, y = ((const struct processor *)b)->sum;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int verbose = argc > 1 && !strcmp(argv[1], "-v"), wanted = argc > 1 + verbose ? atoi(argv[1 + verbose]) : 0,
	    n = 0;
	cpu_set_t allowed;

	if (argc == 3 && !strcmp(argv[1], "-t")) {
		printf("%.0f\n", now_on(atoi(argv[2])) * 1000);
		return 0;
	}
	if (wanted < 1 || sched_getaffinity(0, sizeof allowed, &allowed)) {
		fprintf(stderr, "usage: quiet [-v] N | quiet -t NUMBER\n");
		return 2;
	}
	for (int i = 0; i < MOST; i++)
		if (CPU_ISSET(i, &allowed))
			all[n++].number = i;
	for (double end = now_us() + 1e6; now_us() < end;)
		for (int i = 0; i < n; i++)
			all[i].sum += timed_on(all[i].number);
	qsort(all, (size_t)n, sizeof *all, by_sum);
	for (int i = 0; verbose && i < n; i++)
		fprintf(stderr, "%d: %.2f\n", all[i].number, all[i].sum / all[0].sum);
	for (int i = 0; i < n && i < wanted; i++)
		printf("%s%d", i ? "," : "", all[i].number);
	printf("\n");
	return 0;
}
