/*
 * Other processes as one process sees them through NVML: their memory and ids, while they live.  The others use the
 * device in their own process, or are clients of the same server; if root runs this over a unix socket, of different
 * users.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "abi/cuda.h"
#include "abi/nvml.h"
#include "gen/cuda_protos.h"
#include "test/check.h"
#include "test/fork.h"

#define MIB    (1u << 20)
#define NOBODY 65534

static nvmlReturn_t (*init)(void), (*end)(void), (*get)(unsigned, nvmlDevice_t *),
	(*memory)(nvmlDevice_t, nvmlMemory_t *), (*processes)(nvmlDevice_t, unsigned *, nvmlProcessInfo_t *),
	(*name_of)(unsigned, char *, unsigned), (*device_name)(nvmlDevice_t, char *, unsigned);

/* Uses device 0 as another user; writes a byte when it does, and ends with its input. */
static void use_device(unsigned mib, uid_t user, int in, int out)
{
	CUcontext context;
	CUdeviceptr p;
	char c;

	if (user && (setgid(user) || setuid(user)))
		_exit(1);
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&p, mib * MIB) ||
		cuMemsetD8_v2(p, 1, mib * MIB))
		_exit(1);
	if (write(out, "y", 1) == 1 && read(in, &c, 1) >= 0)
		_exit(0);
	_exit(1);
}

struct device_user {
	pid_t pid;
	int hold;
};

static struct device_user start_user(unsigned mib, uid_t user)
{
	int up[2], down[2];
	struct device_user u = {-1, -1};
	char c = 0;

	if (pipe(up) || pipe(down))
		return u;
	u.pid = calm_fork();
	if (!u.pid) {
		close(down[1]);
		use_device(mib, user, down[0], up[1]);
	}
	close(up[1]);
	close(down[0]);
	CHECK(read(up[0], &c, 1) == 1 && c == 'y');
	close(up[0]);
	u.hold = down[1];
	return u;
}

static void stop_user(struct device_user u, bool kindly)
{
	if (!kindly)
		kill(u.pid, SIGKILL);
	close(u.hold);
	waitpid(u.pid, NULL, 0);
}

static unsigned long long memory_used_by(pid_t pid)
{
	nvmlProcessInfo_t p[256];
	nvmlDevice_t d;
	unsigned n = 256;

	CHECK_EQ(get(0, &d), 0);
	CHECK_EQ(processes(d, &n, p), 0);
	for (unsigned i = 0; i < n; i++)
		if (p[i].pid == (unsigned)pid)
			return p[i].usedGpuMemory ? p[i].usedGpuMemory : 1;
	return 0;
}

static unsigned long long memory_used(void)
{
	nvmlDevice_t d;
	nvmlMemory_t m = {0};

	CHECK_EQ(get(0, &d), 0);
	CHECK_EQ(memory(d, &m), 0);
	return m.used;
}

/* Waits for a value: a server notices the end of a client a moment later. */
static bool becomes(unsigned long long (*value)(void), unsigned long long want)
{
	struct timespec t = {.tv_nsec = 10000000};

	for (int i = 0; i < 10000; i++) {
		if (value() == want)
			return true;
		nanosleep(&t, NULL);
	}
	return false;
}

static void check_two(void)
{
	unsigned long long before = memory_used();
	struct device_user a = start_user(48, 0), b = start_user(64, 0);
	char name[4096] = "";

	CHECK_EQ(memory_used(), before + 112 * MIB);
	CHECK_EQ(memory_used_by(a.pid), 48 * MIB);
	CHECK_EQ(memory_used_by(b.pid), 64 * MIB);
	CHECK_EQ(memory_used_by(getpid()), 0); /* this process only watches */
	CHECK_EQ(name_of((unsigned)a.pid, name, sizeof name), 0);
	CHECK(strstr(name, "nvml-processes"));
	CHECK_EQ(name_of(0x7ffffff0, name, sizeof name), NVML_ERROR_NOT_FOUND);
	stop_user(a, false);
	CHECK(becomes(memory_used, before + 64 * MIB));
	CHECK_EQ(memory_used_by(a.pid), 0);
	stop_user(b, true);
	CHECK(becomes(memory_used, before));
	CHECK_EQ(memory_used_by(b.pid), 0);
}

