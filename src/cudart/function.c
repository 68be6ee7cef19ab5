/* Kernels as functions: attributes, names, handles. */
#include <string.h>

#include "cudart/runtime.h"

/* The kernel, loaded on the thread's device. */
static cudaError_t kernel_prepare(const void *func, CUkernel *kernel, int *device)
{
	CUfunction function;
	cudaError_t e = symbol_kernel(func, kernel);

	if (!e)
		e = device_current(device);
	return e ? e : from_driver(cuKernelGetFunction(&function, *kernel));
}

static cudaError_t attribute_get(CUfunction_attribute attribute, CUkernel kernel, int device, int *value)
{
	return from_driver(cuKernelGetAttribute(value, attribute, kernel, device));
}

cudaError_t rt_cudaFuncGetAttributes(cudaFuncAttributes *attr, const void *func)
{
	CUkernel kernel;
	int device, value[CU_FUNC_ATTRIBUTE_MAX];
	cudaError_t e;

	if (!attr)
		return cudaErrorInvalidValue;
	e = kernel_prepare(func, &kernel, &device);
	for (int i = 0; i < CU_FUNC_ATTRIBUTE_MAX && !e; i++)
		e = attribute_get(i, kernel, device, &value[i]);
	if (e)
		return e;
	memset(attr, 0, sizeof *attr);
	attr->maxThreadsPerBlock = value[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
	attr->sharedSizeBytes = value[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
	attr->constSizeBytes = value[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES];
	attr->localSizeBytes = value[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES];
	attr->numRegs = value[CU_FUNC_ATTRIBUTE_NUM_REGS];
	attr->ptxVersion = value[CU_FUNC_ATTRIBUTE_PTX_VERSION];
	attr->binaryVersion = value[CU_FUNC_ATTRIBUTE_BINARY_VERSION];
	attr->cacheModeCA = value[CU_FUNC_ATTRIBUTE_CACHE_MODE_CA];
	attr->maxDynamicSharedSizeBytes = value[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
	attr->preferredShmemCarveout = value[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT];
	attr->clusterDimMustBeSet = value[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET];
	attr->requiredClusterWidth = value[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
	attr->requiredClusterHeight = value[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT];
	attr->requiredClusterDepth = value[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH];
	attr->clusterSchedulingPolicyPreference = value[CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE];
	attr->nonPortableClusterSizeAllowed = value[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED];
	return cudaSuccess;
}

cudaError_t rt_cudaFuncSetAttribute(const void *func, cudaFuncAttribute attr, int value)
{
	CUkernel kernel;
	int device;
	cudaError_t e = kernel_prepare(func, &kernel, &device);

	return e ? e : from_driver(cuKernelSetAttribute(attr, value, kernel, device));
}

cudaError_t rt_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attr, int value, int device)
{
	return from_driver(cuKernelSetAttribute(attr, value, kernel, device));
}

cudaError_t rt_cudaFuncSetCacheConfig(const void *func, cudaFuncCache cacheConfig)
{
	CUkernel kernel;
	int device;
	cudaError_t e = kernel_prepare(func, &kernel, &device);

	if (e == cudaErrorInvalidResourceHandle && CUDART_MAJOR == 12)
		return cudaErrorInvalidDeviceFunction;
	return e ? e : from_driver(cuKernelSetCacheConfig(kernel, cacheConfig, device));
}

cudaError_t rt_cudaFuncSetSharedMemConfig(const void *func, cudaSharedMemConfig config)
{
	CUkernel kernel;
	CUfunction function;
	cudaError_t e = symbol_kernel(func, &kernel);

	if (!e)
		e = from_driver(cuKernelGetFunction(&function, kernel));
	return e ? e : from_driver(cuFuncSetSharedMemConfig(function, config));
}

cudaError_t rt_cudaFuncGetName(const char **name, const void *func)
{
	const char *registered = symbol_name(func);

	if (!name)
		return cudaErrorInvalidValue;
	if (!func)
		return cudaErrorInvalidDeviceFunction;
	if (!registered)
		return from_driver(cuKernelGetName(name, (CUkernel)func));
	*name = registered;
	return cudaSuccess;
}

cudaError_t rt_cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
	CUkernel kernel;
	cudaError_t e = symbol_kernel(func, &kernel);

	return e ? e : from_driver(cuKernelGetParamInfo(kernel, paramIndex, paramOffset, paramSize));
}

cudaError_t rt_cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
	CUkernel kernel;
	cudaError_t e;

	if (!functionPtr)
		return cudaErrorInvalidValue;
	e = symbol_name(symbolPtr) ? symbol_kernel(symbolPtr, &kernel) : cudaErrorInvalidDeviceFunction;
	return e ? e : from_driver(cuKernelGetFunction(functionPtr, kernel));
}

cudaError_t rt_cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
	if (!kernelPtr)
		return cudaErrorInvalidValue;
	return symbol_name(entryFuncAddr) ? symbol_kernel(entryFuncAddr, kernelPtr) : cudaErrorInvalidDeviceFunction;
}

/* A conversion for devices without double precision. All devices have it today, so the value stays. */
cudaError_t rt_cudaSetDoubleForDevice(double *d)
{
	(void)d;
	return cudaSuccess;
}

cudaError_t rt_cudaSetDoubleForHost(double *d)
{
	(void)d;
	return cudaSuccess;
}
