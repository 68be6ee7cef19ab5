/* Load follow.c, built as a library, and run its main function. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *module = dlopen(MODULE, RTLD_NOW);
	int (*follow_main)(int, char **) = module ? (int (*)(int, char **))dlsym(module, "follow_main") : NULL;

	if (!follow_main)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	return follow_main(argc, argv);
}
