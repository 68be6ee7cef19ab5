/* Open a shared object that uses libcuda.so.1, or the driver itself, in a new namespace: open_namespace FILE */
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include "test/helper/redirect/report.h"

static int ask(void *driver)
{
	int (*get)(int *) = (int (*)(int *))dlsym(driver, "cuDriverGetVersion"), version = -1;

	if (get)
		get(&version);
	return version;
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*use)(const char *);

	if (!library)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	use = (int (*)(const char *))dlsym(library, "use");
	return report(use ? use(dirname(strdup(argv[1]))) : ask(library));
}
