/*
 * The binary interface of the CUDA runtime, releases 12 and 13, in our own declarations. Names, numbers and layouts are
 * the vendor's. The functions are declared in api/cudart.api.
 *
 * A type of the runtime that equals a type of the driver is declared as another name for it. All types are typedefs, also those that NVIDIA's
 * headers know as struct or enum only. Where the two releases differ, CUDART_MAJOR decides: 12 or 13.
 */
#pragma once

#if !defined(CUDART_MAJOR) || CUDART_MAJOR < 12 || CUDART_MAJOR > 13
#error "define CUDART_MAJOR as 12 or 13"
#endif

#include "abi/cuda.h"
#include "abi/cudart_device.h"

typedef enum cudaError {
#define ERROR(name, value, text) name = value,
#include "abi/cudart_errors.def"
} cudaError_t;

/* ---- handles ---- */

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUfunction cudaFunction_t;
typedef CUkernel cudaKernel_t;
typedef CUlibrary cudaLibrary_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUarray cudaArray_t, cudaArray_const_t;
typedef CUmipmappedArray cudaMipmappedArray_t, cudaMipmappedArray_const_t;
typedef CUtexObject cudaTextureObject_t;
typedef CUsurfObject cudaSurfaceObject_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUgraphConditionalHandle cudaGraphConditionalHandle;
typedef CUuserObject cudaUserObject_t;
typedef CUgraphicsResource cudaGraphicsResource_t;
typedef CUexternalMemory cudaExternalMemory_t;
typedef CUexternalSemaphore cudaExternalSemaphore_t;
typedef CUasyncCallbackHandle cudaAsyncCallbackHandle_t;
typedef CUlogsCallbackHandle cudaLogsCallbackHandle;
typedef CUlogIterator cudaLogIterator;
typedef CUipcMemHandle cudaIpcMemHandle_t;
typedef CUipcEventHandle cudaIpcEventHandle_t;

#define cudaStreamLegacy    CU_STREAM_LEGACY
#define cudaStreamPerThread CU_STREAM_PER_THREAD

/* ---- types that are the driver's ---- */

typedef CUlimit cudaLimit;
typedef CUfunc_cache cudaFuncCache;
typedef CUsharedconfig cudaSharedMemConfig;
typedef CUfunction_attribute cudaFuncAttribute;
typedef CUdevice_attribute cudaDeviceAttr;
typedef CUdevice_P2PAttribute cudaDeviceP2PAttr;
typedef CUatomicOperation cudaAtomicOperation;
typedef CUflushGPUDirectRDMAWritesTarget cudaFlushGPUDirectRDMAWritesTarget;
typedef CUflushGPUDirectRDMAWritesScope cudaFlushGPUDirectRDMAWritesScope;
typedef CUdriverProcAddressQueryResult cudaDriverEntryPointQueryResult;
typedef CUasyncCallback cudaAsyncCallback;
typedef CUlogsCallback cudaLogsCallback_t;
typedef CUjit_option cudaJitOption;
typedef CUlibraryOption cudaLibraryOption;
typedef CUmem_advise cudaMemoryAdvise;
typedef CUmem_range_attribute cudaMemRangeAttribute;
typedef CUmemLocation cudaMemLocation;
typedef CUmemLocationType cudaMemLocationType;
typedef CUmemAllocationType cudaMemAllocationType;
typedef CUmemAllocationHandleType cudaMemAllocationHandleType;
typedef CUmemAccess_flags cudaMemAccessFlags;
typedef CUmemAccessDesc cudaMemAccessDesc;
typedef CUmemPoolProps cudaMemPoolProps;
typedef CUmemPool_attribute cudaMemPoolAttr;
typedef CUmemPoolPtrExportData cudaMemPoolPtrExportData;
typedef CUgraphMem_attribute cudaGraphMemAttributeType;
typedef CUmemcpyAttributes cudaMemcpyAttributes;
typedef CUDA_MEMCPY3D_BATCH_OP cudaMemcpy3DBatchOp;
typedef CUDA_MEM_ALLOC_NODE_PARAMS cudaMemAllocNodeParams;
typedef CUDA_ARRAY_SPARSE_PROPERTIES cudaArraySparseProperties;
typedef CUDA_ARRAY_MEMORY_REQUIREMENTS cudaArrayMemoryRequirements;
typedef CUstreamCaptureStatus cudaStreamCaptureStatus;
typedef CUstreamCaptureMode cudaStreamCaptureMode;
typedef CUlaunchAttributeID cudaLaunchAttributeID;
typedef CUlaunchAttributeValue cudaLaunchAttributeValue;
typedef CUlaunchAttribute cudaLaunchAttribute;
typedef CUhostFn cudaHostFn_t;
typedef CUDA_HOST_NODE_PARAMS cudaHostNodeParams;
typedef CUgraphEdgeData cudaGraphEdgeData;
typedef CUgraphNodeType cudaGraphNodeType;
typedef CUDA_GRAPH_INSTANTIATE_PARAMS cudaGraphInstantiateParams;
typedef CUgraphExecUpdateResultInfo cudaGraphExecUpdateResultInfo;
typedef CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS cudaExternalSemaphoreSignalParams;
typedef CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS cudaExternalSemaphoreWaitParams;
typedef CUDA_EXT_SEM_SIGNAL_NODE_PARAMS cudaExternalSemaphoreSignalNodeParams;
typedef CUDA_EXT_SEM_WAIT_NODE_PARAMS cudaExternalSemaphoreWaitNodeParams;

typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *userData);

/* ---- launches ---- */

typedef struct dim3 {
	unsigned int x, y, z;
} dim3;

typedef struct cudaLaunchConfig_st {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	cudaLaunchAttribute *attrs;
	unsigned int numAttrs;
} cudaLaunchConfig_t;

typedef struct cudaLaunchParams {
	void *func;
	dim3 gridDim, blockDim;
	void **args;
	size_t sharedMem;
	cudaStream_t stream;
} cudaLaunchParams;

typedef struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
	int preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight;
	int requiredClusterDepth, clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved[16];
} cudaFuncAttributes;

/* ---- memory ---- */

typedef enum cudaMemcpyKind {
	cudaMemcpyHostToHost = 0,
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
	cudaMemcpyDefault = 4,
} cudaMemcpyKind;

typedef enum cudaMemoryType {
	cudaMemoryTypeUnregistered = 0,
	cudaMemoryTypeHost = 1,
	cudaMemoryTypeDevice = 2,
	cudaMemoryTypeManaged = 3,
} cudaMemoryType;

typedef struct cudaPointerAttributes {
	cudaMemoryType type;
	int device;
	void *devicePointer, *hostPointer;
#if CUDART_MAJOR >= 13
	long reserved[8];
#endif
} cudaPointerAttributes;

typedef struct cudaPitchedPtr {
	void *ptr;
	size_t pitch, xsize, ysize;
} cudaPitchedPtr;

typedef struct cudaExtent {
	size_t width, height, depth;
} cudaExtent;

typedef struct cudaPos {
	size_t x, y, z;
} cudaPos;

typedef struct cudaMemcpy3DParms {
	cudaArray_t srcArray;
	cudaPos srcPos;
	cudaPitchedPtr srcPtr;
	cudaArray_t dstArray;
	cudaPos dstPos;
	cudaPitchedPtr dstPtr;
	cudaExtent extent;
	cudaMemcpyKind kind;
} cudaMemcpy3DParms;

typedef struct cudaMemcpy3DPeerParms {
	cudaArray_t srcArray;
	cudaPos srcPos;
	cudaPitchedPtr srcPtr;
	int srcDevice;
	cudaArray_t dstArray;
	cudaPos dstPos;
	cudaPitchedPtr dstPtr;
	int dstDevice;
	cudaExtent extent;
} cudaMemcpy3DPeerParms;

/* ---- arrays and textures ---- */

