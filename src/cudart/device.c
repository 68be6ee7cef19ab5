/* Devices: count, properties, choosing one, access between them. */
#include <limits.h>
#include <string.h>

#include "cudart/runtime.h"

cudaError_t rt_cudaGetDeviceCount(int *count)
{
	return count ? device_count(count) : cudaErrorInvalidValue;
}

cudaError_t rt_cudaDriverGetVersion(int *driverVersion)
{
	return from_driver(cuDriverGetVersion(driverVersion));
}

cudaError_t rt_cudaRuntimeGetVersion(int *runtimeVersion)
{
	if (!runtimeVersion)
		return error_note(cudaErrorInvalidValue);
	*runtimeVersion = CUDART_MAJOR == 12 ? 12090 : 13000;
	return cudaSuccess;
}

/* ---- properties ---- */

struct property {
	int attribute;
	size_t offset;
	bool wide; /* size_t */
};

#define NUMBER(attribute, member) \
	{attribute, offsetof(cudaDeviceProp, member), sizeof(((cudaDeviceProp *)0)->member) == 8}

static const struct property properties[] = {
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, sharedMemPerBlock),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, regsPerBlock),
	NUMBER(CU_DEVICE_ATTRIBUTE_WARP_SIZE, warpSize),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_PITCH, memPitch),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, maxThreadsPerBlock),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, maxThreadsDim[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, maxThreadsDim[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, maxThreadsDim[2]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, maxGridSize[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, maxGridSize[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, maxGridSize[2]),
	NUMBER(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, totalConstMem),
	NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major),
	NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor),
	NUMBER(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, textureAlignment),
	NUMBER(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, texturePitchAlignment),
	NUMBER(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, multiProcessorCount),
	NUMBER(CU_DEVICE_ATTRIBUTE_INTEGRATED, integrated),
	NUMBER(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, canMapHostMemory),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, maxTexture1D),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, maxTexture1DMipmap),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, maxTexture2D[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, maxTexture2D[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, maxTexture2DMipmap[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, maxTexture2DMipmap[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, maxTexture2DLinear[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, maxTexture2DLinear[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, maxTexture2DLinear[2]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH, maxTexture2DGather[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, maxTexture2DGather[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, maxTexture3D[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, maxTexture3D[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, maxTexture3D[2]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, maxTexture3DAlt[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, maxTexture3DAlt[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, maxTexture3DAlt[2]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, maxTextureCubemap),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, maxTexture1DLayered[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, maxTexture1DLayered[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, maxTexture2DLayered[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, maxTexture2DLayered[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, maxTexture2DLayered[2]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, maxTextureCubemapLayered[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, maxTextureCubemapLayered[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, maxSurface1D),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, maxSurface2D[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, maxSurface2D[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, maxSurface3D[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT, maxSurface3D[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH, maxSurface3D[2]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH, maxSurface1DLayered[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS, maxSurface1DLayered[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH, maxSurface2DLayered[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT, maxSurface2DLayered[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS, maxSurface2DLayered[2]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH, maxSurfaceCubemap),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, maxSurfaceCubemapLayered[0]),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, maxSurfaceCubemapLayered[1]),
	NUMBER(CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, surfaceAlignment),
	NUMBER(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, concurrentKernels),
	NUMBER(CU_DEVICE_ATTRIBUTE_ECC_ENABLED, ECCEnabled),
	NUMBER(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, pciBusID),
	NUMBER(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, pciDeviceID),
	NUMBER(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, pciDomainID),
	NUMBER(CU_DEVICE_ATTRIBUTE_TCC_DRIVER, tccDriver),
	NUMBER(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, asyncEngineCount),
	NUMBER(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, unifiedAddressing),
	NUMBER(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, memoryBusWidth),
	NUMBER(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, l2CacheSize),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, persistingL2CacheMaxSize),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, maxThreadsPerMultiProcessor),
	NUMBER(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, streamPrioritiesSupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, globalL1CacheSupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, localL1CacheSupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, sharedMemPerMultiprocessor),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, regsPerMultiprocessor),
	NUMBER(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, managedMemory),
	NUMBER(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, isMultiGpuBoard),
	NUMBER(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID, multiGpuBoardGroupID),
	NUMBER(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, hostNativeAtomicSupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, pageableMemoryAccess),
	NUMBER(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, concurrentManagedAccess),
	NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, computePreemptionSupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, canUseHostPointerForRegisteredMem),
	NUMBER(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, cooperativeLaunch),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, sharedMemPerBlockOptin),
	NUMBER(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
		pageableMemoryAccessUsesHostPageTables),
	NUMBER(CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, directManagedMemAccessFromHost),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, maxBlocksPerMultiProcessor),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, accessPolicyMaxWindowSize),
	NUMBER(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, reservedSharedMemPerBlock),
	NUMBER(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, hostRegisterSupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, sparseCudaArraySupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, hostRegisterReadOnlySupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, timelineSemaphoreInteropSupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, memoryPoolsSupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, gpuDirectRDMASupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, gpuDirectRDMAFlushWritesOptions),
	NUMBER(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, gpuDirectRDMAWritesOrdering),
	NUMBER(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, memoryPoolSupportedHandleTypes),
	NUMBER(CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, deferredMappingCudaArraySupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, ipcEventSupported),
	NUMBER(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, clusterLaunch),
	NUMBER(CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, unifiedFunctionPointers),
#if CUDART_MAJOR == 12
	NUMBER(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, clockRate),
	NUMBER(CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, deviceOverlap),
	NUMBER(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, kernelExecTimeoutEnabled),
	NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, computeMode),
	NUMBER(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, maxTexture1DLinear),
	NUMBER(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, memoryClockRate),
	NUMBER(CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, singleToDoublePrecisionPerfRatio),
	NUMBER(CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, cooperativeMultiDeviceLaunch),
#else
	NUMBER(CU_DEVICE_ATTRIBUTE_NUMA_CONFIG, deviceNumaConfig),
	NUMBER(CU_DEVICE_ATTRIBUTE_NUMA_ID, deviceNumaId),
	NUMBER(CU_DEVICE_ATTRIBUTE_MPS_ENABLED, mpsEnabled),
	NUMBER(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, hostNumaId),
	NUMBER(CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID, gpuPciDeviceID),
	NUMBER(CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID, gpuPciSubsystemID),
	NUMBER(CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED, hostNumaMultinodeIpcSupported),
#endif
};

static cudaError_t property_read(cudaDeviceProp *prop, const struct property *p, int device)
{
	int value = 0;
	CUresult r = cuDeviceGetAttribute(&value, p->attribute, device);

	if (p->wide)
		*(size_t *)((char *)prop + p->offset) = (unsigned)value;
	else
		*(int *)((char *)prop + p->offset) = value;
	return from_driver(r);
}

cudaError_t rt_cudaGetDeviceProperties_v2(cudaDeviceProp *prop, int device)
{
	cudaError_t e;

	if (!prop)
		return cudaErrorInvalidValue;
	e = device_check(device);
	if (e)
		return e;
	memset(prop, 0, sizeof *prop);
	e = from_driver(cuDeviceGetName(prop->name, sizeof prop->name, device));
	if (!e)
		e = from_driver(cuDeviceTotalMem_v2(&prop->totalGlobalMem, device));
	if (!e)
		e = from_driver(cuDeviceGetUuid(&prop->uuid, device));
	for (size_t i = 0; i < sizeof properties / sizeof *properties && !e; i++)
		e = property_read(prop, &properties[i], device);
	return e;
}

/* Programs built before CUDA 12 call this function. Their struct is a prefix of the present one. */
cudaError_t rt_cudaGetDeviceProperties(cudaDeviceProp *prop, int device)
{
	return rt_cudaGetDeviceProperties_v2(prop, device);
}

/* ---- the device that fits best ---- */

static bool capability_suffices(const cudaDeviceProp *have, const cudaDeviceProp *want)
{
	return have->major > want->major || (have->major == want->major && have->minor >= want->minor);
}

cudaError_t rt_cudaChooseDevice(int *device, const cudaDeviceProp *prop)
{
	cudaDeviceProp have;
	int count, best = 0, most = -1;
	cudaError_t e;

	if (!device || !prop)
		return cudaErrorInvalidValue;
	e = device_count(&count);
	for (int i = 0; i < count && !e; i++) {
		int points;

		e = rt_cudaGetDeviceProperties_v2(&have, i);
		points = capability_suffices(&have, prop) + (have.totalGlobalMem >= prop->totalGlobalMem);
		if (!e && points > most) {
			most = points;
			best = i;
		}
	}
	if (!e)
		*device = best;
	return e;
}

/* ---- access between devices ---- */

cudaError_t rt_cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
	CUcontext peer;
	cudaError_t e = device_check(peerDevice);

	if (!e)
		e = primary_context(peerDevice, &peer);
	return e ? e : from_driver(cuCtxEnablePeerAccess(peer, flags));
}

cudaError_t rt_cudaDeviceDisablePeerAccess(int peerDevice)
{
	CUcontext peer;
	cudaError_t e = device_check(peerDevice);

	if (!e)
		e = primary_context(peerDevice, &peer);
	return e ? e : from_driver(cuCtxDisablePeerAccess(peer));
}

cudaError_t rt_cudaDeviceGetTexture1DLinearMaxWidth(
	size_t *maxWidthInElements, const cudaChannelFormatDesc *fmtDesc, int device)
{
	CUarray_format format;
	unsigned channels;
	cudaError_t e;

	if (!maxWidthInElements || !fmtDesc)
		return cudaErrorInvalidValue;
	e = format_to_driver(fmtDesc, &format, &channels);
	return e ? e : from_driver(cuDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, format, channels, device));
}
