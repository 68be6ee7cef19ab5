/*
 * Load libcuda.so.1 in one of several ways, then print how many libraries of that name the process has mapped:
 *
 *	ours 1 decoy 0 version 13000
 *
 * LINKED: DT_NEEDED. OPENED: dlopen and dlsym. ASKED: dlopen and cuGetProcAddress. RUNTIME: NVIDIA's runtime, static or
 * shared. TWO: two plug-ins, each with its own runtime. PREOPEN: first open this file by its path. LIBRARY: a shared object
 * that open_namespace.c opens in another namespace.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int use(const char *dir);

#if defined(LINKED)

int cuDriverGetVersion(int *version);

int use(const char *dir)
{
	int version = -1;

	(void)dir;
	return cuDriverGetVersion(&version) ? -1 : version;
}

#elif defined(OPENED) || defined(ASKED)

int use(const char *dir)
{
	void *library = dlopen(getenv("PROBE_OPEN") ? getenv("PROBE_OPEN") : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL),
	     *f = NULL;
	int version = -1;

	(void)dir;
	if (!library)
		return fprintf(stderr, "%s\n", dlerror()), -1;
#ifdef OPENED
	f = dlsym(library, "cuDriverGetVersion");
#else
	int (*find)(const char *, void **, int, unsigned long, int *);
	find = (__typeof__(find))dlsym(library, "cuGetProcAddress_v2");
	if (!find || find("cuDriverGetVersion", &f, 12000, 0, NULL))
		return -1;
#endif
	return f && !((int (*)(int *))f)(&version) ? version : -1;
}

#elif defined(RUNTIME)

int cudaDriverGetVersion(int *version);

int use(const char *dir)
{
	int version = -1;

	(void)dir;
	return cudaDriverGetVersion(&version) ? -1 : version;
}

#elif defined(TWO)

static int use_plugin(const char *dir, const char *name)
{
	char path[PATH_MAX];
	int (*plugin)(const char *);

	snprintf(path, sizeof path, "%s/%s", dir, name);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return fprintf(stderr, "%s\n", dlerror()), -1;
	plugin = (int (*)(const char *))dlsym(library, "use");
	return plugin ? plugin(dir) : -1;
}

int use(const char *dir)
{
	int a = use_plugin(dir, "plugin-a.so"), b = use_plugin(dir, "plugin-b.so");

	return a == b ? a : -2;
}

#endif

#ifndef LIBRARY
#include "test/helper/redirect/report.h"

int main(int argc, char **argv)
{
	static char self[PATH_MAX] = "./probe";

	(void)argc, (void)argv;
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		fprintf(stderr, "no /proc\n");
#ifdef PREOPEN
	if (!dlopen(PREOPEN, RTLD_NOW | RTLD_GLOBAL))
		return fprintf(stderr, "%s\n", dlerror()), 1;
#endif
	return report(use(dirname(self)));
}
#endif
