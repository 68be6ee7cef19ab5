/*
 * Load libcuda.so.1 by name, call cuInit, print "ready" and wait for the end of standard input: waiter [STATUS]
 * With "quiet", load nothing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	void *library = strcmp(word, "quiet") ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
	int (*init)(unsigned) = library ? (int (*)(unsigned))dlsym(library, "cuInit") : NULL;

	printf("ready %d\n", init ? init(0) : -1);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return atoi(word);
}
