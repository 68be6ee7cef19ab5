/* Launches: the configuration that <<<>>> leaves for the stub of the kernel, and the calls that launch. */
#include "cudart/runtime.h"

#define MAX_CONFIGURATIONS 16 /* a kernel's argument may be an expression that launches another kernel */

static _Thread_local struct {
	struct configuration {
		dim3 grid, block;
		size_t shared;
		cudaStream_t stream;
	} stack[MAX_CONFIGURATIONS];
	int depth;
} pushed;

unsigned int rt___cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, cudaStream_t stream)
{
	if (pushed.depth == MAX_CONFIGURATIONS)
		return 1;
	pushed.stack[pushed.depth++] = (struct configuration){gridDim, blockDim, sharedMem, stream};
	return 0;
}

cudaError_t rt___cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream)
{
	const struct configuration *c;

	if (!pushed.depth)
		return error_note(cudaErrorMissingConfiguration);
	c = &pushed.stack[--pushed.depth];
	*gridDim = c->grid;
	*blockDim = c->block;
	*sharedMem = c->shared;
	*(cudaStream_t *)stream = c->stream;
	return cudaSuccess;
}

cudaError_t rt___cudaGetKernel(cudaKernel_t *kernel, const void *hostFun)
{
	return symbol_kernel(hostFun, kernel);
}

#if CUDART_MAJOR == 12
static bool size_fits(unsigned size, CUdevice_attribute attribute, int device)
{
	int most = 0;

	return size && !cuDeviceGetAttribute(&most, attribute, device) && size <= (unsigned)most;
}

/* Release 12 tells a grid or block that no kernel can have from other bad arguments. */
static cudaError_t launch_error(CUresult r, const dim3 *grid, const dim3 *block)
{
	int device;

	if (r != CUDA_ERROR_INVALID_VALUE || device_current(&device))
		return from_driver(r);
	if (size_fits(grid->x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, device) &&
		size_fits(grid->y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, device) &&
		size_fits(grid->z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, device) &&
		size_fits(block->x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, device) &&
		size_fits(block->y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, device) &&
		size_fits(block->z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, device) &&
		(unsigned long long)block->x * block->y * block->z <= 1024)
		return cudaErrorInvalidValue;
	return cudaErrorInvalidConfiguration;
}
#else
static cudaError_t launch_error(CUresult r, const dim3 *grid, const dim3 *block)
{
	(void)grid, (void)block;
	return from_driver(r);
}
#endif

cudaError_t rt___cudaLaunchKernel(
	cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
	CUresult r = cuLaunchKernel((CUfunction)kernel, gridDim.x, gridDim.y, gridDim.z, blockDim.x, blockDim.y,
		blockDim.z, sharedMem, stream, args, NULL);

	return launch_error(r, &gridDim, &blockDim);
}

cudaError_t rt_cudaLaunchKernel(
	const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
	CUkernel kernel;
	cudaError_t e = symbol_kernel(func, &kernel);

	return e ? e : rt___cudaLaunchKernel(kernel, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t rt_cudaLaunchCooperativeKernel(
	const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
	CUkernel kernel;
	cudaError_t e = symbol_kernel(func, &kernel);

	if (e)
		return e;
	CUresult r = cuLaunchCooperativeKernel((CUfunction)kernel, gridDim.x, gridDim.y, gridDim.z, blockDim.x,
		blockDim.y, blockDim.z, sharedMem, stream, args);

	return launch_error(r, &gridDim, &blockDim);
}

cudaError_t rt_cudaLaunchCooperativeKernelMultiDevice(
	cudaLaunchParams *launchParamsList, unsigned int numDevices, unsigned int flags)
{
	CUDA_LAUNCH_PARAMS list[64];

	if (!launchParamsList || !numDevices || numDevices > sizeof list / sizeof *list)
		return cudaErrorInvalidValue;
	for (unsigned i = 0; i < numDevices; i++) {
		const cudaLaunchParams *p = &launchParamsList[i];
		CUkernel kernel;
		cudaError_t e = symbol_kernel(p->func, &kernel);

		if (e)
			return e;
		list[i] = (CUDA_LAUNCH_PARAMS){(CUfunction)kernel, p->gridDim.x, p->gridDim.y, p->gridDim.z,
			p->blockDim.x, p->blockDim.y, p->blockDim.z, p->sharedMem, p->stream, p->args};
	}
	return from_driver(cuLaunchCooperativeKernelMultiDevice(list, numDevices, flags));
}

static CUlaunchConfig config_to_driver(const cudaLaunchConfig_t *c)
{
	return (CUlaunchConfig){c->gridDim.x, c->gridDim.y, c->gridDim.z, c->blockDim.x, c->blockDim.y, c->blockDim.z,
		c->dynamicSmemBytes, c->stream, c->attrs, c->numAttrs};
}

cudaError_t rt_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args, bool per_thread)
{
	CUlaunchConfig c;
	CUkernel kernel;
	cudaError_t e;

	if (!config)
		return cudaErrorInvalidValue;
	e = symbol_kernel(func, &kernel);
	if (e)
		return e;
	c = config_to_driver(config);
	if (per_thread && !c.hStream)
		c.hStream = CU_STREAM_PER_THREAD;
	return launch_error(cuLaunchKernelEx(&c, (CUfunction)kernel, args, NULL), &config->gridDim, &config->blockDim);
}

/* ---- occupancy ---- */

cudaError_t rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
	CUkernel kernel;
	cudaError_t e = symbol_kernel(func, &kernel);

	return e ? e
		 : from_driver(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			   numBlocks, (CUfunction)kernel, blockSize, dynamicSMemSize, flags));
}

cudaError_t rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(
	int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize)
{
	return rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		numBlocks, func, blockSize, dynamicSMemSize, 0);
}

cudaError_t rt_cudaOccupancyAvailableDynamicSMemPerBlock(
	size_t *dynamicSmemSize, const void *func, int numBlocks, int blockSize)
{
	CUkernel kernel;
	cudaError_t e = symbol_kernel(func, &kernel);

	return e ? e
		 : from_driver(cuOccupancyAvailableDynamicSMemPerBlock(
			   dynamicSmemSize, (CUfunction)kernel, numBlocks, blockSize));
}

cudaError_t rt_cudaOccupancyMaxActiveClusters(
	int *numClusters, const void *func, const cudaLaunchConfig_t *launchConfig)
{
	CUlaunchConfig c;
	CUkernel kernel;
	cudaError_t e;

	if (!launchConfig)
		return cudaErrorInvalidValue;
	e = symbol_kernel(func, &kernel);
	c = config_to_driver(launchConfig);
	return e ? e : from_driver(cuOccupancyMaxActiveClusters(numClusters, (CUfunction)kernel, &c));
}

cudaError_t rt_cudaOccupancyMaxPotentialClusterSize(
	int *clusterSize, const void *func, const cudaLaunchConfig_t *launchConfig)
{
	CUlaunchConfig c;
	CUkernel kernel;
	cudaError_t e;

	if (!launchConfig)
		return cudaErrorInvalidValue;
	e = symbol_kernel(func, &kernel);
	c = config_to_driver(launchConfig);
	return e ? e : from_driver(cuOccupancyMaxPotentialClusterSize(clusterSize, (CUfunction)kernel, &c));
}
