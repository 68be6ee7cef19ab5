/* Handles and their settings, and versions. */
#include "blas/api/blas.h"
#include "blas/api/version.h"

BLAS_EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	return handle ? blas_open(handle) : CUBLAS_STATUS_INVALID_VALUE;
}

BLAS_EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t h)
{
	return blas_close(h);
}

#define SETTING(Name, T, field) \
	BLAS_EXPORT cublasStatus_t cublasSet##Name(cublasHandle_t h, T value) \
	{ \
		BLAS_REQUIRE(h, true); \
		h->field = value; \
		return CUBLAS_STATUS_SUCCESS; \
	} \
	BLAS_EXPORT cublasStatus_t cublasGet##Name(cublasHandle_t h, T *value) \
	{ \
		BLAS_REQUIRE(h, value); \
		*value = h->field; \
		return CUBLAS_STATUS_SUCCESS; \
	}
SETTING(Stream_v2, CUstream, stream)
SETTING(PointerMode_v2, cublasPointerMode_t, pointers)
SETTING(AtomicsMode, int, atomics)
SETTING(MathMode, int, math) /* permitted loss of precision; ignored */
SETTING(SmCountTarget, int, sms)
/* How a GPU may emulate a type by a smaller one; no type is emulated here. */
SETTING(EmulationStrategy, int, emulation[0])
SETTING(EmulationSpecialValuesSupport, int, emulation[1])
SETTING(FixedPointEmulationMantissaControl, int, emulation[2])
SETTING(FixedPointEmulationMaxMantissaBitCount, int, emulation[3])
SETTING(FixedPointEmulationMantissaBitOffset, int, emulation[4])
SETTING(FixedPointEmulationMantissaBitCountPointer, int *, emulation_bits)

/* A mode of NVIDIA's that the manual does not describe: CuPy sets it. */
static int environment_mode;

BLAS_EXPORT cublasStatus_t cublasSetEnvironmentMode(int mode)
{
	__atomic_store_n(&environment_mode, mode, __ATOMIC_RELAXED);
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasGetEnvironmentMode(int *mode)
{
	if (!mode)
		return CUBLAS_STATUS_INVALID_VALUE;
	*mode = __atomic_load_n(&environment_mode, __ATOMIC_RELAXED);
	return CUBLAS_STATUS_SUCCESS;
}

/* No workspace is needed. */
BLAS_EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *workspace, size_t size)
{
	BLAS_REQUIRE(h, workspace || !size);
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- the logger: calls are logged by gangway run --trace ---- */

static void *logger_callback;

BLAS_EXPORT cublasStatus_t cublasLoggerConfigure(int on, int to_stdout, int to_stderr, const char *file)
{
	(void)on;
	(void)to_stdout;
	(void)to_stderr;
	(void)file;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasSetLoggerCallback(void *callback)
{
	__atomic_store_n(&logger_callback, callback, __ATOMIC_RELAXED);
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasGetLoggerCallback(void **callback)
{
	if (!callback)
		return CUBLAS_STATUS_INVALID_VALUE;
	*callback = __atomic_load_n(&logger_callback, __ATOMIC_RELAXED);
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- versions ---- */

BLAS_EXPORT cublasStatus_t cublasGetVersion_v2(cublasHandle_t h, int *version)
{
	BLAS_REQUIRE(h, version);
	*version = CUBLAS_VERSION;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasGetProperty(int type, int *value)
{
	if (!value || type < 0 || type > 2) /* major, minor, patch level */
		return CUBLAS_STATUS_INVALID_VALUE;
	*value = type == 0 ? CUBLAS_MAJOR : type == 1 ? CUBLAS_MINOR : CUBLAS_PATCH;
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT size_t cublasGetCudartVersion(void)
{
	return CUBLAS_CUDART;
}
