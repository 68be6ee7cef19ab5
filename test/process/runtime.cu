/*
 * A program that uses NVIDIA's runtime: properties, memory, variables, launches with parameters of every size, streams,
 * events, threads, errors, cudaDeviceReset and calls after the reset.
 */
#include <pthread.h>
#include "runtime.h"

#define N 4096

__constant__ float factor = 2.0f;
__device__ int counter = 7;
__managed__ int shared_value = 11;

extern "C" __global__ void axpy(float *out, const float *in, float by, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] += in[i] * by * factor;
}

extern "C" __global__ void many(char a, short b, int c, long long d, struct mixed m, float f, double g,
				int *out)
{
	out[0] = a + b + c + (int)d + m.tag + m.half + (int)m.weight + m.list[2] + (int)f + (int)g;
}

extern "C" __global__ void nothing(void)
{
}

template <typename T> __global__ void fill(T *out, T value)
{
	extern __shared__ char bytes[];

	bytes[threadIdx.x] = 1;
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = value * bytes[(threadIdx.x + 1) % blockDim.x];
}

#ifdef RDC
extern "C" __global__ void across(int *out)
{
	*out = part_twice(21) + part_counter;
}
#endif

static float host[N], back[N];
static float *a, *b;

static void properties(void)
{
	cudaDeviceProp p;
	int count = 0, driver = 0, runtime = 0, value = 0;
	size_t available = 0, total = 0;
	char bus[32] = "";

	OK(cudaGetDeviceCount(&count));
	CHECK(count > 0);
	OK(cudaDriverGetVersion(&driver));
	OK(cudaRuntimeGetVersion(&runtime));
	CHECK(driver >= runtime / 1000 * 1000);
	OK(cudaGetDeviceProperties(&p, 0));
	CHECK(p.name[0] && p.totalGlobalMem > 1 << 20 && p.multiProcessorCount > 0 && p.major >= 5);
	CHECK(p.warpSize == 32 && p.maxThreadsPerBlock == 1024 && p.maxThreadsDim[2] == 64);
	CHECK(p.maxGridSize[0] == 2147483647 && p.maxGridSize[1] == 65535 && p.sharedMemPerBlock >= 48 << 10);
	CHECK(p.unifiedAddressing && p.regsPerBlock > 0 && p.textureAlignment > 0);
	OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
	CHECK_EQ(value, p.multiProcessorCount);
	OK(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
	CHECK(value > 0);
	OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
	OK(cudaDeviceGetByPCIBusId(&value, bus));
	CHECK_EQ(value, 0);
	OK(cudaMemGetInfo(&available, &total));
	CHECK(available <= total && total <= p.totalGlobalMem);
	printf("properties: %s, compute capability %d.%d, runtime %d on driver %d\n", p.name, p.major,
	       p.minor, runtime, driver);
}

static void rows_and_columns(void)
{
	float *rows = NULL;
	size_t pitch = 0;
	cudaError_t e = cudaMallocPitch(&rows, &pitch, 100, 16);

	if (e == cudaErrorNotSupported) {
		printf("pitched memory: not supported by this device\n");
		cudaGetLastError();
		return;
	}
	OK(e);
	CHECK(pitch >= 100);
	OK(cudaMemcpy2D(rows, pitch, host, 100, 100, 16, cudaMemcpyHostToDevice));
	memset(back, 0, sizeof back);
	OK(cudaMemcpy2D(back, 100, rows, pitch, 100, 16, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(host, back, 1600));
	OK(cudaFree(rows));
}

static void memory(void)
{
	struct cudaPointerAttributes about;
	float *pinned, *managed;

	for (int i = 0; i < N; i++)
		host[i] = i;
	OK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(b, a, sizeof host, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy(back, b, sizeof back, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(host, back, sizeof host));
	OK(cudaMemset(b, 0, sizeof host));
	OK(cudaMemcpy(back, b, sizeof back, cudaMemcpyDefault));
	CHECK(back[0] == 0 && back[N - 1] == 0);
	OK(cudaPointerGetAttributes(&about, a));
	CHECK(about.type == cudaMemoryTypeDevice && about.device == 0 && about.devicePointer == a);
	OK(cudaMallocHost((void **)&pinned, sizeof host));
	OK(cudaPointerGetAttributes(&about, pinned));
	CHECK_EQ(about.type, cudaMemoryTypeHost);
	OK(cudaMemcpyAsync(pinned, a, sizeof host, cudaMemcpyDeviceToHost, 0));
	OK(cudaStreamSynchronize(0));
	CHECK(!memcmp(host, pinned, sizeof host));
	OK(cudaFreeHost(pinned));
	OK(cudaMallocManaged(&managed, sizeof host));
	memcpy(managed, host, sizeof host);
	OK(cudaMemcpy(back, managed, sizeof back, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(host, back, sizeof host));
	OK(cudaFree(managed));
	rows_and_columns();
	OK(cudaFree(NULL));
	printf("memory: host, device, pinned and managed copies are right\n");
}

/*
 * If `fresh`, the variables have their initial values. The function restores all values, because a reset need not reload
 * managed variables.
 */
static void variables(bool fresh)
{
	float f = 0, was = 0;
	int i = 0;

	OK(cudaMemcpyFromSymbol(&was, factor, sizeof was));
	OK(cudaMemcpyFromSymbol(&i, counter, sizeof i));
	if (fresh && expect_results())
		CHECK(was == 2.0f && i == 7 && shared_value == 11);
	f = 4.0f;
	OK(cudaMemcpyToSymbol(factor, &f, sizeof f));
	f = 0;
	OK(cudaMemcpyFromSymbol(&f, factor, sizeof f));
	CHECK(f == 4.0f);
	OK(cudaMemcpyToSymbol(factor, &was, sizeof was));
	i = shared_value;
	shared_value = 12;
	OK(cudaDeviceSynchronize());
	CHECK_EQ(shared_value, 12);
	shared_value = i;
	CHECK_EQ(part_variables(), 0);
	printf("variables: constant, device and managed variables hold their values\n");
}

static void launch_axpy(int grid, cudaStream_t stream)
{
	struct {
		float *out;
		const float *in;
		float by;
		int n;
	} p = {b, a, 1.5f, N};

	axpy<<<grid, 256, 0, stream>>>(p.out, p.in, p.by, p.n);
	OK(cudaGetLastError());
	expect_launch("axpy", grid, 1, 1, 256, 1, 1, &p, 24);
}

static void launch_many(int *out)
{
	struct {
		char a;
		short b;
		int c;
		long long d;
		struct mixed m;
		float f;
		double g;
		int *out;
	} p;
	int result = 0;

	memset(&p, 0, sizeof p);
	p.a = 1, p.b = 20, p.c = 300, p.d = 4000, p.f = 0.25f, p.g = 7.5, p.out = out;
	p.m.tag = 5, p.m.half = 60, p.m.weight = 700.0, p.m.list[2] = 8000;
	void *args[] = {&p.a, &p.b, &p.c, &p.d, &p.m, &p.f, &p.g, &p.out};
	OK(cudaLaunchKernel((void *)many, dim3(1, 2, 3), dim3(4, 5, 6), args, 0, 0));
	expect_launch("many", 1, 2, 3, 4, 5, 6, &p, sizeof p);

	cudaLaunchConfig_t config = {};
	config.gridDim = dim3(3, 2, 1);
	config.blockDim = dim3(6, 5, 4);
	OK(cudaLaunchKernelExC(&config, (void *)many, args));
	expect_launch("many", 3, 2, 1, 6, 5, 4, &p, sizeof p);
	OK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
	if (expect_results())
		CHECK_EQ(result, 1 + 20 + 300 + 4000 + 5 + 60 + 700 + 8000 + 0 + 7);
}

template <typename T> static void launch_fill(const char *name, T value, size_t bytes)
{
	struct {
		T *out;
		T value;
	} p;
	T first = 0;

	memset(&p, 0, sizeof p);
	p.out = (T *)b, p.value = value;
	OK(cudaFuncSetAttribute((void *)fill<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
	fill<T><<<4, 64, bytes>>>(p.out, p.value);
	OK(cudaGetLastError());
	expect_launch(name, 4, 1, 1, 64, 1, 1, &p, sizeof(T *) + sizeof(T));
	OK(cudaMemcpy(&first, b, sizeof first, cudaMemcpyDeviceToHost));
	if (expect_results())
		CHECK(first == value);
}

static void launches(void)
{
	OK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
	OK(cudaMemset(b, 0, sizeof host));
	launch_axpy(N / 256, 0);
	OK(cudaMemcpy(back, b, sizeof back, cudaMemcpyDeviceToHost));
	for (int i = 0; i < N && expect_results(); i++)
		CHECK(back[i] == host[i] * 3.0f);
	launch_many((int *)b);
	nothing<<<dim3(7, 1, 2), dim3(1, 3)>>>();
	OK(cudaGetLastError());
	expect_launch("nothing", 7, 1, 2, 1, 3, 1, NULL, 0);
	launch_fill<float>("fillIf", 2.5f, 1024);
	launch_fill<double>("fillId", 2.5, 65536);
	launch_fill<unsigned char>("fillIh", 77, 64);
	CHECK_EQ(part_launch((int *)b, 100, 0), 0);
#ifdef RDC
	int result = 0;
	across<<<1, 1>>>((int *)b);
	OK(cudaMemcpy(&result, b, sizeof result, cudaMemcpyDeviceToHost));
	expect_launch("across", 1, 1, 1, 1, 1, 1, &b, sizeof b);
	if (expect_results())
		CHECK_EQ(result, 47);
#endif
	printf("launches: complete\n");
}

static void functions(void)
{
	cudaFuncAttributes f;
	int blocks = 0, grid = 0, block = 0;

	OK(cudaFuncGetAttributes(&f, (void *)axpy));
	CHECK(f.maxThreadsPerBlock > 0 && f.maxThreadsPerBlock <= 1024 && f.binaryVersion >= 50);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (void *)axpy, 256, 0));
	CHECK(blocks > 0);
	OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, axpy, 0, 0));
	CHECK(grid > 0 && block > 0 && block <= 1024);
	printf("functions: axpy: %d blocks of 256 threads on each multiprocessor\n", blocks);
}

static void count_up(void *p)
{
	__atomic_fetch_add((int *)p, 1, __ATOMIC_SEQ_CST);
}

static void streams(void)
{
	cudaStream_t s1, s2;
	cudaEvent_t start, end;
	float ms = -1;
	int called = 0;

	OK(cudaStreamCreate(&s1));
	OK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
	OK(cudaEventCreate(&start));
	OK(cudaEventCreate(&end));
	OK(cudaEventRecord(start, s1));
	OK(cudaMemcpyAsync(a, host, sizeof host, cudaMemcpyHostToDevice, s1));
	launch_axpy(N / 256, s1);
	OK(cudaLaunchHostFunc(s1, count_up, &called));
	OK(cudaEventRecord(end, s1));
	OK(cudaStreamWaitEvent(s2, end, 0));
	OK(cudaMemcpyAsync(back, a, sizeof back, cudaMemcpyDeviceToHost, s2));
	OK(cudaStreamSynchronize(s2));
	CHECK_EQ(called, 1);
	CHECK(!memcmp(host, back, sizeof host));
	OK(cudaEventSynchronize(end));
	OK(cudaEventQuery(end));
	OK(cudaEventElapsedTime(&ms, start, end));
	CHECK(ms >= 0);
	OK(cudaStreamQuery(s1));
	OK(cudaEventDestroy(start));
	OK(cudaEventDestroy(end));
	OK(cudaStreamDestroy(s1));
	OK(cudaStreamDestroy(s2));
	printf("streams: copies, a host function and events complete in order\n");
}

static void *one_thread(void *arg)
{
	long seed = (long)arg;
	int in[256], out[256], *p;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 256; i++)
			in[i] = seed * 1000003 + round * 257 + i;
		OK(cudaMalloc(&p, sizeof in));
		OK(cudaMemcpyAsync(p, in, sizeof in, cudaMemcpyHostToDevice, 0));
		nothing<<<1, 1>>>();
		OK(cudaMemcpyAsync(out, p, sizeof out, cudaMemcpyDeviceToHost, 0));
		OK(cudaStreamSynchronize(0));
		CHECK(!memcmp(in, out, sizeof in));
		OK(cudaFree(p));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[8];

	for (long i = 0; i < 8; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, one_thread, (void *)i), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 160; i++)
		expect_launch("nothing", 1, 1, 1, 1, 1, 1, NULL, 0);
	printf("threads: 8 concurrent threads read back their own bytes\n");
}

