/*
 * A server starts, dies and starts again under a program that watches it: calls made meanwhile have a defined result,
 * and afterwards everything works as before, including old handles.
 *
 *	server_restart GANGWAY
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

static char folder[] = "/tmp/gangway-restart-XXXXXX", address[64];
static const char *gangway;
static pid_t server;

/* In a process group of its own, so that the workers can be killed with it. */
static void start_server(void)
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
	server = pid;
}

static void kill_server(void)
{
	kill(-server, SIGKILL);
	waitpid(server, NULL, 0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * A worker of the killed server may still hold its listening socket for a moment.  A new server then finds the
 * address in use and exits: start it again.
 */
static void restart_if_exited(void)
{
	if (waitpid(server, NULL, WNOHANG) == server)
		start_server();
}

/* Tries until the call succeeds, for some minutes: a busy machine starts programs slowly. */
static nvmlReturn_t call_until_success(nvmlDevice_t d)
{
	struct timespec t = {.tv_nsec = 20000000};
	nvmlReturn_t r = NVML_ERROR_UNKNOWN;
	nvmlMemory_t m;

	for (double start = now(); r && now() < start + 200;) {
		r = d ? memory(d, &m) : init();
		if (!r)
			break;
		restart_if_exited();
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
	gangway = argv[1];
	snprintf(address, sizeof address, "unix:%s/socket", folder);
	setenv("GANGWAY_DEVICE", address, 1);
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	*(void **)&end = dlsym(library, "nvmlShutdown");
	*(void **)&get = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
	*(void **)&name = dlsym(library, "nvmlDeviceGetName");
	*(void **)&persist = dlsym(library, "nvmlDeviceSetPersistenceMode");

	CHECK_EQ(init(), NVML_ERROR_DRIVER_NOT_LOADED); /* no server yet */
	CHECK_EQ(get(0, &d), NVML_ERROR_UNINITIALIZED);
	start_server();
	CHECK_EQ(call_until_success(NULL), 0);
	CHECK_EQ(get(0, &d), 0);
	CHECK_EQ(name(d, before, sizeof before), 0);
	CHECK_EQ(memory(d, &m), 0);
	CHECK_EQ(persist(d, NVML_FEATURE_ENABLED), NVML_ERROR_NO_PERMISSION); /* clients may not change a device */

	kill_server();
	CHECK_EQ(memory(d, &m), NVML_ERROR_GPU_IS_LOST);
	double start = now();
	for (int i = 0; i < 100; i++)
		CHECK_EQ(memory(d, &m), NVML_ERROR_GPU_IS_LOST);
	CHECK(now() - start < 30);                 /* calls do not wait for a server */
	CHECK_EQ(name(d, after, sizeof after), 0); /* constants are cached */

	start_server();
	CHECK_EQ(call_until_success(d), 0);
	CHECK_EQ(get(0, &again), 0);
	CHECK(again == d);
	CHECK_EQ(name(d, after, sizeof after), 0);
	CHECK(!strcmp(before, after));
	/* a restart between two calls */
	kill_server();
	start_server();
	CHECK_EQ(call_until_success(d), 0);
	CHECK_EQ(end(), 0);
	CHECK_EQ(memory(d, &m), NVML_ERROR_UNINITIALIZED);
	kill_server();
	unlink(address + 5);
	rmdir(folder);
	return RESULT();
}
