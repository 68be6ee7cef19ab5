/*
 * Exit in one of several ways: exits HOW. Calls after the shutdown of the runtime may fail, but must not crash or hang;
 * earlier calls must succeed.
 */
#include <unistd.h>
#include "runtime.h"

__global__ void spin(int *p)
{
	*p += 1;
}

static int *memory;

/* Call the runtime and accept any result: the calls only have to return. */
static void use_quietly(const char *where)
{
	int *p = NULL;
	cudaError_t e = cudaMalloc(&p, 64);

	if (e == cudaSuccess) {
		spin<<<1, 1>>>(p);
		cudaDeviceSynchronize();
		cudaFree(p);
	}
	cudaFree(memory);
	printf("%s: cudaMalloc answers %d\n", where, (int)e);
	fflush(stdout);
}

static void at_exit_late(void)
{
	use_quietly("atexit, registered before the runtime was used");
}

static void at_exit_early(void)
{
	use_quietly("atexit, registered after");
}

struct holder {
	bool armed;

	~holder()
	{
		if (armed)
			use_quietly("destructor of a static object");
	}
};
static holder held;
static bool use_in_destructor;

__attribute__((destructor)) static void last(void)
{
	if (use_in_destructor)
		use_quietly("destructor function");
}

static void begin(void)
{
	OK(cudaMalloc(&memory, 1024));
	OK(cudaMemset(memory, 0, 1024));
	spin<<<1, 1>>>(memory);
	OK(cudaGetLastError());
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";

	if (!strcmp(how, "late"))
		atexit(at_exit_late);
	begin();
	if (!strcmp(how, "early"))
		atexit(at_exit_early);
	if (!strcmp(how, "object"))
		held.armed = true;
	if (!strcmp(how, "destructor"))
		use_in_destructor = true;
	if (!strcmp(how, "_exit"))
		_exit(RESULT());
	if (!strcmp(how, "quick"))
		quick_exit(RESULT());
	if (!strcmp(how, "reset"))
		OK(cudaDeviceReset());
	return RESULT();
}