typedef enum cudaChannelFormatKind {
	cudaChannelFormatKindSigned = 0,
	cudaChannelFormatKindUnsigned = 1,
	cudaChannelFormatKindFloat = 2,
	cudaChannelFormatKindNone = 3,
	cudaChannelFormatKindNV12 = 4,
	cudaChannelFormatKindUnsignedNormalized8X1 = 5,
	cudaChannelFormatKindUnsignedNormalized8X2 = 6,
	cudaChannelFormatKindUnsignedNormalized8X4 = 7,
	cudaChannelFormatKindUnsignedNormalized16X1 = 8,
	cudaChannelFormatKindUnsignedNormalized16X2 = 9,
	cudaChannelFormatKindUnsignedNormalized16X4 = 10,
	cudaChannelFormatKindSignedNormalized8X1 = 11,
	cudaChannelFormatKindSignedNormalized8X2 = 12,
	cudaChannelFormatKindSignedNormalized8X4 = 13,
	cudaChannelFormatKindSignedNormalized16X1 = 14,
	cudaChannelFormatKindSignedNormalized16X2 = 15,
	cudaChannelFormatKindSignedNormalized16X4 = 16,
	cudaChannelFormatKindUnsignedBlockCompressed1 = 17,
	cudaChannelFormatKindUnsignedBlockCompressed1SRGB = 18,
	cudaChannelFormatKindUnsignedBlockCompressed2 = 19,
	cudaChannelFormatKindUnsignedBlockCompressed2SRGB = 20,
	cudaChannelFormatKindUnsignedBlockCompressed3 = 21,
	cudaChannelFormatKindUnsignedBlockCompressed3SRGB = 22,
	cudaChannelFormatKindUnsignedBlockCompressed4 = 23,
	cudaChannelFormatKindSignedBlockCompressed4 = 24,
	cudaChannelFormatKindUnsignedBlockCompressed5 = 25,
	cudaChannelFormatKindSignedBlockCompressed5 = 26,
	cudaChannelFormatKindUnsignedBlockCompressed6H = 27,
	cudaChannelFormatKindSignedBlockCompressed6H = 28,
	cudaChannelFormatKindUnsignedBlockCompressed7 = 29,
	cudaChannelFormatKindUnsignedBlockCompressed7SRGB = 30,
	cudaChannelFormatKindUnsignedNormalized1010102 = 31,
} cudaChannelFormatKind;

typedef struct cudaChannelFormatDesc {
	int x, y, z, w;
	cudaChannelFormatKind f;
} cudaChannelFormatDesc;

typedef struct cudaResourceDesc {
	CUresourcetype resType;
	union {
		struct {
			cudaArray_t array;
		} array;
		struct {
			cudaMipmappedArray_t mipmap;
		} mipmap;
		struct {
			void *devPtr;
			cudaChannelFormatDesc desc;
			size_t sizeInBytes;
		} linear;
		struct {
			void *devPtr;
			cudaChannelFormatDesc desc;
			size_t width, height, pitchInBytes;
		} pitch2D;
#if CUDART_MAJOR >= 13
		struct {
			int reserved[32];
		} reserved;
#endif
	} res;
#if CUDART_MAJOR >= 13
	unsigned int flags;
#endif
} cudaResourceDesc;

typedef struct cudaResourceViewDesc {
	CUresourceViewFormat format;
	size_t width, height, depth;
	unsigned int firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
#if CUDART_MAJOR >= 13
	unsigned int reserved[16];
#endif
} cudaResourceViewDesc;

typedef enum cudaTextureReadMode {
	cudaReadModeElementType = 0,
	cudaReadModeNormalizedFloat = 1,
} cudaTextureReadMode;

typedef struct cudaTextureDesc {
	CUaddress_mode addressMode[3];
	CUfilter_mode filterMode;
	cudaTextureReadMode readMode;
	int sRGB;
	float borderColor[4];
	int normalizedCoords;
	unsigned int maxAnisotropy;
	CUfilter_mode mipmapFilterMode;
	float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
	int disableTrilinearOptimization, seamlessCubemap;
} cudaTextureDesc;

/* ---- graphs ---- */

