#include "util/sensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORES 8 /* are looked at: all of a large machine would take too long */

/* A number in a small file; 0 if there is none. */
static long read_number(const char *path)
{
	char line[64] = "";
	FILE *f = fopen(path, "re");

	if (f) {
		if (!fgets(line, sizeof line, f))
			line[0] = 0;
		fclose(f);
	}
	return strtol(line, NULL, 10);
}

static int clock_of_cpuinfo(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512], *colon;
	int best = 0, seen = 0;

	while (f && seen < CORES && fgets(line, sizeof line, f)) {
		if (strncmp(line, "cpu MHz", 7) || !(colon = strchr(line, ':')))
			continue;
		int khz = (int)(atof(colon + 1) * 1000);
		best = khz > best ? khz : best;
		seen++;
	}
	if (f)
		fclose(f);
	return best;
}

int sensors_clock_khz(void)
{
	char path[96];
	long best = 0;

	for (int i = 0; i < CORES; i++) {
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i);
		long khz = read_number(path);
		best = khz > best ? khz : best;
	}
	return best > 0 ? (int)best : clock_of_cpuinfo();
}

/* The first word of a file is one of these. */
static int is_one_of(const char *path, const char *const *words)
{
	char line[64] = "";
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	if (fscanf(f, "%63s", line) != 1)
		line[0] = 0;
	fclose(f);
	for (; *words; words++)
		if (!strcmp(line, *words))
			return 1;
	return 0;
}

static long hottest(const char *name, const char *value, const char *const *words)
{
	char path[96];
	long best = 0;

	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof path, name, i);
		if (!is_one_of(path, words))
			continue;
		snprintf(path, sizeof path, value, i);
		long milli = read_number(path);
		best = milli > best ? milli : best;
	}
	return best;
}

int sensors_temperature(void)
{
	static const char *const chips[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal", NULL};
	static const char *const zones[] = {"x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc-thermal", NULL};
	long milli = hottest("/sys/class/hwmon/hwmon%d/name", "/sys/class/hwmon/hwmon%d/temp1_input", chips);

	if (!milli)
		milli = hottest("/sys/class/thermal/thermal_zone%d/type", "/sys/class/thermal/thermal_zone%d/temp", zones);
	return (int)((milli + 500) / 1000);
}
