/* The checks of arguments that all forms of gemm share. */
#include "blas/api/blas.h"

static bool gemm_valid(const struct blas_job *j, cublasOperation_t ta, cublasOperation_t tb)
{
	int64_t rows_a = ta == CUBLAS_OP_N ? j->m : j->k, rows_b = tb == CUBLAS_OP_N ? j->k : j->n;

	return blas_op_valid(ta) && blas_op_valid(tb) && j->m >= 0 && j->n >= 0 && j->k >= 0 && j->count >= 0 &&
	       j->a.ld >= blas_at_least_1(rows_a) && j->b.ld >= blas_at_least_1(rows_b) &&
	       j->c.ld >= blas_at_least_1(j->m);
}

cublasStatus_t blas_submit_gemm(struct blas *h, struct blas_job *job, cublasOperation_t ta, cublasOperation_t tb,
	const void *alpha, const void *beta, cudaDataType scalar_type)
{
	BLAS_REQUIRE(h, gemm_valid(job, ta, tb) && alpha && beta);
	if (!job->m || !job->n || !job->count)
		return CUBLAS_STATUS_SUCCESS;
	if (!job->c.at || (job->k && (!job->a.at || !job->b.at)))
		return CUBLAS_STATUS_INVALID_VALUE;
	job->routine = BLAS_GEMM;
	job->d = job->c;
	job->alpha = blas_scalar_of(h, alpha, scalar_type);
	job->beta = blas_scalar_of(h, beta, scalar_type);
	return blas_submit(h, job);
}
