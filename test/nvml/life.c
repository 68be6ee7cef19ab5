/*
 * A server that comes, goes and comes again under a program that watches it: what is asked meanwhile has a defined
 * answer, and afterwards everything is as before, handles too.
 *
 *	life GANGWAY
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "abi/nvml.h"
#include "test/check.h"

static nvmlReturn_t (*init)(void), (*end)(void), (*get)(unsigned, nvmlDevice_t *),
	(*memory)(nvmlDevice_t, nvmlMemory_t *), (*name)(nvmlDevice_t, char *, unsigned),
	(*persist)(nvmlDevice_t, nvmlEnableState_t);

static char folder[] = "/tmp/gangway-life-XXXXXX", address[64];

/* A process group of its own: all of it can be killed. */
static pid_t start_server(const char *gangway)
{
	pid_t pid = fork();

	if (!pid) {
		int nowhere = open("/dev/null", O_RDWR);
		setpgid(0, 0);
		dup2(nowhere, 2);
		execl(gangway, gangway, "serve", "--on", "null", "--listen", address, (char *)NULL);
		_exit(127);
	}
	setpgid(pid, pid);
	return pid;
}

static void kill_server(pid_t pid)
{
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Tries until it works, for some minutes: a busy machine starts programs slowly. */
static nvmlReturn_t soon(nvmlDevice_t d)
{
	struct timespec t = {.tv_nsec = 20000000};
	nvmlReturn_t r = NVML_ERROR_UNKNOWN;
	nvmlMemory_t m;

	for (double start = now(); r && now() < start + 200;) {
		r = d ? memory(d, &m) : init();
		if (r)
			nanosleep(&t, NULL);
	}
	return r;
}

int main(int argc, char **argv)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	char before[96] = "", after[96] = "";
	nvmlDevice_t d = NULL, again = NULL;
	nvmlMemory_t m;

	if (!library || argc < 2 || !mkdtemp(folder))
		return 1;
	snprintf(address, sizeof address, "unix:%s/socket", folder);
	setenv("GANGWAY_DEVICE", address, 1);
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	*(void **)&end = dlsym(library, "nvmlShutdown");
	*(void **)&get = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
	*(void **)&name = dlsym(library, "nvmlDeviceGetName");
	*(void **)&persist = dlsym(library, "nvmlDeviceSetPersistenceMode");

	CHECK_EQ(init(), NVML_ERROR_DRIVER_NOT_LOADED); /* there is none yet */
	CHECK_EQ(get(0, &d), NVML_ERROR_UNINITIALIZED);
	pid_t server = start_server(argv[1]);
	CHECK_EQ(soon(NULL), 0);
	CHECK_EQ(get(0, &d), 0);
	CHECK_EQ(name(d, before, sizeof before), 0);
	CHECK_EQ(memory(d, &m), 0);
	CHECK_EQ(persist(d, NVML_FEATURE_ENABLED), NVML_ERROR_NO_PERMISSION); /* not a client's to do */

	kill_server(server);
	CHECK_EQ(memory(d, &m), NVML_ERROR_GPU_IS_LOST);
	double start = now();
	for (int i = 0; i < 100; i++)
		CHECK_EQ(memory(d, &m), NVML_ERROR_GPU_IS_LOST);
	CHECK(now() - start < 30);                 /* it does not wait for each */
	CHECK_EQ(name(d, after, sizeof after), 0); /* what never changes is known */

	server = start_server(argv[1]);
	CHECK_EQ(soon(d), 0);
	CHECK_EQ(get(0, &again), 0);
	CHECK(again == d);
	CHECK_EQ(name(d, after, sizeof after), 0);
	CHECK(!strcmp(before, after));
	/* once more, so quickly that nobody asks in between */
	kill_server(server);
	server = start_server(argv[1]);
	CHECK_EQ(soon(d), 0);
	CHECK_EQ(end(), 0);
	CHECK_EQ(memory(d, &m), NVML_ERROR_UNINITIALIZED);
	kill_server(server);
	unlink(address + 5);
	rmdir(folder);
	return RESULT();
}
