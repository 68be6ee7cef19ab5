#include "host/sensors.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CORES    8 /* are looked at: all of a large machine would take too long */
#define PACKAGES 8 /* have a thermometer each, at most */
#define PATH     96

/* Where the kernel tells: looked for once. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ncores; /* with a clock of their own; 0: /proc/cpuinfo has it */
static char thermometer[PACKAGES][PATH];
static int nthermometers;

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

static void clock_path(char path[PATH], int core)
{
	snprintf(path, PATH, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", core);
}

/* Its first word is one of these. */
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

static void look_for(const char *folder, const char *name, const char *value, const char *const *words)
{
	char path[PATH];

	for (int i = 0; i < 64 && nthermometers < PACKAGES; i++) {
		snprintf(path, sizeof path, "%s%d/%s", folder, i, name);
		if (is_one_of(path, words))
			snprintf(thermometer[nthermometers++], PATH, "%s%d/%s", folder, i, value);
	}
}

static void look(void)
{
	static const char *const chips[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal", NULL};
	static const char *const zones[] = {"x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc-thermal", NULL};
	char path[PATH];

	for (clock_path(path, 0); ncores < CORES && !access(path, R_OK); clock_path(path, ncores))
		ncores++;
	look_for("/sys/class/hwmon/hwmon", "name", "temp1_input", chips);
	if (!nthermometers)
		look_for("/sys/class/thermal/thermal_zone", "type", "temp", zones);
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
	char path[PATH];
	long best = 0;

	pthread_once(&once, look);
	for (int i = 0; i < ncores; i++) {
		clock_path(path, i);
		long khz = read_number(path);
		best = khz > best ? khz : best;
	}
	return best > 0 ? (int)best : clock_of_cpuinfo();
}

int sensors_temperature(void)
{
	long best = 0;

	pthread_once(&once, look);
	for (int i = 0; i < nthermometers; i++) {
		long milli = read_number(thermometer[i]);
		best = milli > best ? milli : best;
	}
	return (int)((best + 500) / 1000);
}
