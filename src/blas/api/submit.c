/* Handles, and the launch of jobs on streams. */
#include "blas/api/blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/explain.h"

/* Make the context of the handle current, as the calling thread may have another one or none. False: not possible. */
static bool blas_enter(const struct blas *h)
{
	return !cuCtxPushCurrent_v2(h->ctx);
}

static void blas_leave(void)
{
	CUcontext ctx;

	cuCtxPopCurrent_v2(&ctx);
}

bool blas_enter_context(CUcontext *ctx, CUdevice *dev)
{
	if (cuInit(0) || cuCtxGetCurrent(ctx))
		return false;
	if (!*ctx && (cuDeviceGet(dev, 0) || cuDevicePrimaryCtxRetain(ctx, *dev) || cuCtxSetCurrent(*ctx)))
		return false;
	return !cuCtxGetDevice(dev);
}

/* ---- handles ---- */

/* The body is empty: a device that does not know the kernel leaves the answer of the probe alone. */
static CUresult load_kernel(struct blas *h)
{
	char text[512];
	CUresult r;

	snprintf(text, sizeof text,
		".version 6.0\n.target sm_50\n.address_size 64\n"
		".visible .entry " BLAS_KERNEL "(.param .align 8 .b8 job[%zu])\n{\nret;\n}\n",
		sizeof(struct blas_job));
	r = cuModuleLoadData(&h->module, text);
	return r ? r : cuModuleGetFunction(&h->kernel, h->module, BLAS_KERNEL);
}

static CUresult launch_job(struct blas *h, const struct blas_job *job, CUstream stream)
{
	void *params[] = {(void *)job};

	return cuLaunchKernel(h->kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* Whether the device runs jobs, asked on a stream of its own so that a capture of another stream goes on. */
static bool probe_device(struct blas *h)
{
	struct blas_job job = {.routine = BLAS_PROBE, .type = CUDA_R_32F, .c = blas_operand((void *)h->scratch, 1, 0)};
	uint32_t answer = 0;
	CUstream s;
	bool ok;

	if (cuStreamCreate(&s, CU_STREAM_NON_BLOCKING))
		return false;
	ok = !cuMemsetD32Async(h->scratch, 0, 1, s) && !launch_job(h, &job, s) &&
	     !cuMemcpyDtoHAsync_v2(&answer, h->scratch, sizeof answer, s) && !cuStreamSynchronize(s);
	cuStreamDestroy_v2(s);
	return ok && answer == BLAS_PROBE_ANSWER;
}

static cublasStatus_t handle_start(struct blas *h)
{
	char name[64] = "";
	CUdevice dev;

	if (!blas_enter_context(&h->ctx, &dev))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (cuDeviceGetName(name, sizeof name, dev) || strncmp(name, "Gangway CPU", 11))
		return CUBLAS_STATUS_ARCH_MISMATCH;
	if (cuMemAlloc_v2(&h->scratch, BLAS_SCRATCH))
		return CUBLAS_STATUS_ALLOC_FAILED;
	return !load_kernel(h) && probe_device(h) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ARCH_MISMATCH;
}

static void handle_free(struct blas *h)
{
	if (h->module)
		cuModuleUnload(h->module);
	if (h->scratch)
		cuMemFree_v2(h->scratch);
	free(h);
}

cublasStatus_t blas_open(struct blas **handle)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	struct blas *h = calloc(1, sizeof *h);
	cublasStatus_t r;

	*handle = NULL;
	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	cuThreadExchangeStreamCaptureMode(&mode);
	r = handle_start(h);
	if (r)
		handle_free(h);
	else
		*handle = h;
	cuThreadExchangeStreamCaptureMode(&mode);
	return r;
}

cublasStatus_t blas_close(struct blas *h)
{
	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	/* The context may have ended before its handle; then there is nothing left to free in it. */
	if (!blas_enter(h)) {
		free(h);
		return CUBLAS_STATUS_SUCCESS;
	}
	cuCtxSynchronize();
	handle_free(h);
	blas_leave();
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- jobs ---- */

static cublasStatus_t status_of(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS:
		return CUBLAS_STATUS_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CUBLAS_STATUS_ALLOC_FAILED;
	default:
		return CUBLAS_STATUS_EXECUTION_FAILED;
	}
}

cublasStatus_t blas_launch(struct blas *h, const struct blas_job *job, CUstream stream)
{
	if (!blas_enter(h))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	CUresult r = launch_job(h, job, stream);
	blas_leave();
	return status_of(r);
}

cublasStatus_t blas_submit_result(struct blas *h, struct blas_job *job, void *result, size_t size)
{
	bool wait = h->pointers == CUBLAS_POINTER_MODE_HOST;
	CUdeviceptr mine = h->scratch + atomic_fetch_add(&h->results, 1) % (BLAS_SCRATCH / 16) * 16;
	CUresult r;

	job->d.at = wait ? mine : (uintptr_t)result;
	if (!blas_enter(h))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	r = launch_job(h, job, h->stream);
	if (!r && wait && !(r = cuMemcpyDtoHAsync_v2(result, mine, size, h->stream)))
		r = cuStreamSynchronize(h->stream);
	blas_leave();
	return status_of(r);
}

unsigned blas_size_of(cudaDataType type)
{
	static const unsigned char sizes[] = {[CUDA_R_32F] = 4,
		[CUDA_R_64F] = 8,
		[CUDA_R_16F] = 2,
		[CUDA_R_8I] = 1,
		[CUDA_C_32F] = 8,
		[CUDA_C_64F] = 16,
		[CUDA_C_16F] = 4,
		[CUDA_C_8I] = 2,
		[CUDA_R_8U] = 1,
		[CUDA_R_32I] = 4,
		[CUDA_R_16BF] = 2,
		[CUDA_C_16BF] = 4,
		[CUDA_R_8F_E4M3] = 1,
		[CUDA_R_8F_E5M2] = 1};

	return (size_t)type < sizeof sizes ? sizes[type] : 0;
}

struct blas_scalar blas_scalar_of(const struct blas *h, const void *p, cudaDataType type)
{
	struct blas_scalar s = {.type = type};

	if (h->pointers == CUBLAS_POINTER_MODE_DEVICE)
		s.at = (uintptr_t)p;
	else
		memcpy(s.value, p, blas_size_of(type));
	return s;
}

cublasStatus_t blas_missing(const char *name)
{
	char text[256];

	snprintf(text, sizeof text, "%s is not implemented in Gangway's cuBLAS for the CPU device", name);
	explain_once(text);
	return CUBLAS_STATUS_NOT_SUPPORTED;
}
