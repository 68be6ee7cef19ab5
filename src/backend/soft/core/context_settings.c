/*
 * Properties of a context: device, flags, limits, cache preferences, peer access.
 */
#include "backend/soft/core/soft.h"

/* Also answers for an inactive primary context: the CUDA runtime asks before it retains one. */
CUresult soft_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
	struct context *ctx;
	CUresult r = device ? context_find(handle, &ctx) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*device = ctx->device->ordinal;
	object_put(ctx);
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxGetDevice(CUdevice *device)
{
	struct context *ctx = thread_context();

	if (!ctx)
		return atomic_load(&soft.ready) ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = ctx->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxGetFlags(unsigned int *flags)
{
	struct context *ctx;
	CUresult r = context_current(&ctx);

	if (r)
		return r;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = atomic_load(&ctx->flags);
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxSetFlags(unsigned int flags)
{
	struct context *ctx;
	CUresult r = context_current(&ctx);

	if (r)
		return r;
	if (!context_flags_ok(flags))
		return CUDA_ERROR_INVALID_VALUE;
	atomic_store(&ctx->flags, flags);
	return CUDA_SUCCESS;
}

CUresult soft_context_id(CUcontext handle, unsigned long long *id)
{
	struct context *ctx;
	CUresult r = id ? context_find(handle, &ctx) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*id = ctx->id;
	object_put(ctx);
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	return soft_context_id(handle, id);
}

CUresult soft_cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
	struct context *ctx;
	CUresult r = version ? context_find(handle, &ctx) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*version = ctx->api_version;
	object_put(ctx);
	return CUDA_SUCCESS;
}

/* ---- limits ---- */

static bool limit_exists(CUlimit limit)
{
	return (int)limit >= 0 && limit < CU_LIMIT_SHMEM_SIZE;
}

CUresult soft_cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!value || (int)limit < 0 || limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (limit >= CU_LIMIT_CIG_ENABLED) { /* CUDA in graphics: never enabled */
		*value = 0;
		return CUDA_SUCCESS;
	}
	if (!limit_exists(limit))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	pthread_mutex_lock(&ctx->lock);
	*value = ctx->limits[limit];
	pthread_mutex_unlock(&ctx->lock);
	return CUDA_SUCCESS;
}

/* As the vendor driver does: clamp a limit to the possible values; the application reads it back. */
static size_t limit_clamp(CUlimit limit, size_t value)
{
	switch (limit) {
	case CU_LIMIT_STACK_SIZE:
		return value > 512u << 10 ? 512u << 10 : (value + 15) & ~(size_t)15;
	case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
		return value > 24 ? 24 : value;
	case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
		return value > 128 ? 128 : value;
	case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
		return 0; /* no cache can be set aside */
	default:
		return value;
	}
}

CUresult soft_cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if ((int)limit < 0 || limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!limit_exists(limit))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (value > ctx->device->memory)
		return limit == CU_LIMIT_STACK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&ctx->lock);
	ctx->limits[limit] = limit_clamp(limit, value);
	pthread_mutex_unlock(&ctx->lock);
	return CUDA_SUCCESS;
}

/* ---- preferences: stored, but without effect, because host memory has no banks and no carve-out ---- */

CUresult soft_cuCtxGetCacheConfig(CUfunc_cache *config)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = atomic_load(&ctx->cache_config);
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if ((int)config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_store(&ctx->cache_config, config);
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE; /* fixed since compute capability 5 */
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	return (int)config < 0 || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE
										     : CUDA_SUCCESS;
}

CUresult soft_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = 1 - PRIORITIES;
	return CUDA_SUCCESS;
}

/* No cache line is ever persisting, so there is nothing to reset. */
CUresult soft_cuCtxResetPersistingL2Cache(void)
{
	struct context *ctx;

	return context_enter(&ctx);
}

CUresult soft_cuCtxGetExecAffinity(CUexecAffinityParam *affinity, CUexecAffinityType type)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!affinity || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

/* ---- peer access: all devices share host memory, so this is only bookkeeping ---- */

static CUresult peer_enter(CUcontext handle, struct context **ctx, struct context **peer)
{
	CUresult r = context_enter(ctx);

	if (r)
		return r;
	*peer = handle ? object_find(handle, KIND_CONTEXT) : NULL;
	return *peer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult soft_cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags)
{
	struct context *ctx, *peer;
	CUresult r = flags ? CUDA_ERROR_INVALID_VALUE : peer_enter(handle, &ctx, &peer);

	if (r)
		return r;
	uint64_t bit = 1ull << peer->device->ordinal;
	if (peer->device == ctx->device)
		r = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	else if (atomic_fetch_or(&ctx->peers, bit) & bit)
		r = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	object_put(peer);
	return r;
}

CUresult soft_cuCtxDisablePeerAccess(CUcontext handle)
{
	struct context *ctx, *peer;
	CUresult r = peer_enter(handle, &ctx, &peer);

	if (r)
		return r;
	uint64_t bit = 1ull << peer->device->ordinal;
	if (!(atomic_fetch_and(&ctx->peers, ~bit) & bit))
		r = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	object_put(peer);
	return r;
}

/* ---- the profiler: never attached, so these calls only check the context ---- */

CUresult soft_cuProfilerStart(void)
{
	struct context *ctx;

	return context_enter(&ctx);
}

CUresult soft_cuProfilerStop(void)
{
	struct context *ctx;

	return context_enter(&ctx);
}

/* ---- atomics between a device and the host or another device: native, because all memory is host memory ---- */

static CUresult atomic_capabilities(unsigned *out, const CUatomicOperation *ops, unsigned n)
{
	const unsigned words = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64;

	if (!out || !ops || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		if ((int)ops[i] < 0 || ops[i] >= CU_ATOMIC_OPERATION_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		out[i] = words | CU_ATOMIC_CAPABILITY_REDUCTION | CU_ATOMIC_CAPABILITY_SIGNED;
		if (ops[i] < CU_ATOMIC_OPERATION_FLOAT_ADD)
			out[i] |= CU_ATOMIC_CAPABILITY_UNSIGNED;
	}
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetHostAtomicCapabilities(
	unsigned int *out, const CUatomicOperation *ops, unsigned int n, CUdevice dev)
{
	return device_find(dev) ? atomic_capabilities(out, ops, n) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult soft_cuDeviceGetP2PAtomicCapabilities(
	unsigned int *out, const CUatomicOperation *ops, unsigned int n, CUdevice src, CUdevice dst)
{
	return device_find(src) && device_find(dst) && src != dst ? atomic_capabilities(out, ops, n)
								  : CUDA_ERROR_INVALID_DEVICE;
}
