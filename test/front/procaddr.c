/*
 * cuGetProcAddress: version and kind of default stream select the function; an address is that of the exported symbol;
 * errors distinguish unknown names from newer ones, as CUDA documents.
 */
#include <dlfcn.h>
#include <string.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "test/check.h"

#define LEGACY     CU_GET_PROC_ADDRESS_LEGACY_STREAM
#define PER_THREAD CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

static void *library;

static void check_found(const char *base, int version, cuuint64_t flags, const char *symbol)
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

static void check_not_found(const char *base, int version, cuuint64_t flags, int want)
{
	CUdriverProcAddressQueryResult status = 99;
	void *p = &status;

	CHECK_EQ(cuGetProcAddress_v2(base, &p, version, flags, &status), CUDA_SUCCESS);
	CHECK(p == NULL);
	CHECK_EQ(status, want);
	CHECK_EQ(cuGetProcAddress_v2(base, &p, version, flags, NULL), CUDA_SUCCESS);
	CHECK_EQ(cuGetProcAddress(base, &p, version, flags), CUDA_ERROR_NOT_FOUND);
}

static void check_invalid(const char *base, int version, cuuint64_t flags)
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

	check_found("cuInit", 2000, 0, "cuInit");
	check_found("cuCtxCreate", 2000, 0, "cuCtxCreate");
	check_found("cuCtxCreate", 3020, 0, "cuCtxCreate_v2");
	check_found("cuCtxCreate", 11040, 0, "cuCtxCreate_v3");
	check_found("cuCtxCreate", 12040, LEGACY, "cuCtxCreate_v3");
	check_found("cuCtxCreate", 12050, 0, "cuCtxCreate_v4");
	check_found("cuCtxSynchronize", 12090, 0, "cuCtxSynchronize");
	check_found("cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2");
	check_found("cuMemcpyHtoD", 2000, 0, "cuMemcpyHtoD");
	check_found("cuMemcpyHtoD", 13000, 0, "cuMemcpyHtoD_v2");
	check_found("cuMemcpyHtoD", 7000, PER_THREAD, "cuMemcpyHtoD_v2_ptds");
	check_found("cuLaunchKernel", 13000, PER_THREAD, "cuLaunchKernel_ptsz");
	check_found(
		"cuMemAlloc", 13000, PER_THREAD, "cuMemAlloc_v2"); /* has no twin: the same function for both kinds */
	check_found("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2");
	check_found("cuStreamGetCaptureInfo", 11030, 0, "cuStreamGetCaptureInfo_v2");
	check_found("cuDeviceGetUuid", 13000, 0, "cuDeviceGetUuid_v2");
	check_found("cuGLInit", 13000, 0, "cuGLInit");

	check_not_found("cuNoSuchThing", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	check_not_found("", 0, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	check_not_found("cuMemAlloc_v2", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND); /* base names only */
	check_not_found("cuLaunchKernelEx", 11050, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	check_not_found("cuMemcpyHtoD", 6050, PER_THREAD, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);

	check_invalid("cuInit", 13010, 0); /* newer than the driver */
	check_invalid("cuInit", 13000, 3);
	check_invalid(NULL, 13000, 0);
	return RESULT();
}
