/* Read the clock and temperature of the processor from /sys and /proc. */
#include "host/sensors.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CORES_MAX        8 /* number of cores to read: reading all of a large machine takes too long */
#define THERMOMETERS_MAX 8 /* one per processor package */
#define SENSOR_PATH      96

/* The kernel's sensor files, found once. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int ncores; /* cores with a clock file; 0: use /proc/cpuinfo */
static char thermometer[THERMOMETERS_MAX][SENSOR_PATH];
static int nthermometers;

/* Read a number from a file; 0 if there is none. */
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

static void clock_path(char path[SENSOR_PATH], int core)
{
	snprintf(path, SENSOR_PATH, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", core);
}

/* Is the first word of a file one of these? */
static int first_word_matches(const char *path, const char *const *words)
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

static void find_thermometers(const char *folder, const char *name, const char *value, const char *const *words)
{
	char path[SENSOR_PATH];

	for (int i = 0; i < 64 && nthermometers < THERMOMETERS_MAX; i++) {
		snprintf(path, sizeof path, "%s%d/%s", folder, i, name);
		if (first_word_matches(path, words))
			snprintf(thermometer[nthermometers++], SENSOR_PATH, "%s%d/%s", folder, i, value);
	}
}

static void find_sensors(void)
{
	static const char *const chips[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal", NULL};
	static const char *const zones[] = {"x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc-thermal", NULL};
	char path[SENSOR_PATH];

	for (clock_path(path, 0); ncores < CORES_MAX && !access(path, R_OK); clock_path(path, ncores))
		ncores++;
	find_thermometers("/sys/class/hwmon/hwmon", "name", "temp1_input", chips);
	if (!nthermometers)
		find_thermometers("/sys/class/thermal/thermal_zone", "type", "temp", zones);
}

static int cpuinfo_clock_khz(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512], *colon;
	int best = 0, seen = 0;

	while (f && seen < CORES_MAX && fgets(line, sizeof line, f)) {
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
	char path[SENSOR_PATH];
	long best = 0;

	pthread_once(&once, find_sensors);
	for (int i = 0; i < ncores; i++) {
		clock_path(path, i);
		long khz = read_number(path);
		best = khz > best ? khz : best;
	}
	return best > 0 ? (int)best : cpuinfo_clock_khz();
}

int sensors_temperature(void)
{
	long best = 0;

	pthread_once(&once, find_sensors);
	for (int i = 0; i < nthermometers; i++) {
		long milli = read_number(thermometer[i]);
		best = milli > best ? milli : best;
	}
	return (int)((best + 500) / 1000);
}
