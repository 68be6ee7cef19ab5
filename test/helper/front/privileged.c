/* privileged LIBRARY FUNCTION: loads a library by its path and calls its initialisation, for privileged.sh. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*init)(unsigned) = library ? (int (*)(unsigned))dlsym(library, argv[2]) : NULL;

	if (!init)
		return fprintf(stderr, "%s\n", dlerror()), 2;
	printf("%d\n", init(0));
	return 0;
}
