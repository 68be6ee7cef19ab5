/*
 * A program of NVIDIA's runtime goes on after the death of its worker: cudaDeviceReset connects anew, and the runtime's
 * kernels, symbols, streams and managed variables work again, in every thread.
 *
 *	renew LOG
 */
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>
#include <unistd.h>

__device__ int base = 5;
__managed__ int total = 1;

__global__ void fill(int *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] = base + i;
	if (!i)
		total++;
}

static int failures;

#define CHECK(x) \
	do { \
		if (!(x)) { \
			printf("%d: not true: %s\n", __LINE__, #x); \
			failures++; \
		} \
	} while (0)
#define OK(x) \
	do { \
		cudaError_t e_ = (x); \
		if (e_) { \
			printf("%d: %s is %d\n", __LINE__, #x, e_); \
			failures++; \
		} \
	} while (0)

static int worker_last(const char *log)
{
	FILE *f = fopen(log, "r");
	char line[512];
	int worker = 0, w, pid;

	while (f && fgets(line, sizeof line, f)) {
		char *at = strstr(line, "gangway[");
		if (at && sscanf(at, "gangway[%d]: client %d of user", &w, &pid) == 2 && pid == getpid() &&
			strstr(line, " connected"))
			worker = w;
	}
	if (f)
		fclose(f);
	return worker;
}

static void worker_kill(const char *log)
{
	static int killed;
	int pid = 0;

	for (int i = 0; i < 6000 && (!pid || pid == killed); i++) {
		pid = worker_last(log);
		usleep(10000);
	}
	CHECK(pid && pid != killed && !kill(pid, SIGKILL));
	killed = pid;
}

static void compute(int round)
{
	int *d = nullptr, back[256] = {0}, ten = 10 + round;
	cudaStream_t s;

	OK(cudaMalloc(&d, sizeof back));
	OK(cudaMemcpyToSymbol(base, &ten, sizeof ten));
	OK(cudaStreamCreate(&s));
	total = round;
	fill<<<4, 64, 0, s>>>(d, 256);
	OK(cudaGetLastError());
	OK(cudaMemcpyAsync(back, d, sizeof back, cudaMemcpyDeviceToHost, s));
	OK(cudaStreamSynchronize(s));
	CHECK(back[0] == ten && back[255] == ten + 255);
	CHECK(total == round + 1);
	OK(cudaStreamDestroy(s));
	OK(cudaFree(d));
}

int main(int argc, char **argv)
{
	std::atomic<int> step{0};

	if (argc < 2)
		return 2;
	compute(0);
	std::thread other([&] {
		compute(1);
		step = 1;
		while (step != 2)
			usleep(1000);
		compute(2);
	});
	while (step != 1)
		usleep(1000);
	for (int round = 3; round < 8; round++) {
		void *d;
		worker_kill(argv[1]);
		for (int i = 0; i < 6000 && !cudaMalloc(&d, 256); i++)
			usleep(10000);
		CHECK(cudaMalloc(&d, 256) == cudaErrorDevicesUnavailable);
		OK(cudaDeviceReset());
		cudaGetLastError();
		compute(round);
	}
	step = 2;
	other.join();
	return failures != 0;
}
