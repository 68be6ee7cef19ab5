/* Properties of the software devices, from the environment, the machine and the engine. */
#include "backend/soft/core/describe.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/machine.h"

/* Parse a number with an optional suffix K, M or G; 0: invalid. */
static unsigned long long parse_size(const char *text)
{
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return 0;
	unsigned long long v = strtoull(text, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	if (end[shift != 0] || v > ~0ull >> shift)
		return 0;
	return v << shift;
}

/* Read an environment variable that must be a number from 1 to max, or empty (0); false: invalid. */
static bool read_setting(const char *name, unsigned long long max, unsigned long long *value, char *why, size_t size)
{
	const char *text = secure_getenv(name);

	*value = 0;
	if (!text || !*text)
		return true;
	*value = parse_size(text);
	if (*value && *value <= max)
		return true;
	snprintf(why, size, "%s=%.80s is invalid: set a number from 1 to %llu%s", name, text, max,
		max > UINT32_MAX ? ", or a size such as 8G" : "");
	return false;
}

bool describe_settings(struct describe_settings *s, char *why, size_t size)
{
	unsigned long long devices, memory, watchdog;

	if (!read_setting("GANGWAY_DEVICE_COUNT", MAX_DEVICES, &devices, why, size) ||
		!read_setting("GANGWAY_DEVICE_MEMORY", 1ull << 48, &memory, why, size) ||
		!read_setting("GANGWAY_WATCHDOG_MS", 1u << 31, &watchdog, why, size))
		return false;
	*s = (struct describe_settings){(int)devices, memory, (unsigned)watchdog};
	return true;
}

void describe_device(void (*engine)(int ordinal, struct engine_device *dev), int physical, struct engine_device *info)
{
	*info = (struct engine_device){
		.name = "Gangway device",
		.major = 9,
		.minor = 0,
		.clock_khz = machine_clock_khz(),
		.memory_khz = machine_clock_khz(),
		.memory_bits = 64,
		.cache = machine_cache(),
		.shared_per_block = 48 << 10,
		.shared_optin = 227 << 10,
		.shared_reserved = 1 << 10,
		.max_threads_per_block = 1024,
		.max_threads_per_multiprocessor = 2048,
		.max_blocks_per_multiprocessor = 32,
		.registers_per_block = 65536,
		.max_cluster_size = 8,
	};
	if (engine)
		engine(physical, info);
}

size_t describe_memory(size_t given)
{
	return given ? given : machine_memory();
}

void describe_uuid(const char *engine, int physical, unsigned char uuid[16])
{
	machine_uuid(engine, physical, uuid);
}
