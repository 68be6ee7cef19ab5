/*
 * The cost of NVML for a monitoring program: the first answers in a fresh process, and a poll of 20 values.
 *
 *	nvml [ROUNDS [PAUSE_MS [LIBRARY]]]	on the device that GANGWAY_DEVICE names; or another NVML, to compare
 *
 * "Cold" covers nvmlInit_v2, nvmlDeviceGetCount_v2, a handle and nvmlDeviceGetMemoryInfo, each time in a new process
 * that has already loaded the library. The next process starts PAUSE_MS later, when the server has a spare again.
 *
 * The poll starts one second after the first answers, when the worker has released the resources that it keeps ready
 * for computing programs, and repeats ten times a second.
 *
 * nvmlDeviceGetPcieThroughput samples for 20 ms before it returns, on every device, so the program times it separately.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "gen/nvml_ops.h"
#include "wire/names.h"

static struct nvml_ops f;

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double cold(void)
{
	double start = now_us();
	nvmlMemory_t m;
	nvmlDevice_t d;
	unsigned n;

	if (f.nvmlInit_v2() || f.nvmlDeviceGetCount_v2(&n) || f.nvmlDeviceGetHandleByIndex_v2(0, &d) ||
		f.nvmlDeviceGetMemoryInfo(d, &m)) {
		fprintf(stderr, "no answer\n");
		exit(1);
	}
	return now_us() - start;
}

/* Values that monitors poll every second. The CPU device does not support most of them, but the call costs the same. */
static const char *const values[] = {"utilisation", "memory", "temperature", "power", "power limit", "fan", "clock",
	"clock of the SMs", "clock of the memory", "highest clock", "performance state", "PCIe replays", "why so slow",
	"PCIe generation", "PCIe width", "encoder", "decoder", "energy", "computing processes", "drawing processes"};
#define VALUES (int)(sizeof values / sizeof *values)

static void ask(nvmlDevice_t d, int which)
{
	nvmlUtilization_t u;
	nvmlMemory_t m;
	nvmlProcessInfo_t p[64];
	nvmlPstates_t state;
	unsigned v, w, n = 64;
	unsigned long long l;

	switch (which) {
	case 0:
		f.nvmlDeviceGetUtilizationRates(d, &u);
		break;
	case 1:
		f.nvmlDeviceGetMemoryInfo(d, &m);
		break;
	case 2:
		f.nvmlDeviceGetTemperature(d, NVML_TEMPERATURE_GPU, &v);
		break;
	case 3:
		f.nvmlDeviceGetPowerUsage(d, &v);
		break;
	case 4:
		f.nvmlDeviceGetEnforcedPowerLimit(d, &v);
		break;
	case 5:
		f.nvmlDeviceGetFanSpeed(d, &v);
		break;
	case 6:
		f.nvmlDeviceGetClockInfo(d, NVML_CLOCK_GRAPHICS, &v);
		break;
	case 7:
		f.nvmlDeviceGetClockInfo(d, NVML_CLOCK_SM, &v);
		break;
	case 8:
		f.nvmlDeviceGetClockInfo(d, NVML_CLOCK_MEM, &v);
		break;
	case 9:
		f.nvmlDeviceGetMaxClockInfo(d, NVML_CLOCK_SM, &v);
		break;
	case 10:
		f.nvmlDeviceGetPerformanceState(d, &state);
		break;
	case 11:
		f.nvmlDeviceGetPcieReplayCounter(d, &v);
		break;
	case 12:
		f.nvmlDeviceGetCurrentClocksEventReasons(d, &l);
		break;
	case 13:
		f.nvmlDeviceGetCurrPcieLinkGeneration(d, &v);
		break;
	case 14:
		f.nvmlDeviceGetCurrPcieLinkWidth(d, &v);
		break;
	case 15:
		f.nvmlDeviceGetEncoderUtilization(d, &v, &w);
		break;
	case 16:
		f.nvmlDeviceGetDecoderUtilization(d, &v, &w);
		break;
	case 17:
		f.nvmlDeviceGetTotalEnergyConsumption(d, &l);
		break;
	case 18:
		f.nvmlDeviceGetComputeRunningProcesses_v3(d, &n, p);
		break;
	case 19:
		f.nvmlDeviceGetGraphicsRunningProcesses_v3(d, &n, p);
		break;
	}
}

static void poll_once(nvmlDevice_t d)
{
	for (int i = 0; i < VALUES; i++)
		ask(d, i);
}

static void throughput_once(nvmlDevice_t d)
{
	unsigned v;

	f.nvmlDeviceGetPcieThroughput(d, NVML_PCIE_UTIL_TX_BYTES, &v);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *what, double *t, int n)
{
	qsort(t, (size_t)n, sizeof *t, by_size);
	printf("%-28s median %8.0f us   90%% %8.0f us   worst %8.0f us\n", what, t[n / 2], t[n * 9 / 10], t[n - 1]);
}

static double in_a_process(int pause_ms)
{
	double t = -1;
	int pair[2];

	if (pipe(pair))
		exit(1);
	pid_t pid = fork();
	if (!pid) {
		t = cold();
		_exit(write(pair[1], &t, sizeof t) == sizeof t ? 0 : 1);
	}
	close(pair[1]);
	if (read(pair[0], &t, sizeof t) != sizeof t)
		exit(1);
	close(pair[0]);
	waitpid(pid, NULL, 0);
	usleep((unsigned)pause_ms * 1000);
	return t;
}

/* Time each value separately to show where the time goes. */
static void measure_each(nvmlDevice_t d, double *t, int rounds)
{
	for (int v = 0; v < VALUES; v++) {
		for (int i = 0; i < rounds; i++) {
			double start = now_us();
			ask(d, v);
			t[i] = now_us() - start;
			usleep(2000);
		}
		print(values[v], t, rounds);
	}
}

static void measure(const char *what, void (*once)(nvmlDevice_t), nvmlDevice_t d, double *t, int rounds, int pause_ms)
{
	for (int i = 0; i < rounds; i++) {
		double start = now_us();
		once(d);
		t[i] = now_us() - start;
		usleep((unsigned)pause_ms * 1000);
	}
	print(what, t, rounds);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 50, pause_ms = argc > 2 ? atoi(argv[2]) : 20;
	double *t = calloc((size_t)rounds, sizeof *t);
	void *library = dlopen(argc > 3 ? argv[3] : "libnvidia-ml.so.1", RTLD_NOW);
	void **slots = (void **)&f;
	nvmlDevice_t d;

	if (!library || rounds < 1 || pause_ms < 0) {
		fprintf(stderr, "%s\n", library ? "usage: nvml [ROUNDS [PAUSE_MS [LIBRARY]]]" : dlerror());
		return 1;
	}
	for (int i = 0; i < nvml_OP_COUNT; i++)
		slots[i] = dlsym(library, nvml_names[i]);
	for (int i = 0; i < rounds; i++)
		t[i] = in_a_process(pause_ms);
	print("init, count, memory (cold)", t, rounds);
	if (f.nvmlInit_v2() || f.nvmlDeviceGetHandleByIndex_v2(0, &d))
		return 1;
	sleep(1);
	measure("poll of 20 values", poll_once, d, t, rounds, 100);
	measure("PCIe throughput", throughput_once, d, t, rounds < 10 ? rounds : 10, 2);
	measure_each(d, t, rounds);
	return 0;
}
