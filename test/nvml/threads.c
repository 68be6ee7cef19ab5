/* Threads that initialise, ask and shut down in any order, and forked children that go on with their parent's NVML. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/nvml.h"
#include "test/check.h"
#include "test/fork.h"

static nvmlReturn_t (*init)(void), (*end)(void), (*count)(unsigned *), (*get)(unsigned, nvmlDevice_t *),
	(*name)(nvmlDevice_t, char *, unsigned), (*memory)(nvmlDevice_t, nvmlMemory_t *),
	(*load)(nvmlDevice_t, nvmlUtilization_t *), (*processes)(nvmlDevice_t, unsigned *, nvmlProcessInfo_t *);

static char expected[96];

static void ask_all(bool initialised)
{
	nvmlProcessInfo_t p[64];
	nvmlMemory_t m;
	nvmlUtilization_t u;
	nvmlDevice_t d;
	char text[96];
	unsigned n;

	nvmlReturn_t r = count(&n);
	CHECK(!r || (!initialised && r == NVML_ERROR_UNINITIALIZED));
	r = get(0, &d);
	if (r) {
		CHECK(!initialised && r == NVML_ERROR_UNINITIALIZED);
		return;
	}
	r = name(d, text, sizeof text);
	CHECK(r ? !initialised && r == NVML_ERROR_UNINITIALIZED : !*expected || !strcmp(text, expected));
	r = memory(d, &m);
	CHECK(r ? !initialised && r == NVML_ERROR_UNINITIALIZED : m.total == m.free + m.used);
	r = load(d, &u);
	CHECK(r ? !initialised && r == NVML_ERROR_UNINITIALIZED : u.gpu <= 100);
	n = 64;
	r = processes(d, &n, p);
	CHECK(r ? !initialised && r == NVML_ERROR_UNINITIALIZED : n < 64);
}

static void *thread_run(void *arg)
{
	bool initialised = arg;

	for (int i = 0; i < 40; i++) {
		if (initialised)
			CHECK_EQ(init(), 0);
		ask_all(initialised);
		if (initialised)
			CHECK_EQ(end(), 0);
	}
	return NULL;
}

static void ask_in_child(bool inherited)
{
	int status;
	pid_t pid = calm_fork();

	if (!pid) {
		if (!inherited)
			CHECK_EQ(init(), 0);
		ask_all(true);
		CHECK_EQ(init(), 0);
		ask_all(true);
		CHECK_EQ(end(), 0);
		ask_all(true);
		CHECK_EQ(end(), 0);
		_exit(RESULT());
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

int main(void)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	pthread_t thread[8];
	nvmlDevice_t d;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	*(void **)&end = dlsym(library, "nvmlShutdown");
	*(void **)&count = dlsym(library, "nvmlDeviceGetCount_v2");
	*(void **)&get = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&name = dlsym(library, "nvmlDeviceGetName");
	*(void **)&memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
	*(void **)&load = dlsym(library, "nvmlDeviceGetUtilizationRates");
	*(void **)&processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
	ask_in_child(false); /* before the parent has initialised NVML */
	CHECK_EQ(init(), 0);
	CHECK_EQ(get(0, &d), 0);
	CHECK_EQ(name(d, expected, sizeof expected), 0);
	ask_in_child(true);
	ask_all(true);
	CHECK_EQ(end(), 0);
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, thread_run, i % 4 ? (void *)1 : NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(end(), NVML_ERROR_UNINITIALIZED);
	CHECK_EQ(init(), 0);
	ask_in_child(true);
	ask_all(true);
	CHECK_EQ(end(), 0);
	return RESULT();
}
