/*
 * CUDA and fork. A child may be the first process to use CUDA. If the parent has used CUDA before fork, CUDA calls in the
 * child return cudaErrorInitializationError, as with NVIDIA's driver, and the parent keeps working.
 */
#include <sys/wait.h>
#include <unistd.h>
#include "runtime.h"

__global__ void touch(int *p, int value)
{
	*p = value;
}

/* Copy bytes to the device and back, and launch a kernel. */
static void use(int value)
{
	int in[64], out[64] = {0}, *p;

	for (int i = 0; i < 64; i++)
		in[i] = value + i;
	OK(cudaMalloc(&p, sizeof in));
	OK(cudaMemcpy(p, in, sizeof in, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(out, p, sizeof out, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(in, out, sizeof in));
	touch<<<1, 1>>>(p, value);
	OK(cudaDeviceSynchronize());
	OK(cudaMemcpy(out, p, sizeof out, cudaMemcpyDeviceToHost));
	if (expect_results())
		CHECK_EQ(out[0], value);
	OK(cudaFree(p));
}

static void in_child(void (*f)(void), const char *what)
{
	int status = -1;

	fflush(NULL);
	pid_t pid = fork();
	if (!pid) {
		failures = 0;
		f();
		fflush(NULL);
		exit(RESULT());
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	printf("%s: %s\n", what, status ? "failed" : "right");
}

static void first_use(void)
{
	use(1);
}

static void inherited(void)
{
	void *p = NULL;
	int n = 0;

	CHECK_EQ(cudaMalloc(&p, 16), cudaErrorInitializationError);
	CHECK(cudaDeviceSynchronize() != cudaSuccess);
	CHECK(cudaGetDeviceCount(&n) != cudaSuccess || n > 0);
}

int main(void)
{
	in_child(first_use, "child uses CUDA first");
	in_child(first_use, "another child");
	use(2);
	printf("parent uses CUDA after its children\n");
	in_child(inherited, "child of a process that uses CUDA");
	use(3);
	printf("parent uses CUDA while a child exists that inherited it\n");
	return RESULT();
}
