/* Checks the numbers of a job, finds its routine and runs it. */
#include <string.h>

#include "blas/work/work.h"

/* Sizes and strides up to this keep all products of a size, a stride and an element within 64 bits. */
#define MOST (INT64_C(1) << 40)

static bool number_is_sane(int64_t n)
{
	return n >= -MOST && n <= MOST;
}

static bool operand_is_sane(const struct blas_operand *o)
{
	return number_is_sane(o->ld) && number_is_sane(o->stride) && (!o->at || blas_type_size(o->type));
}

static bool job_is_sane(const struct blas_job *j)
{
	return j->routine < BLAS_ROUTINES && j->m >= 0 && j->n >= 0 && j->k >= 0 && number_is_sane(j->m) &&
	       number_is_sane(j->n) && number_is_sane(j->k) && number_is_sane(j->kl) && number_is_sane(j->ku) &&
	       j->count >= 0 && number_is_sane(j->count) && j->op_a <= CUBLAS_OP_C && j->op_b <= CUBLAS_OP_C &&
	       operand_is_sane(&j->a) && operand_is_sane(&j->b) && operand_is_sane(&j->c) && operand_is_sane(&j->d) &&
	       operand_is_sane(&j->epilogue.bias) && operand_is_sane(&j->epilogue.aux);
}

static blas_routine *find_routine(const struct blas_job *j)
{
	switch (j->type) {
	case CUDA_R_32F:
		return blas_routines_s[j->routine];
	case CUDA_R_64F:
		return blas_routines_d[j->routine];
	case CUDA_C_32F:
		return blas_routines_c[j->routine];
	case CUDA_C_64F:
		return blas_routines_z[j->routine];
	default:
		return NULL;
	}
}

static void answer_probe(struct blas_run *r)
{
	uint32_t answer = BLAS_PROBE_ANSWER;
	void *at = blas_bytes(r, r->job->c.at, sizeof answer);

	if (at)
		memcpy(at, &answer, sizeof answer);
}

CUresult blas_work(const void *job, size_t size, const struct blas_host *host)
{
	_Atomic(int) error = CUDA_SUCCESS;
	struct blas_job j;
	struct blas_run r = {.job = &j, .host = host, .error = &error};
	blas_routine *routine;

	if (size != sizeof j)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&j, job, sizeof j);
	if (!job_is_sane(&j))
		return CUDA_ERROR_INVALID_VALUE;
	routine = j.routine == BLAS_PROBE ? answer_probe : find_routine(&j);
	if (!routine)
		return CUDA_ERROR_NOT_SUPPORTED;
	routine(&r);
	return (CUresult)atomic_load(&error);
}