static void errors(void)
{
	void *p = &p;

	CHECK_EQ(cudaMalloc(&p, 1ull << 50), cudaErrorMemoryAllocation);
	CHECK_EQ(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
	CHECK_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
	CHECK_EQ(cudaGetLastError(), cudaSuccess);
	CHECK_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
	CHECK_EQ(cudaFree((void *)0x1234567), cudaErrorInvalidValue);
	cudaGetLastError();
	nothing<<<1, 1025>>>();
	CHECK(cudaGetLastError() != cudaSuccess);
	nothing<<<0, 1>>>();
	CHECK(cudaGetLastError() != cudaSuccess);
	CHECK(cudaLaunchKernel((void *)errors, dim3(1), dim3(1), NULL, 0, 0) != cudaSuccess);
	cudaGetLastError();
	OK(cudaDeviceSynchronize());
	printf("errors: reported once, then cleared\n");
}

static void everything(bool fresh)
{
	OK(cudaMalloc(&a, sizeof host));
	OK(cudaMalloc(&b, sizeof host));
	memory();
	variables(fresh);
	launches();
	functions();
	streams();
	threads();
	errors();
	OK(cudaFree(a));
	OK(cudaFree(b));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	properties();
	everything(true);
	OK(cudaDeviceReset());
	printf("device reset\n");
	OK(cudaSetDevice(0));
	everything(true);
	failures += check_launches() + part_check_launches();
	return RESULT();
}
