/*
 * Properties of the CPU device.  Some are those of the machine.  Properties that a processor lacks (shared memory,
 * blocks per multiprocessor) have the values of a GPU of that compute capability, because programs are tuned to these.
 */
#include "backend/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/machine.h"

static const struct capability {
	int major, minor;
	int shared_kib; /* per block, with opt-in */
	int reserved_kib;
	int threads, blocks; /* per multiprocessor */
} capabilities[] = {
	{5, 0, 48, 0, 2048, 32},
	{5, 2, 48, 0, 2048, 32},
	{5, 3, 48, 0, 2048, 32},
	{6, 0, 48, 0, 2048, 32},
	{6, 1, 48, 0, 2048, 32},
	{6, 2, 48, 0, 2048, 32},
	{7, 0, 96, 0, 2048, 32},
	{7, 2, 96, 0, 2048, 32},
	{7, 5, 64, 0, 1024, 16},
	{8, 0, 163, 1, 2048, 32},
	{8, 6, 99, 1, 1536, 16},
	{8, 7, 163, 1, 1536, 16},
	{8, 9, 99, 1, 1536, 24},
	{9, 0, 227, 1, 2048, 32},
	{10, 0, 227, 1, 2048, 32},
	{10, 3, 227, 1, 2048, 32},
	{11, 0, 227, 1, 1536, 24},
	{12, 0, 99, 1, 1536, 24},
	{12, 1, 99, 1, 1536, 24},
};

/* The capability that GANGWAY_CPU_CC (8.0 or 80) names, by default 8.0; NULL: unknown. */
static const struct capability *capability_wanted(void)
{
	const char *s = secure_getenv("GANGWAY_CPU_CC");

	if (!s || !*s)
		s = "8.0";
	for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
		const struct capability *c = &capabilities[i];
		char dotted[32], plain[32];

		snprintf(dotted, sizeof dotted, "%d.%d", c->major, c->minor);
		snprintf(plain, sizeof plain, "%d%d", c->major, c->minor);
		if (!strcmp(s, dotted) || !strcmp(s, plain))
			return c;
	}
	return NULL;
}

void cpu_capability_explain(char *why, size_t size)
{
	size_t used = (size_t)snprintf(
		why, size, "GANGWAY_CPU_CC=%.20s is invalid: set one of", secure_getenv("GANGWAY_CPU_CC"));

	for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities && used < size; i++)
		used += (size_t)snprintf(
			why + used, size - used, " %d.%d", capabilities[i].major, capabilities[i].minor);
}

bool cpu_capability(int *major, int *minor)
{
	const struct capability *c = capability_wanted();

	if (c) {
		*major = c->major;
		*minor = c->minor;
	}
	return c;
}

void cpu_describe(int ordinal, struct engine_device *dev)
{
	const struct capability *c = capability_wanted();
	char cpu[128];

	(void)ordinal;
	snprintf(dev->name, sizeof dev->name, "Gangway CPU (%s)", machine_cpu_name(cpu, sizeof cpu));
	/*
	 * Only root can read how the memory is attached.  Programs divide by the bandwidth that these two give, so they
	 * are those of a common machine: two channels of DDR4-3200, 51 GB/s.
	 */
	dev->memory_khz = 1600000;
	dev->memory_bits = 128;
	dev->integrated = true;
	if (!c)
		return;
	dev->max_cluster_size = c->major >= 9 ? 8 : 1;
	dev->major = c->major;
	dev->minor = c->minor;
	dev->shared_optin = (size_t)c->shared_kib << 10;
	dev->shared_reserved = (size_t)c->reserved_kib << 10;
	dev->max_threads_per_multiprocessor = c->threads;
	dev->max_blocks_per_multiprocessor = c->blocks;
}
