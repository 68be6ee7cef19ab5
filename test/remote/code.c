/*
 * Modules, libraries, functions and launches: names, attributes, globals, logs, files, occupancy, legacy launch calls
 * and invalid geometry give the same results on every device, in this process or behind a server.
 */
#include "driver.h"

static void names(void)
{
	CUfunction list[8] = {0}, again;
	const char *name = NULL;
	unsigned count = 0;
	CUmodule owner;
	size_t offset, size;

	OK(cuFuncGetName(&name, fill));
	CHECK(name && !strcmp(name, "fill"));
	OK(cuModuleGetFunctionCount(&count, module));
	CHECK_EQ(count, 3);
	OK(cuModuleEnumerateFunctions(list, 3, module));
	for (int i = 0; i < 3; i++) {
		name = NULL;
		OK(cuFuncGetName(&name, list[i]));
		CHECK(name && (!strcmp(name, "fill") || !strcmp(name, "add") || !strcmp(name, "bounded")));
	}
	OK(cuModuleGetFunction(&again, module, "fill"));
	CHECK(again == fill);
	OK(cuFuncGetModule(&owner, fill));
	CHECK(owner == module);
	OK(cuFuncGetParamInfo(fill, 1, &offset, &size));
	CHECK_EQ(offset, 8);
	CHECK_EQ(size, 4);
	CHECK_EQ(cuFuncGetParamInfo(fill, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuModuleGetFunction(&again, module, "nothing"), CUDA_ERROR_NOT_FOUND);
}

static void globals(void)
{
	CUdeviceptr p = 0, q = 0;
	size_t size = 0;
	unsigned v = 9;

	OK(cuModuleGetGlobal_v2(&p, &size, module, "counter"));
	CHECK_EQ(size, 4);
	OK(cuModuleGetGlobal_v2(&q, NULL, module, "counter"));
	CHECK(p == q);
	CHECK_EQ(word_at(p), 7);
	OK(cuMemcpy(p, (CUdeviceptr)(uintptr_t)&v, sizeof v)); /* the address alone tells host from device */
	CHECK_EQ(word_at(p), 9);
	CHECK_EQ(cuModuleGetGlobal_v2(&p, &size, module, "nothing"), CUDA_ERROR_NOT_FOUND);
}

static void attributes(void)
{
	int most = 0, before = 0, after = 0, blocks = 0, again = 0, grid = 0, block = 0;
	CUfunction bounded;
	size_t room = 0;

	OK(cuModuleGetFunction(&bounded, module, "bounded"));
	OK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded));
	CHECK_EQ(most, 64);
	OK(cuFuncGetAttribute(&before, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, fill));
	OK(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
	OK(cuFuncGetAttribute(&after, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, fill));
	CHECK_EQ(after, 64 << 10);
	CHECK(before < after);
	OK(cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, before));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&again, fill, 256, 0, 0));
	CHECK(blocks > 0 && blocks == again);
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, fill, NULL, 0, 0));
	CHECK(grid > 0 && block > 0);
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&room, fill, 1, 128));
	CHECK(room > 0);
	CHECK_EQ(cuFuncGetAttribute(NULL, 0, fill), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuFuncGetAttribute(&most, 9999, fill), CUDA_ERROR_INVALID_VALUE);
}

