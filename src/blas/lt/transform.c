/* cublasLtMatrixTransform: C = alpha op(A) + beta op(B), with any orders and types. */
#include <string.h>

#include "blas/lt/lt.h"

static bool operand_valid(const struct lt_layout *l, int op, const struct lt_layout *c)
{
	return l && l->count == c->count && (op == CUBLAS_OP_N ? l->rows : l->cols) == c->rows &&
	       (op == CUBLAS_OP_N ? l->cols : l->rows) == c->cols &&
	       l->ld >= (int64_t)(l->order == LT_ROWS ? l->cols : l->rows);
}

static bool layout_supported(const struct lt_layout *l)
{
	return !l || ((l->order == LT_COLUMNS || l->order == LT_ROWS) && !l->plane && l->batch_mode == LT_STRIDED &&
			     l->type != CUDA_C_32F && l->type != CUDA_C_64F && blas_size_of((cudaDataType)l->type));
}

static struct blas_scalar describe_scalar(const struct lt_transform *t, const void *p)
{
	struct blas_scalar s = {.type = (uint32_t)t->scale};

	if (p && t->pointers == CUBLAS_POINTER_MODE_DEVICE)
		s.at = (uintptr_t)p;
	else if (p)
		memcpy(s.value, p, blas_size_of((cudaDataType)t->scale));
	return s;
}

static struct blas_operand describe_matrix(const void *at, const struct lt_layout *l)
{
	return l ? blas_strided(at, l->ld, (cudaDataType)l->type, l->stride) : (struct blas_operand){0};
}

BLAS_EXPORT cublasStatus_t cublasLtMatrixTransform(struct blas *h, const struct lt_transform *t, const void *alpha,
	const void *a, const struct lt_layout *layout_a, const void *beta, const void *b,
	const struct lt_layout *layout_b, void *c, const struct lt_layout *layout_c, CUstream stream)
{
	struct blas_job job = {.routine = BLAS_TRANSFORM, .type = CUDA_R_64F};

	BLAS_REQUIRE(h, t && alpha && layout_c && c && operand_valid(layout_a, t->op_a, layout_c) &&
				(!b || operand_valid(layout_b, t->op_b, layout_c)) && (!b || beta) &&
				blas_op_valid((cublasOperation_t)t->op_a) && blas_op_valid((cublasOperation_t)t->op_b));
	if (!layout_supported(layout_a) || (b && !layout_supported(layout_b)) || !layout_supported(layout_c) ||
		(unsigned)t->pointers > CUBLAS_POINTER_MODE_DEVICE || !blas_size_of((cudaDataType)t->scale))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	job.op_a = (uint8_t)t->op_a;
	job.op_b = (uint8_t)t->op_b;
	job.m = (int64_t)layout_c->rows;
	job.n = (int64_t)layout_c->cols;
	job.count = layout_c->count;
	job.a = describe_matrix(a, layout_a);
	job.b = describe_matrix(b, b ? layout_b : NULL);
	job.d = describe_matrix(c, layout_c);
	job.hermitian = layout_a->order == LT_ROWS;
	job.conjugate = b && layout_b->order == LT_ROWS;
	job.inverse = layout_c->order == LT_ROWS;
	job.alpha = describe_scalar(t, alpha);
	job.beta = describe_scalar(t, b ? beta : NULL);
	return blas_launch(h, &job, stream);
}
