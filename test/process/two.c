/*
 * Two shared objects in one process, each with a static CUDA runtime. Both initialise, work on several threads and read
 * each other's memory (one driver, one primary context). One plug-in keeps working after dlclose of the other.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>
#include "test/check.h"
#include "test/process/launches.h"

struct plugin {
	void *library;
	int (*run)(int value, int **pointer);
	int (*read)(int *pointer, int lane);
	int (*free)(int *pointer);
};

static int open_plugin(struct plugin *p, const char *dir, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	p->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p->library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	p->run = (int (*)(int, int **))dlsym(p->library, "plugin_run");
	p->read = (int (*)(int *, int))dlsym(p->library, "plugin_read");
	p->free = (int (*)(int *))dlsym(p->library, "plugin_free");
	return !p->run || !p->read || !p->free;
}

static void *on_thread(void *arg)
{
	struct plugin *p = arg;
	int *pointer;
	long failed = p->run(5, &pointer);

	return (void *)(failed + p->free(pointer));
}

int main(int argc, char **argv)
{
	struct plugin a, b;
	int *pa, *pb;
	pthread_t thread;
	void *result;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	char *dir = dirname(strdup(argv[0]));
	if (open_plugin(&a, dir, "plugin-a.so") || open_plugin(&b, dir, "plugin-b.so"))
		return 1;
	CHECK_EQ(a.run(1, &pa), 0);
	CHECK_EQ(b.run(2, &pb), 0);
	CHECK_EQ(a.read(pb, 7), 2007);
	CHECK_EQ(b.read(pa, 7), 1007);
	CHECK_EQ(a.free(pa), 0);
	CHECK_EQ(a.free(pb), 0);
	CHECK_EQ(pthread_create(&thread, NULL, on_thread, &a), 0);
	CHECK_EQ(b.run(3, &pb), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(result == NULL);
	CHECK_EQ(b.free(pb), 0);
	CHECK_EQ(dlclose(a.library), 0);
	CHECK_EQ(b.run(4, &pb), 0);
	CHECK_EQ(b.free(pb), 0);
	printf("the second plug-in works after the first is unloaded\n");
	return RESULT();
}
