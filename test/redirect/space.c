/* Opens a shared object in a namespace of its own and has it use libcuda.so.1: space FILE. */
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include "test/redirect/report.h"

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*use)(const char *);

	if (!library)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	use = (int (*)(const char *))dlsym(library, "use");
	return use ? report(use(dirname(strdup(argv[1])))) : 1;
}
