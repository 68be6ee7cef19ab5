/* Work in stream order. */
#include "blas/blas.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
	blas_work *work;
	bool once; /* not captured into a graph, which may run it again */
	_Alignas(16) unsigned char args[];
};

static void run(void *data)
{
	struct job *j = data;

	j->work(j->args);
	if (j->once)
		free(j);
}

cublasStatus_t blas_queue(struct blas *h, blas_work *work, const void *args, size_t size, bool wait)
{
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
	struct job *j = malloc(sizeof *j + size);

	if (!j)
		return CUBLAS_STATUS_ALLOC_FAILED;
	j->work = work;
	memcpy(j->args, args, size);
	j->once = !cuStreamIsCapturing(h->stream, &capture) && capture == CU_STREAM_CAPTURE_STATUS_NONE;
	if (cuLaunchHostFunc(h->stream, run, j)) {
		free(j);
		return CUBLAS_STATUS_EXECUTION_FAILED;
	}
	return wait && cuStreamSynchronize(h->stream) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

struct blas_scalar blas_scalar(const struct blas *h, const void *p, size_t size)
{
	struct blas_scalar s = {.at = NULL};

	if (h->pointers == CUBLAS_POINTER_MODE_DEVICE)
		s.at = p;
	else
		memcpy(s.value, p, size);
	return s;
}

cublasStatus_t blas_missing(const char *name)
{
	static atomic_bool told;
	const char *wanted = getenv("GANGWAY_EXPLAIN");
	char line[256];
	int n;

	if (wanted && !strcmp(wanted, "1") && !atomic_exchange(&told, true)) {
		n = snprintf(line, sizeof line, "gangway: %s is not in Gangway's cuBLAS for the CPU device\n", name);
		if (write(STDERR_FILENO, line, (size_t)n) < 0)
			return CUBLAS_STATUS_NOT_SUPPORTED;
	}
	return CUBLAS_STATUS_NOT_SUPPORTED;
}
