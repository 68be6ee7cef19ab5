/* Queues work on the stream of a handle. */
#include "blas/blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/explain.h"

struct blas_job {
	blas_work *work;
	bool once; /* runs once and frees itself; otherwise captured: a graph runs it repeatedly and owns it */
	_Alignas(16) unsigned char args[];
};

static void job_run(void *data)
{
	struct blas_job *j = data;

	j->work(j->args);
	if (j->once)
		free(j);
}

/* Gives a captured job to the graph, as a user object, which frees it with the last graph that uses it. */
static bool job_give_to_graph(CUgraph graph, struct blas_job *j)
{
	CUuserObject object;

	if (cuUserObjectCreate(&object, j, free, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)) {
		free(j);
		return false;
	}
	if (cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE)) {
		cuUserObjectRelease(object, 1);
		return false;
	}
	return true;
}

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

void blas_wait(struct blas *h)
{
	if (!blas_enter(h))
		return;
	cuCtxSynchronize();
	blas_leave();
}

static cublasStatus_t blas_submit(struct blas *h, blas_work *work, const void *args, size_t size, bool wait)
{
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
	CUgraph graph = NULL;
	struct blas_job *j = malloc(sizeof *j + size);

	if (!j)
		return CUBLAS_STATUS_ALLOC_FAILED;
	j->work = work;
	memcpy(j->args, args, size);
	cuStreamGetCaptureInfo_v2(h->stream, &capture, NULL, &graph, NULL, NULL);
	j->once = capture != CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (!j->once && !job_give_to_graph(graph, j))
		return CUBLAS_STATUS_ALLOC_FAILED;
	if (cuLaunchHostFunc(h->stream, job_run, j)) {
		if (j->once)
			free(j);
		return CUBLAS_STATUS_EXECUTION_FAILED;
	}
	return wait && cuStreamSynchronize(h->stream) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t blas_queue(struct blas *h, blas_work *work, const void *args, size_t size, bool wait)
{
	if (!blas_enter(h))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	cublasStatus_t r = blas_submit(h, work, args, size, wait);
	blas_leave();
	return r;
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
	char text[256];

	snprintf(text, sizeof text, "%s is not implemented in Gangway's cuBLAS for the CPU device", name);
	explain_once(text);
	return CUBLAS_STATUS_NOT_SUPPORTED;
}
