/*
 * Check that every listed function of a library returns NUMBER, or, for a text function, a text with the word stub:
 * calls LIBRARY LIST NUMBER [TEXT-FUNCTION...]
 *
 * The program passes no arguments: stubs ignore them. It initialises a libcuda.so.1 first.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_text(const char *name, char **texts)
{
	for (; *texts; texts++)
		if (!strcmp(*texts, name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	char name[256];
	int called = 0, failed = 0;

	if (argc < 4)
		return 2;
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	FILE *list = fopen(argv[2], "r");
	if (!library || !list) {
		printf("cannot open %s or %s\n", argv[1], argv[2]);
		return 1;
	}
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
	if (init)
		init(0);
	while (fgets(name, sizeof name, list)) {
		name[strcspn(name, "\n")] = 0;
		void *f = dlsym(library, name);
		bool text = is_text(name, argv + 4);
		int result = f && !text ? ((int (*)(void))f)() : -1;
		called++;
		if (f && (text ? strstr(((const char *(*)(void))f)(), "stub") != NULL : result == atoi(argv[3])))
			continue;
		printf(f ? "%s() = %d\n" : "%s is missing\n", name, result);
		failed = 1;
	}
	fclose(list);
	printf("%d functions called\n", called);
	return failed || !called;
}
