/*
 * The null device: modules have their real kernels and parameter layouts; launches are checked as on a device, and
 * logged with their parameters, in order; memory works.
 */
#include <unistd.h>
#include "backend/null/null.h"
#include "backend/soft/backend.h"
#include "test/check.h"
#include <stdlib.h>
#include <string.h>

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			  ".visible .global .align 4 .b8 table[64];\n"
			  ".visible .global .align 4 .u32 numbers[4] = {1, 2, 3};\n"
			  ".visible .global .align 8 .u64 pointer = numbers+4;\n"
			  ".visible .entry scale(.param .u64 p, .param .f32 f, .param .u8 c, .param .u64 q)\n"
			  "{ ret; }\n"
			  ".visible .entry bounded()\n.maxntid 64, 1, 1\n{ ret; }\n"
			  ".visible .entry exact()\n.reqntid 32, 2, 1\n{ ret; }\n";

static CUmodule mod;
static CUfunction scale, bounded, exact;
static char log_name[] = "/tmp/gangway-null-XXXXXX";

static CUresult launch(
	CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared)
{
	unsigned long long p = 1, q = 2;
	float x = 1;
	char c = 3;
	void *params[] = {&p, &x, &c, &q};

	return soft_cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, NULL, params, NULL);
}

static void modules(void)
{
	unsigned n = 0;
	CUfunction again, all[3];
	CUdeviceptr addr = 0;
	size_t size = 0, offset = 99;
	const char *name = "";
	CUmodule of = NULL, bad;

	OK(soft_cuModuleLoadData(&mod, ptx));
	OK(soft_cuModuleGetFunctionCount(&n, mod));
	CHECK_EQ(n, 3);
	OK(soft_cuModuleGetFunction(&scale, mod, "scale"));
	OK(soft_cuModuleGetFunction(&again, mod, "scale"));
	CHECK(again == scale);
	OK(soft_cuModuleGetFunction(&bounded, mod, "bounded"));
	OK(soft_cuModuleGetFunction(&exact, mod, "exact"));
	OK(soft_cuModuleEnumerateFunctions(all, 3, mod));
	CHECK(all[2] == scale && all[0] == bounded);
	CHECK_EQ(soft_cuModuleGetFunction(&again, mod, "nosuch"), CUDA_ERROR_NOT_FOUND);
	OK(soft_cuModuleGetGlobal_v2(&addr, &size, mod, "table"));
	CHECK_EQ(size, 64);
	CHECK_EQ(*(unsigned *)(uintptr_t)addr, 0);
	OK(soft_cuModuleGetGlobal_v2(&addr, &size, mod, "pointer"));
	CHECK_EQ(**(unsigned **)(uintptr_t)addr, 2);
	CHECK_EQ(soft_cuModuleGetGlobal_v2(&addr, &size, mod, "nosuch"), CUDA_ERROR_NOT_FOUND);
	OK(soft_cuFuncGetName(&name, scale));
	CHECK(!strcmp(name, "scale"));
	OK(soft_cuFuncGetModule(&of, scale));
	CHECK(of == mod);
	OK(soft_cuFuncGetParamInfo(scale, 3, &offset, &size));
	CHECK_EQ(offset, 16);
	CHECK_EQ(size, 8);
	OK(soft_cuFuncGetParamInfo(scale, 2, &offset, &size));
	CHECK_EQ(offset, 12);
	CHECK_EQ(size, 1);
	CHECK_EQ(soft_cuFuncGetParamInfo(scale, 4, &offset, &size), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuModuleLoadData(&bad, "hello"), CUDA_ERROR_INVALID_IMAGE);
	CHECK_EQ(soft_cuModuleLoadData(&bad, ".version 8.0\n.target sm_80\n.visible .entry k(.param"),
		CUDA_ERROR_INVALID_PTX);
	CHECK_EQ(soft_cuModuleLoadData(&bad, ".version 9.0\n.target sm_200\n.address_size 64\n"),
		CUDA_ERROR_INVALID_PTX);
	CHECK_EQ(soft_cuModuleLoadData(&bad, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuModuleLoad(&bad, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
	CHECK_EQ(soft_cuModuleUnload((CUmodule)scale), CUDA_ERROR_INVALID_HANDLE);
}

static void geometry(void)
{
	int v = 0;

	OK(launch(scale, 1, 1, 1, 1024, 1, 1, 0));
	CHECK_EQ(launch(scale, 1, 1, 1, 1025, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(scale, 1, 1, 1, 32, 64, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(scale, 0, 1, 1, 32, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(scale, 1, 1, 1, 0, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(scale, 1, 65536, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(scale, 1, 1, 65536, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(scale, 1, 1, 1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(scale, 1, 1, 1, 65536, 65536, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(scale, 1, 1, 1, 1, 1, 1, 1 << 20), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(scale, 1, 1, 1, 1, 1, 1, 64 << 10), CUDA_ERROR_INVALID_VALUE);
	OK(soft_cuFuncSetAttribute(scale, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
	OK(launch(scale, 1, 1, 1, 1, 1, 1, 64 << 10));
	CHECK_EQ(soft_cuFuncSetAttribute(scale, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20),
		CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuFuncSetAttribute(scale, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(bounded, 1, 1, 1, 65, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	OK(launch(bounded, 1, 1, 1, 64, 1, 1, 0));
	CHECK_EQ(launch(exact, 1, 1, 1, 64, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
	OK(launch(exact, 1, 1, 1, 32, 2, 1, 0));
	OK(soft_cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded));
	CHECK_EQ(v, 64);
	CHECK_EQ(soft_cuFuncGetAttribute(&v, 99, bounded), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(launch(NULL, 1, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(launch((CUfunction)(void *)&launch, 1, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(soft_cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, (CUstream)0x1234560, NULL, NULL),
		CUDA_ERROR_INVALID_HANDLE);
}

/* Compare the log, once everything has run. */
static void check_log(const char *want)
{
	char got[4096] = "";
	FILE *f = fopen(log_name, "r");

	OK(soft_cuCtxSynchronize());
	size_t n = f ? fread(got, 1, sizeof got - 1, f) : 0;
	got[n] = 0;
	if (strcmp(got, want))
		fprintf(stderr, "the log is\n%sexpected\n%s", got, want), failures++;
	if (f)
		fclose(f);
}

static void recorded(void)
{
	unsigned char buffer[24] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f, 3, 0, 0, 0, 2};
	size_t size = sizeof buffer;
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	CUlaunchConfig config = {
		.gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 8, .blockDimY = 1, .blockDimZ = 1};
	unsigned long long q = 2;

	OK(soft_cuCtxSynchronize());
	setenv("GANGWAY_NULL_LOG", log_name, 1);
	OK(launch(scale, 3, 2, 1, 64, 2, 1, 128));
	OK(soft_cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, NULL, extra));
	OK(soft_cuLaunchKernelEx(&config, bounded, NULL, NULL));
	OK(soft_cuFuncSetBlockShape(scale, 16, 1, 1));
	OK(soft_cuParamSetSize(scale, 24));
	OK(soft_cuParamSeti(scale, 0, 7));
	OK(soft_cuParamSetf(scale, 8, 1));
	OK(soft_cuParamSetv(scale, 16, &q, 8));
	OK(soft_cuLaunchGrid(scale, 2, 3));
	check_log("launch scale grid=3,2,1 block=64,2,1 shared=128 "
		  "params=01000000000000000000803f030000000200000000000000\n"
		  "launch scale grid=1,1,1 block=1,1,1 shared=0 "
		  "params=01000000000000000000803f030000000200000000000000\n"
		  "launch bounded grid=4,1,1 block=8,1,1 shared=0 params=\n"
		  "launch scale grid=2,3,1 block=16,1,1 shared=0 "
		  "params=07000000000000000000803f000000000200000000000000\n");
	unsetenv("GANGWAY_NULL_LOG");
	size = 8;
	CHECK_EQ(soft_cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
}

static void libraries(void)
{
	CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *yes = (void *)1;
	CUlibrary lib, broken;
	CUkernel k, again;
	CUfunction f;
	CUdeviceptr addr = 0;
	size_t size;
	int v = 0;

	OK(soft_cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, &option, &yes, 1));
	OK(soft_cuLibraryGetKernel(&k, lib, "bounded"));
	OK(soft_cuLibraryGetKernel(&again, lib, "bounded"));
	CHECK(k == again);
	CHECK_EQ(soft_cuLibraryGetKernel(&again, lib, "nosuch"), CUDA_ERROR_NOT_FOUND);
	OK(launch((CUfunction)k, 1, 1, 1, 64, 1, 1, 0)); /* a CUkernel in place of a CUfunction */
	OK(soft_cuKernelGetFunction(&f, k));
	OK(launch(f, 1, 1, 1, 64, 1, 1, 0));
	OK(soft_cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, k, 0));
	OK(soft_cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
	CHECK_EQ(v, 100000);
	OK(soft_cuLibraryGetGlobal(&addr, NULL, lib, "table"));
	OK(soft_cuMemsetD8_v2(addr, 5, 64));
	OK(soft_cuMemGetAddressRange_v2(NULL, &size, addr));
	CHECK_EQ(size, 64);
	OK(soft_cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, f, 64, 0));
	CHECK(v >= 1);
	OK(soft_cuCtxSynchronize());
	OK(soft_cuLibraryUnload(lib));
	CHECK_EQ(soft_cuLibraryUnload(lib), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(launch((CUfunction)k, 1, 1, 1, 64, 1, 1, 0), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(launch(f, 1, 1, 1, 64, 1, 1, 0), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(soft_cuMemsetD8_v2(addr, 5, 64), CUDA_ERROR_INVALID_VALUE);
	/* Lazy loading: the image is not read before it is needed. */
	OK(soft_cuLibraryLoadData(&broken, "hello", NULL, NULL, 0, &option, &yes, 1));
	CHECK_EQ(soft_cuLibraryGetKernel(&k, broken, "x"), CUDA_ERROR_INVALID_IMAGE);
	OK(soft_cuLibraryUnload(broken));
	CHECK_EQ(soft_cuLibraryLoadData(&broken, "hello", NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_INVALID_IMAGE);
}

int main(void)
{
	CUcontext ctx;
	int fd = mkstemp(log_name);

	OK(soft_open(&null_engine, NULL));
	OK(soft_cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(soft_cuCtxSetCurrent(ctx));
	modules();
	geometry();
	recorded();
	libraries();
	OK(soft_cuModuleUnload(mod));
	CHECK_EQ(launch(scale, 1, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_HANDLE);
	OK(soft_cuDevicePrimaryCtxRelease_v2(0));
	close(fd);
	unlink(log_name);
	return RESULT();
}
