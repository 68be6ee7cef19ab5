/*
 * gangway run gives programs on a CPU device Gangway's cuBLAS, also if a server shares that device: the library that
 * this program opens by name is the one that works there.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "test/check.h"

static void *symbol(void *library, const char *name)
{
	void *p = dlsym(library, name);

	CHECK(p);
	return p;
}

int main(void)
{
	static const char *const names[] = {
		"libcublas.so.12", "libcublas.so.13", "libcublasLt.so.12", "libcublasLt.so.13"};
	void *h = NULL;

	for (int i = 0; i < 4; i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			failures++;
			continue;
		}
		const char *create = i < 2 ? "cublasCreate_v2" : "cublasLtCreate",
			   *destroy = i < 2 ? "cublasDestroy_v2" : "cublasLtDestroy";
		int (*make)(void **) = (int (*)(void **))symbol(library, create);
		int (*end)(void *) = (int (*)(void *))symbol(library, destroy);

		CHECK_EQ(make(&h), 0);
		CHECK_EQ(end(h), 0);
	}
	return RESULT();
}
