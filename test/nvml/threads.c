/*
 * Many threads that begin, ask and end as they like, and children that go on with what their parent began.
 */
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

static void ask(bool surely)
{
	nvmlProcessInfo_t p[64];
	nvmlMemory_t m;
	nvmlUtilization_t u;
	nvmlDevice_t d;
	char text[96];
	unsigned n;

	nvmlReturn_t r = count(&n);
	CHECK(!r || (!surely && r == NVML_ERROR_UNINITIALIZED));
	r = get(0, &d);
	if (r) {
		CHECK(!surely && r == NVML_ERROR_UNINITIALIZED);
		return;
	}
	r = name(d, text, sizeof text);
	CHECK(r ? !surely && r == NVML_ERROR_UNINITIALIZED : !*expected || !strcmp(text, expected));
	r = memory(d, &m);
	CHECK(r ? !surely && r == NVML_ERROR_UNINITIALIZED : m.total == m.free + m.used);
	r = load(d, &u);
	CHECK(r ? !surely && r == NVML_ERROR_UNINITIALIZED : u.gpu <= 100);
	n = 64;
	r = processes(d, &n, p);
	CHECK(r ? !surely && r == NVML_ERROR_UNINITIALIZED : n < 64);
}

static void *run(void *arg)
{
	bool surely = arg;

	for (int i = 0; i < 40; i++) {
		if (surely)
			CHECK_EQ(init(), 0);
		ask(surely);
		if (surely)
			CHECK_EQ(end(), 0);
	}
	return NULL;
}

static void child(bool inherited)
{
	int status;
	pid_t pid = calm_fork();

	if (!pid) {
		if (!inherited)
			CHECK_EQ(init(), 0);
		ask(true);
		CHECK_EQ(init(), 0);
		ask(true);
		CHECK_EQ(end(), 0);
		ask(true);
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
	child(false); /* before anything */
	CHECK_EQ(init(), 0);
	CHECK_EQ(get(0, &d), 0);
	CHECK_EQ(name(d, expected, sizeof expected), 0);
	child(true);
	ask(true);
	CHECK_EQ(end(), 0);
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, run, i % 4 ? (void *)1 : NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(end(), NVML_ERROR_UNINITIALIZED);
	CHECK_EQ(init(), 0);
	child(true);
	ask(true);
	CHECK_EQ(end(), 0);
	return RESULT();
}