static void launches(void)
{
	CUdeviceptr p = memory(4096);
	unsigned value = 5, n = 100, last;
	void *params[] = {&p, &value, &n};
	struct {
		CUdeviceptr p;
		unsigned value, n;
	} packed = {p, 6, 50};
	size_t size = sizeof packed;
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	CUlaunchConfig c = {
		.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1};

	OK(cuLaunchKernel(fill, 4, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(cuLaunchKernel(fill, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	value = 8, n = 10;
	OK(cuLaunchKernelEx(&c, fill, params, NULL));
	OK(cuCtxSynchronize());
	if (results()) {
		CHECK_EQ(word_at(p), 8);
		CHECK_EQ(word_at(p + 4 * 20), 6);
		CHECK_EQ(word_at(p + 4 * 99), 5);
		CHECK_EQ(word_at(p + 4 * 100), 0);
	}
	OK(cuFuncSetBlockShape(fill, 16, 1, 1));
	OK(cuParamSetSize(fill, 16));
	OK(cuParamSetv(fill, 0, &p, sizeof p));
	OK(cuParamSeti(fill, 8, 77));
	OK(cuParamSeti(fill, 12, 16));
	OK(cuLaunchGrid(fill, 1, 1));
	OK(cuMemcpyDtoH_v2(&last, p + 4 * 15, 4));
	if (results())
		CHECK_EQ(last, 77);
	OK(cuMemFree_v2(p));
}

static CUresult try(CUfunction f, unsigned gx, unsigned gy, unsigned bx, unsigned bz, unsigned shared)
{
	CUdeviceptr p = 0;
	unsigned value = 0, n = 0;
	void *params[] = {&p, &value, &n};

	return cuLaunchKernel(f, gx, gy, 1, bx, 1, bz, shared, NULL, params, NULL);
}

static void geometry(void)
{
	CUfunction bounded;

	OK(cuModuleGetFunction(&bounded, module, "bounded"));
	CHECK_EQ(try(fill, 1, 1, 1025, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(try(fill, 0, 1, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(try(fill, 1, 1, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(try(fill, 1, 65536, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(try(fill, 1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(try(fill, 1, 1, 32, 1, 1 << 20), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(try(fill, 1, 1, 32, 1, 64 << 10), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(try(bounded, 1, 1, 65, 1, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxSynchronize());
}

static void libraries(void)
{
	CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *yes = (void *)1;
	CUlibrary library = NULL, owner = NULL, bad = NULL;
	CUkernel kernel = NULL, list[8] = {0};
	CUfunction f = NULL, f2 = NULL;
	CUdeviceptr p = memory(256), g = 0;
	unsigned value = 3, n = 4, count = 0;
	void *params[] = {&p, &value, &n};
	const char *name = NULL;
	size_t size = 0;
	int most = 0;

	OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, &preserved, &yes, 1));
	OK(cuLibraryGetKernel(&kernel, library, "fill"));
	OK(cuKernelGetName(&name, kernel));
	CHECK(name && !strcmp(name, "fill"));
	OK(cuKernelGetFunction(&f, kernel));
	OK(cuKernelGetFunction(&f2, kernel));
	CHECK(f && f == f2);
	OK(cuKernelGetLibrary(&owner, kernel));
	CHECK(owner == library);
	OK(cuLibraryGetKernelCount(&count, library));
	CHECK_EQ(count, 3);
	OK(cuLibraryEnumerateKernels(list, 3, library));
	OK(cuKernelGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
	CHECK_EQ(most, 1024);
	OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, kernel, 0));
	OK(cuKernelGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
	CHECK_EQ(most, 60000);
	OK(cuLibraryGetGlobal(&g, &size, library, "counter"));
	CHECK_EQ(size, 4);
	OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 60000, NULL, params, NULL));
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	if (results())
		CHECK_EQ(word_at(p + 12), 3);
	CHECK_EQ(cuLibraryGetKernel(&kernel, library, "nothing"), CUDA_ERROR_NOT_FOUND);
	OK(cuLibraryUnload(library));
	CHECK(cuLibraryUnload(library) != CUDA_SUCCESS);
	CHECK(cuLibraryLoadData(&bad, "not a program at all", NULL, NULL, 0, NULL, NULL, 0) != CUDA_SUCCESS);
	OK(cuMemFree_v2(p));
}

static void options(void)
{
	char info[512] = "x", error[512] = "x";
	CUjit_option option[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
		CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_OPTIMIZATION_LEVEL};
	void *value[] = {info, (void *)sizeof info, error, (void *)sizeof error, (void *)4};
	CUmodule m = NULL;

	OK(cuModuleLoadDataEx(&m, ptx, 5, option, value));
	OK(cuModuleUnload(m));
	value[1] = (void *)sizeof info, value[3] = (void *)sizeof error;
	if (results())
		CHECK(cuModuleLoadDataEx(&m,
			      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { nonsense; }", 5,
			      option, value) != CUDA_SUCCESS);
	CHECK(cuModuleLoadData(&m, "hello") != CUDA_SUCCESS);
}

static void files(void)
{
	char path[] = "/tmp/gangway-code-XXXXXX";
	int fd = mkstemp(path);
	CUlibrary library;
	CUmodule m;
	CUfunction f;

	CHECK(write(fd, ptx, sizeof ptx - 1) == sizeof ptx - 1);
	close(fd);
	OK(cuModuleLoad(&m, path));
	OK(cuModuleGetFunction(&f, m, "add"));
	OK(cuModuleUnload(m));
	OK(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryUnload(library));
	unlink(path);
	CHECK_EQ(cuModuleLoad(&m, path), CUDA_ERROR_FILE_NOT_FOUND);
}

static void limits(void)
{
	size_t v = 0, w = 0;
	int least = 1, greatest = 1;

	OK(cuCtxGetLimit(&v, CU_LIMIT_PRINTF_FIFO_SIZE));
	OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20));
	OK(cuCtxGetLimit(&w, CU_LIMIT_PRINTF_FIFO_SIZE));
	CHECK(w >= 2 << 20);
	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	CHECK(least >= greatest);
}

int main(void)
{
	start();
	names();
	globals();
	attributes();
	launches();
	geometry();
	libraries();
	options();
	files();
	limits();
	OK(cuModuleUnload(module));
	return RESULT();
}
