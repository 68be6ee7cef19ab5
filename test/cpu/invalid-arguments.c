/*
 * Invalid calls of a careless application: null pointers, sizes of 0 and far too large, invalid handles, impossible
 * grids, more memory than there is.  Each is refused with CUDA's error, and later valid calls still work.
 */
#include "test/cpu/device.h"

#define HUGE_SIZE     (1ull << 63)
#define REFUSED(call) CHECK_EQ(call, CUDA_ERROR_INVALID_VALUE)

static const char text[] = PTX ".visible .entry put(.param .u64 to)\n"
			       "{ .reg .u64 %a; ld.param.u64 %a, [to]; st.global.u32 [%a], 7; ret; }\n";

static CUcontext ctx;
static CUfunction put;
static CUdeviceptr cell;

static void still_works(void)
{
	void *args[] = {&cell};
	unsigned value = 0;

	OK(cuMemsetD32_v2(cell, 0, 1));
	OK(device_launch(put, 1, 1, NULL, args));
	OK(cuMemcpyDtoH_v2(&value, cell, 4));
	CHECK_EQ(value, 7);
}

static void null_pointers(void)
{
	CUmodule m;

	REFUSED(cuMemAlloc_v2(NULL, 4));
	REFUSED(cuMemAllocHost_v2(NULL, 4));
	REFUSED(cuMemAllocManaged(NULL, 4, CU_MEM_ATTACH_GLOBAL));
	REFUSED(cuMemcpyHtoD_v2(cell, NULL, 4));
	REFUSED(cuMemcpyDtoH_v2(NULL, cell, 4));
	REFUSED(cuMemcpyDtoD_v2(0, cell, 4));
	REFUSED(cuMemsetD8_v2(0, 1, 4));
	REFUSED(cuMemcpy2D_v2(NULL));
	REFUSED(cuModuleLoadData(&m, NULL));
	REFUSED(cuModuleLoadData(NULL, text));
	REFUSED(cuModuleGetFunction(NULL, NULL, "put"));
	REFUSED(cuStreamCreate(NULL, 0));
	REFUSED(cuEventCreate(NULL, 0));
	REFUSED(cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CHECK_EQ(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
	OK(cuMemFree_v2(0));
	still_works();
}

static void sizes(void)
{
	CUdeviceptr p = 0;
	size_t pitch;
	void *host;
	char byte = 0;

	REFUSED(cuMemAlloc_v2(&p, 0));
	CHECK_EQ(cuMemAlloc_v2(&p, HUGE_SIZE), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuMemAlloc_v2(&p, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuMemAllocHost_v2(&host, HUGE_SIZE), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(cuMemAllocManaged(&p, HUGE_SIZE, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(cuMemAllocPitch_v2(&p, &pitch, HUGE_SIZE, 2, 4) != CUDA_SUCCESS);
	CHECK(cuMemAllocPitch_v2(&p, &pitch, 1ull << 40, 1ull << 40, 4) != CUDA_SUCCESS);
	OK(cuMemcpyHtoD_v2(cell, &byte, 0));
	REFUSED(cuMemcpyHtoD_v2(cell, &byte, HUGE_SIZE));
	REFUSED(cuMemcpyDtoH_v2(&byte, cell, HUGE_SIZE));
	REFUSED(cuMemcpyDtoD_v2(cell, cell, SIZE_MAX));
	OK(cuMemsetD8_v2(cell, 0, 0));
	REFUSED(cuMemsetD8_v2(cell, 0, HUGE_SIZE));
	REFUSED(cuMemsetD32_v2(cell, 0, 1ull << 62));
	still_works();
}

static void handles(void)
{
	CUstream s;
	CUevent e;
	CUmodule m;
	CUdeviceptr p;
	CUcontext second;
	unsigned value;

	OK(cuStreamCreate(&s, 0));
	OK(cuEventCreate(&e, 0));
	OK(cuModuleLoadData(&m, text));
	CHECK_EQ(cuStreamSynchronize((CUstream)e), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(cuEventQuery((CUevent)s), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(device_launch((CUfunction)m, 1, 1, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(device_launch(put, 1, 1, (CUstream)m, NULL), CUDA_ERROR_INVALID_HANDLE);
	OK(cuStreamDestroy_v2(s));
	OK(cuEventDestroy_v2(e));
	OK(cuModuleUnload(m));
	CHECK_EQ(cuStreamDestroy_v2(s), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(cuEventRecord(e, NULL), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(cuStreamSynchronize((CUstream)0x12345678), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(cuStreamSynchronize((CUstream)&s), CUDA_ERROR_INVALID_HANDLE);
	OK(cuMemAlloc_v2(&p, 4096));
	OK(cuMemFree_v2(p));
	REFUSED(cuMemFree_v2(p));
	REFUSED(cuMemFree_v2((CUdeviceptr)(uintptr_t)&value));
	REFUSED(cuMemFree_v2(cell + 1));

	/* A function of another context. */
	OK(cuCtxCreate_v2(&second, 0, 0));
	CHECK_EQ(device_launch(put, 1, 1, NULL, NULL) == CUDA_SUCCESS, 0);
	OK(cuCtxDestroy_v2(second));
	CHECK_EQ(cuCtxSetCurrent(second), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(cuCtxDestroy_v2(second), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxSetCurrent(ctx));
	still_works();
}

static void grids(void)
{
	static const unsigned bad[][7] = {
		{0, 1, 1, 1, 1, 1, 0},
		{1, 0, 1, 1, 1, 1, 0},
		{1, 1, 1, 0, 1, 1, 0},
		{1, 1, 1, 1025, 1, 1, 0},
		{1, 1, 1, 32, 33, 1, 0},
		{1, 1, 1, 1, 1, 65, 0},
		{1, 65536, 1, 1, 1, 1, 0},
		{1, 1, 65536, 1, 1, 1, 0},
		{0x80000000u, 1, 1, 1, 1, 1, 0},
		{~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0},
		{1, 1, 1, 65536, 65536, 1, 0},
		{1, 1, 1, 1, 1, 1, ~0u},
		{1, 1, 1, 1, 1, 1, 1 << 20},
	};
	void *args[] = {&cell};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const unsigned *b = bad[i];

		REFUSED(cuLaunchKernel(put, b[0], b[1], b[2], b[3], b[4], b[5], b[6], NULL, args, NULL));
		REFUSED(cuLaunchCooperativeKernel(put, b[0], b[1], b[2], b[3], b[4], b[5], b[6], NULL, args));
		CUlaunchConfig config = {b[0], b[1], b[2], b[3], b[4], b[5], b[6], NULL, NULL, 0};
		REFUSED(cuLaunchKernelEx(&config, put, args, NULL));
	}
	CHECK_EQ(cuLaunchCooperativeKernel(put, 0x7fffffff, 65535, 65535, 1, 1, 1, 0, NULL, args),
		CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	still_works();
}

/* Allocate until memory runs out; after freeing, as much is available again. */
static void memory(void)
{
	enum { MOST = 4096 };
	static CUdeviceptr blocks[MOST];
	size_t before = 0, total = 0, after = 0, n = 0, unit;

	OK(cuMemGetInfo_v2(&before, &total));
	unit = before / 64;
	CUresult r = CUDA_SUCCESS;
	while (n < MOST && !(r = cuMemAlloc_v2(&blocks[n], unit)))
		n++;
	CHECK_EQ(r, CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(n >= 32 && n <= 64);
	still_works();
	while (n)
		OK(cuMemFree_v2(blocks[--n]));
	OK(cuMemGetInfo_v2(&after, &total));
	CHECK(after + unit > before);
	OK(cuMemAlloc_v2(&blocks[0], unit));
	OK(cuMemFree_v2(blocks[0]));
	still_works();
}

static void texts(void)
{
	static const char *const bad[] = {
		"",
		"no PTX at all",
		".version",
		".version 7.0\n.target",
		PTX ".visible .entry put(",
		PTX ".visible .entry put() { bra NOWHERE; }",
		PTX ".visible .entry put() { frobnicate.u32; }",
		PTX ".visible .entry put() { .reg .u32 %a; add.f32 %a, %b, %c; ret; }",
		".version 99.9\n.target sm_50\n.address_size 64\n.visible .entry put() { ret; }",
	};
	CUmodule m;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		CUresult r = cuModuleLoadData(&m, bad[i]);

		if (!r)
			fprintf(stderr, "cuModuleLoadData accepted invalid PTX: %s\n", bad[i]);
		CHECK(r == CUDA_ERROR_INVALID_IMAGE || r == CUDA_ERROR_INVALID_PTX ||
			r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
	}
	still_works();
}

int main(void)
{
	ctx = device_start();
	put = device_kernel(text, "put");
	OK(cuMemAlloc_v2(&cell, 4));
	null_pointers();
	sizes();
	handles();
	grids();
	memory();
	texts();
	OK(cuMemFree_v2(cell));
	OK(cuCtxDestroy_v2(ctx));
	return RESULT();
}
