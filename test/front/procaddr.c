/*
 * cuGetProcAddress: the version and the kind of stream decide, an address is the exported symbol
 * itself and lies in our library, and misses are told apart as CUDA documents them.
 */
#include <dlfcn.h>
#include <string.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "test/check.h"

#define LEGACY     CU_GET_PROC_ADDRESS_LEGACY_STREAM
#define PER_THREAD CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

static void *library;

static void hit(const char *base, int version, cuuint64_t flags, const char *symbol)
{
	CUdriverProcAddressQueryResult status = 99;
	void *p = NULL, *q = NULL;

	CHECK_EQ(cuGetProcAddress_v2(base, &p, version, flags, &status), CUDA_SUCCESS);
	CHECK_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
	CHECK_EQ(cuGetProcAddress(base, &q, version, flags), CUDA_SUCCESS);
	if (!p || p != q || p != dlsym(library, symbol)) {
		fprintf(stderr, "%s at %d is not %s\n", base, version, symbol);
		failures++;
	}
}

static void miss(const char *base, int version, cuuint64_t flags, int want)
{
	CUdriverProcAddressQueryResult status = 99;
	void *p = &status;

	CHECK_EQ(cuGetProcAddress_v2(base, &p, version, flags, &status), CUDA_SUCCESS);
	CHECK(p == NULL);
	CHECK_EQ(status, want);
	CHECK_EQ(cuGetProcAddress_v2(base, &p, version, flags, NULL), CUDA_SUCCESS);
	CHECK_EQ(cuGetProcAddress(base, &p, version, flags), CUDA_ERROR_NOT_FOUND);
}

static void refused(const char *base, int version, cuuint64_t flags)
{
	void *p;

	CHECK_EQ(cuGetProcAddress_v2(base, &p, version, flags, NULL), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuGetProcAddress_v2(base, NULL, version, flags, NULL), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	Dl_info info;

	library = dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(library && dladdr((void *)cuInit, &info));

	hit("cuInit", 2000, 0, "cuInit");
	hit("cuCtxCreate", 2000, 0, "cuCtxCreate");
	hit("cuCtxCreate", 3020, 0, "cuCtxCreate_v2");
	hit("cuCtxCreate", 11040, 0, "cuCtxCreate_v3");
	hit("cuCtxCreate", 12040, LEGACY, "cuCtxCreate_v3");
	hit("cuCtxCreate", 12050, 0, "cuCtxCreate_v4");
	hit("cuCtxSynchronize", 12090, 0, "cuCtxSynchronize");
	hit("cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2");
	hit("cuMemcpyHtoD", 2000, 0, "cuMemcpyHtoD");
	hit("cuMemcpyHtoD", 13000, 0, "cuMemcpyHtoD_v2");
	hit("cuMemcpyHtoD", 7000, PER_THREAD, "cuMemcpyHtoD_v2_ptds");
	hit("cuLaunchKernel", 13000, PER_THREAD, "cuLaunchKernel_ptsz");
	hit("cuMemAlloc", 13000, PER_THREAD, "cuMemAlloc_v2"); /* no twin: the same for both */
	hit("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2");
	hit("cuStreamGetCaptureInfo", 11030, 0, "cuStreamGetCaptureInfo_v2");
	hit("cuDeviceGetUuid", 13000, 0, "cuDeviceGetUuid_v2");
	hit("cuGLInit", 13000, 0, "cuGLInit");

	miss("cuNoSuchThing", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	miss("", 0, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	miss("cuMemAlloc_v2", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND); /* base names only */
	miss("cuLaunchKernelEx", 11050, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	miss("cuMemcpyHtoD", 6050, PER_THREAD, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);

	refused("cuInit", 13010, 0); /* newer than the driver */
	refused("cuInit", 13000, 3);
	refused(NULL, 13000, 0);
	return RESULT();
}
