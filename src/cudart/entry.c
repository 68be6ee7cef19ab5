/* The way from the runtime to the driver's functions, and libraries of code that the program loads itself. */
#include "cudart/runtime.h"

static cudaError_t entry_find(const char *symbol, void **function, unsigned version, unsigned long long flags,
	cudaDriverEntryPointQueryResult *status, bool per_thread)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
	CUresult r;

	if (!symbol || !function || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return cudaErrorInvalidValue;
	if (flags == CU_GET_PROC_ADDRESS_DEFAULT)
		flags = per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
	*function = NULL;
	r = cuGetProcAddress_v2(symbol, function, version, flags, &found);
	if (status)
		*status = found;
	return from_driver(r);
}

cudaError_t rt_cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
	cudaDriverEntryPointQueryResult *driverStatus, bool per_thread)
{
	return entry_find(symbol, funcPtr, CUDART_MAJOR == 12 ? 12090 : 13000, flags, driverStatus, per_thread);
}

cudaError_t rt_cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
	unsigned long long flags, cudaDriverEntryPointQueryResult *driverStatus, bool per_thread)
{
	return entry_find(symbol, funcPtr, cudaVersion, flags, driverStatus, per_thread);
}

cudaError_t rt___cudaGetProcAddress(
	const char *symbol, void **pfn, int version, unsigned long long flags, cudaDriverEntryPointQueryResult *status)
{
	return entry_find(symbol, pfn, version, flags, status, false);
}

/* ---- libraries ---- */

cudaError_t rt_cudaLibraryLoadData(cudaLibrary_t *library, const void *code, cudaJitOption *jitOptions,
	void **jitOptionsValues, unsigned int numJitOptions, cudaLibraryOption *libraryOptions,
	void **libraryOptionValues, unsigned int numLibraryOptions)
{
	return from_driver(cuLibraryLoadData(library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
		libraryOptionValues, numLibraryOptions));
}

cudaError_t rt_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName, cudaJitOption *jitOptions,
	void **jitOptionsValues, unsigned int numJitOptions, cudaLibraryOption *libraryOptions,
	void **libraryOptionValues, unsigned int numLibraryOptions)
{
	return from_driver(cuLibraryLoadFromFile(library, fileName, jitOptions, jitOptionsValues, numJitOptions,
		libraryOptions, libraryOptionValues, numLibraryOptions));
}

cudaError_t rt_cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	return from_driver(cuLibraryGetGlobal((CUdeviceptr *)dptr, bytes, library, name));
}

cudaError_t rt_cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	return from_driver(cuLibraryGetManaged((CUdeviceptr *)dptr, bytes, library, name));
}