typedef struct cudaKernelNodeParams {
	void *func;
	dim3 gridDim, blockDim;
	unsigned int sharedMemBytes;
	void **kernelParams, **extra;
} cudaKernelNodeParams;

typedef struct cudaMemsetParams {
	void *dst;
	size_t pitch;
	unsigned int value, elementSize;
	size_t width, height;
} cudaMemsetParams;

typedef struct cudaMemcpyNodeParams {
	int flags, reserved[3];
	cudaMemcpy3DParms copyParams;
} cudaMemcpyNodeParams;

typedef struct cudaConditionalNodeParams {
	cudaGraphConditionalHandle handle;
	CUgraphConditionalNodeType type;
	unsigned int size;
	cudaGraph_t *phGraph_out;
} cudaConditionalNodeParams;

typedef struct cudaGraphNodeParams {
	cudaGraphNodeType type;
	int reserved0[3];
	union {
		long long reserved1[29];
		cudaKernelNodeParams kernel;
		cudaMemcpyNodeParams memcpy;
		cudaMemsetParams memset;
		cudaHostNodeParams host;
		CUDA_CHILD_GRAPH_NODE_PARAMS graph;
		CUDA_EVENT_WAIT_NODE_PARAMS eventWait;
		CUDA_EVENT_RECORD_NODE_PARAMS eventRecord;
		cudaExternalSemaphoreSignalNodeParams extSemSignal;
		cudaExternalSemaphoreWaitNodeParams extSemWait;
		cudaMemAllocNodeParams alloc;
		CUDA_MEM_FREE_NODE_PARAMS free;
		cudaConditionalNodeParams conditional;
	};
	long long reserved2;
} cudaGraphNodeParams;

/* ---- external memory and semaphores ---- */

typedef struct cudaExternalMemoryHandleDesc {
	CUexternalMemoryHandleType type;
	union {
		int fd;
		struct {
			void *handle;
			const void *name;
		} win32;
		const void *nvSciBufObject;
	} handle;
	unsigned long long size;
	unsigned int flags;
#if CUDART_MAJOR >= 13
	unsigned int reserved[16];
#endif
} cudaExternalMemoryHandleDesc;

typedef struct cudaExternalMemoryBufferDesc {
	unsigned long long offset, size;
	unsigned int flags;
#if CUDART_MAJOR >= 13
	unsigned int reserved[16];
#endif
} cudaExternalMemoryBufferDesc;

typedef struct cudaExternalMemoryMipmappedArrayDesc {
	unsigned long long offset;
	cudaChannelFormatDesc formatDesc;
	cudaExtent extent;
	unsigned int flags, numLevels;
#if CUDART_MAJOR >= 13
	unsigned int reserved[16];
#endif
} cudaExternalMemoryMipmappedArrayDesc;

typedef struct cudaExternalSemaphoreHandleDesc {
	CUexternalSemaphoreHandleType type;
	union {
		int fd;
		struct {
			void *handle;
			const void *name;
		} win32;
		const void *nvSciSyncObj;
	} handle;
	unsigned int flags;
#if CUDART_MAJOR >= 13
	unsigned int reserved[16];
#endif
} cudaExternalSemaphoreHandleDesc;

/* Before CUDA 11.2; release 12 still has functions that take them. */
typedef struct cudaExternalSemaphoreSignalParams_v1 {
	struct {
		struct {
			unsigned long long value;
		} fence;
		union {
			void *fence;
			unsigned long long reserved;
		} nvSciSync;
		struct {
			unsigned long long key;
		} keyedMutex;
	} params;
	unsigned int flags;
} cudaExternalSemaphoreSignalParams_v1;

typedef struct cudaExternalSemaphoreWaitParams_v1 {
	struct {
		struct {
			unsigned long long value;
		} fence;
		union {
			void *fence;
			unsigned long long reserved;
		} nvSciSync;
		struct {
			unsigned long long key;
			unsigned int timeoutMs;
		} keyedMutex;
	} params;
	unsigned int flags;
} cudaExternalSemaphoreWaitParams_v1;