/* NVML and CUDA agree in a process that shares the device with others. */
static void check_agrees(void)
{
	struct device_user a = start_user(32, 0);
	pid_t pid = calm_fork();
	int status;

	if (!pid) {
		size_t left, total;
		CUcontext context;
		CUdeviceptr p;
		nvmlMemory_t m;
		nvmlDevice_t d;

		CHECK_EQ(init(), 0);
		CHECK_EQ(get(0, &d), 0);
		CHECK_EQ(cuInit(0), 0);
		CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), 0);
		CHECK_EQ(cuMemAlloc_v2(&p, 16 * MIB), 0);
		CHECK_EQ(cuMemGetInfo_v2(&left, &total), 0);
		CHECK_EQ(memory(d, &m), 0);
		CHECK_EQ(m.free, left);
		CHECK_EQ(m.total, total);
		CHECK_EQ(m.used, 48 * MIB);
		_exit(RESULT());
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	stop_user(a, true);
}

/* Another user sees its own processes and the total memory in use; root sees both processes. */
static void check_strangers(void)
{
	struct device_user roots = start_user(24, 0), theirs = start_user(40, NOBODY);
	int status;

	CHECK_EQ(memory_used_by(roots.pid), 24 * MIB);
	CHECK_EQ(memory_used_by(theirs.pid), 40 * MIB);
	pid_t pid = calm_fork();
	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		CHECK_EQ(memory_used_by(roots.pid), 0);
		CHECK_EQ(memory_used_by(theirs.pid), 40 * MIB);
		CHECK(memory_used() >= 64 * MIB);
		_exit(RESULT());
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	stop_user(theirs, true); /* first: it inherited the other's pipe */
	stop_user(roots, true);
}

/* More processes than one reply holds, which use the same device without the server. */
static void check_many(void)
{
	enum { MANY = 80 };
	char name[96] = "";
	struct device_user u[MANY];
	const char *served = getenv("GANGWAY_DEVICE");
	nvmlDevice_t d;
	unsigned seen = 0;

	CHECK_EQ(get(0, &d), 0);
	CHECK_EQ(device_name(d, name, sizeof name), 0);
	char *keep = strdup(served);
	setenv("GANGWAY_DEVICE", strstr(name, "null") ? "null" : "cpu", 1);
	for (int i = 0; i < MANY; i++)
		u[i] = start_user(1, 0);
	setenv("GANGWAY_DEVICE", keep, 1);
	for (int i = 0; i < MANY; i++)
		seen += memory_used_by(u[i].pid) == MIB;
	CHECK_EQ(seen, MANY);
	for (int i = MANY - 1; i >= 0; i--)
		stop_user(u[i], false);
	free(keep);
}

int main(int argc, char **argv)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	const char *device = getenv("GANGWAY_DEVICE");

	if (!library || argc < 1) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	*(void **)&end = dlsym(library, "nvmlShutdown");
	*(void **)&get = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
	*(void **)&processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
	*(void **)&device_name = dlsym(library, "nvmlDeviceGetName");
	*(void **)&name_of = dlsym(library, "nvmlSystemGetProcessName");
	CHECK_EQ(init(), 0);
	check_two();
	check_agrees();
	if (device && !strncmp(device, "unix:", 5) && !geteuid() && !chmod(device + 5, 0666)) {
		char folder[256];

		snprintf(folder, sizeof folder, "%s", device + 5);
		*strrchr(folder, '/') = 0;
		CHECK(!chmod(folder, 0755));
		check_strangers();
	}
	if (device && !strncmp(device, "unix:", 5))
		check_many();
	(void)argv;
	CHECK_EQ(end(), 0);
	return RESULT();
}
