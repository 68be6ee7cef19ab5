/* Query memory, processor and identity of this machine. */
#include "host/machine.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read the first line of a file; "" if there is none. */
static void read_first_line(const char *path, char *line, size_t size)
{
	FILE *f = fopen(path, "re");

	line[0] = 0;
	if (!f)
		return;
	if (!fgets(line, size, f))
		line[0] = 0;
	line[strcspn(line, "\n")] = 0;
	fclose(f);
}

/* Read a number from a file; SIZE_MAX for "max" and for anything else that is not a number. */
static size_t read_limit(const char *path)
{
	char line[64], *end;

	read_first_line(path, line, sizeof line);
	unsigned long long v = strtoull(line, &end, 10);
	return end == line || v == 0 || v > SIZE_MAX ? SIZE_MAX : v;
}

/* The lowest value that `read` returns for a file of our control group (version 2) and its ancestors. */
static size_t cgroup_lowest(const char *file, size_t (*read)(const char *path))
{
	char line[512], path[640];
	size_t limit = SIZE_MAX, here;

	read_first_line("/proc/self/cgroup", line, sizeof line);
	if (strncmp(line, "0::/", 4) != 0)
		strcpy(line, "0::/");
	for (char *group = line + 3;; *strrchr(group, '/') = 0) {
		snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", group, file);
		here = read(path);
		if (here < limit)
			limit = here;
		if (!strrchr(group, '/'))
			return limit;
	}
}

static size_t cgroup_memory_limit(void)
{
	size_t old = read_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes"); /* version 1 */
	size_t limit = cgroup_lowest("memory.max", read_limit);

	return old < limit ? old : limit;
}

/* Processors that a quota of time in each period amounts to, rounded up. */
static size_t quota_processors(size_t quota, size_t period)
{
	return quota == SIZE_MAX || period == SIZE_MAX ? SIZE_MAX : quota / period + (quota % period != 0);
}

/* cpu.max: "QUOTA PERIOD", or "max PERIOD". */
static size_t read_quota(const char *path)
{
	unsigned long long quota, period;
	char line[64];

	read_first_line(path, line, sizeof line);
	if (sscanf(line, "%llu %llu", &quota, &period) != 2 || !quota || !period)
		return SIZE_MAX;
	return quota_processors(quota, period);
}

static size_t cgroup_processors(void)
{
	size_t old = quota_processors(
		read_limit("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), read_limit("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
	size_t limit = cgroup_lowest("cpu.max", read_quota);

	return old < limit ? old : limit;
}

unsigned machine_processors(void)
{
	size_t limit = cgroup_processors();
	cpu_set_t set;
	unsigned n = sched_getaffinity(0, sizeof set, &set) ? 1 : (unsigned)CPU_COUNT(&set);

	return limit < n ? (unsigned)limit : n;
}

size_t machine_memory(void)
{
	size_t ram = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
	size_t limit = cgroup_memory_limit();

	return limit < ram ? limit : ram;
}

/* Read the value of the first line of /proc/cpuinfo with this key; "" if there is none. */
static void read_cpuinfo(const char *key, char *value, size_t size)
{
	char line[512];
	FILE *f = fopen("/proc/cpuinfo", "re");

	value[0] = 0;
	while (f && !value[0] && fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, key, strlen(key)) != 0 || !colon)
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(value, size, "%s", colon + 1 + (colon[1] == ' '));
	}
	if (f)
		fclose(f);
}

int machine_clock_khz(void)
{
	char text[64];
	size_t khz = read_limit("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");

	if (khz != SIZE_MAX)
		return (int)khz;
	read_cpuinfo("cpu MHz", text, sizeof text);
	double mhz = atof(text);
	return mhz > 0 ? (int)(mhz * 1000) : 1000000;
}

size_t machine_cache(void)
{
	char path[96], line[32], *unit;
	size_t largest = 0;

	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		read_first_line(path, line, sizeof line);
		size_t size = strtoul(line, &unit, 10);
		size <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
		if (size > largest)
			largest = size;
	}
	return largest;
}

const char *machine_cpu_name(char *name, size_t size)
{
	read_cpuinfo("model name", name, size);
	if (!name[0])
		read_cpuinfo("Hardware", name, size);
	if (!name[0])
		snprintf(name, size, "CPU");
	return name;
}

/* FNV-1a with a finaliser; need not be secure. */
static uint64_t fnv_hash(const char *text, uint64_t h)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

void machine_uuid(const char *what, int ordinal, unsigned char uuid[16])
{
	char id[256], text[384];

	read_first_line("/etc/machine-id", id, sizeof id);
	if (!id[0] && gethostname(id, sizeof id))
		strcpy(id, "nameless");
	id[sizeof id - 1] = 0;
	snprintf(text, sizeof text, "%s/%s/%d", id, what, ordinal);
	uint64_t a = fnv_hash(text, 0xcbf29ce484222325ull), b = fnv_hash(text, a);
	memcpy(uuid, &a, 8);
	memcpy(uuid + 8, &b, 8);
	uuid[6] = (uuid[6] & 0x0f) | 0x80; /* version 8: custom */
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}
