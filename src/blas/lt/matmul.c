/* cublasLtMatmul: D = epilogue(alpha op(A) op(B) + beta C), as a job. */
#include <string.h>

#include "blas/lt/lt.h"

static bool type_is_float(int type)
{
	return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

static bool type_is_fp8(int type)
{
	return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

static bool type_is_complex(int type)
{
	return type == CUDA_C_32F || type == CUDA_C_64F;
}

/* ---- types: the vendor's tables ---- */

static bool float_types_valid(const struct lt_product *p)
{
	int a = p->layout_a->type, b = p->layout_b->type, c = p->layout_c->type, d = p->layout_d->type;

	if (p->op->scale == CUDA_C_32F)
		return a == CUDA_C_32F && b == a && c == a && d == a;
	if (p->op->scale != CUDA_R_32F || (!type_is_float(c) && !(c == CUDA_R_8I && a == c)))
		return false;
	if (type_is_fp8(a) || type_is_fp8(b))
		return type_is_fp8(a) && type_is_fp8(b) && (d == c || type_is_fp8(d));
	return a == b && c == d && (type_is_float(a) || a == CUDA_R_8I) && (type_is_float(c) || c == CUDA_R_8I);
}

/* Sets the type of the sums.  False: the types do not go together. */
static bool choose_types(const struct lt_product *p, uint32_t *sums)
{
	int a = p->layout_a->type, b = p->layout_b->type, c = p->layout_c->type, d = p->layout_d->type,
	    scale = p->op->scale;

	switch (p->op->compute) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		*sums = CUDA_R_32F;
		return a == CUDA_R_16F && b == a && c == a && d == a && scale == a;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
	case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
		*sums = (uint32_t)scale;
		return float_types_valid(p);
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
	case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
		*sums = (uint32_t)scale;
		return (scale == CUDA_R_64F || scale == CUDA_C_64F) && a == scale && b == scale && c == scale &&
		       d == scale;
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		*sums = CUDA_R_64F; /* double holds every 32-bit sum exactly */
		return a == CUDA_R_8I && b == a && c == d &&
		       ((scale == CUDA_R_32I && c == CUDA_R_32I) || (scale == CUDA_R_32F && c == CUDA_R_8I));
	default:
		return false;
	}
}

/* ---- sizes ---- */

static bool layout_valid(const struct lt_layout *l)
{
	int64_t least = (int64_t)(l->order == LT_ROWS ? l->cols : l->rows);

	return l->rows <= INT32_MAX && l->cols <= INT32_MAX && l->count >= 0 && l->ld >= least;
}

static bool layout_supported(const struct lt_layout *l)
{
	return (l->order == LT_COLUMNS || l->order == LT_ROWS) && !l->plane &&
	       (l->batch_mode == LT_STRIDED || l->batch_mode == LT_POINTERS);
}

static uint64_t rows_after(const struct lt_layout *l, int op)
{
	return op == CUBLAS_OP_N ? l->rows : l->cols;
}

static uint64_t cols_after(const struct lt_layout *l, int op)
{
	return op == CUBLAS_OP_N ? l->cols : l->rows;
}

static bool sizes_valid(const struct lt_product *p)
{
	const struct lt_layout *a = p->layout_a, *b = p->layout_b, *c = p->layout_c, *d = p->layout_d;
	int op_a = p->op->op_a, op_b = p->op->op_b;

	return blas_op_valid((cublasOperation_t)op_a) && blas_op_valid((cublasOperation_t)op_b) && layout_valid(a) &&
	       layout_valid(b) && layout_valid(c) && layout_valid(d) && rows_after(a, op_a) == d->rows &&
	       cols_after(b, op_b) == d->cols && cols_after(a, op_a) == rows_after(b, op_b) && c->rows == d->rows &&
	       c->cols == d->cols && a->count == d->count && b->count == d->count && c->count == d->count;
}

/* ---- the epilogue ---- */

/* The type of the bias that the vendor assumes if the descriptor names none. */
static uint32_t bias_type(const struct lt_product *p)
{
	int d = p->layout_d->type, c = p->layout_c->type;

	if (p->op->bias_type >= 0)
		return (uint32_t)p->op->bias_type;
	if (type_is_fp8(p->layout_a->type))
		return d == CUDA_R_16F || (type_is_fp8(d) && c == CUDA_R_16F) ? CUDA_R_16F : CUDA_R_16BF;
	return d == CUDA_R_8I ? CUDA_R_32F : (uint32_t)d;
}

/* 0: one factor for the matrix; 3: one for each row of op(A) or column of op(B). */
static bool scale_modes_supported(const struct lt_matmul *o)
{
	return (o->mode_a == 0 || o->mode_a == 3) && (o->mode_b == 0 || o->mode_b == 3) && !o->mode_c && !o->mode_d &&
	       !o->mode_aux && !o->scale_out;
}

static bool needs_epilogue(const struct lt_matmul *o)
{
	return o->epilogue != LT_DEFAULT || o->scale_a || o->scale_b || o->scale_c || o->scale_d || o->amax_d ||
	       o->pointers > CUBLAS_POINTER_MODE_DEVICE;
}

static void describe_epilogue(const struct lt_product *p, struct blas_job *job, bool transposed)
{
	const struct lt_matmul *o = p->op;
	struct blas_epilogue *e = &job->epilogue;

	*e = (struct blas_epilogue){.kind = (uint32_t)o->epilogue,
		.transposed = transposed,
		.bias = blas_strided((void *)o->bias, 1, (cudaDataType)bias_type(p), o->bias_stride),
		.aux = blas_strided((void *)o->aux, o->aux_ld,
			(cudaDataType)(o->aux_type >= 0 ? o->aux_type : p->layout_d->type), o->aux_stride),
		.scale_a = o->scale_a,
		.scale_b = o->scale_b,
		.scale_c = o->scale_c,
		.scale_d = o->scale_d,
		.scale_aux = o->scale_aux,
		.amax_d = o->amax_d,
		.amax_aux = o->amax_aux,
		.scale_a_vector = o->mode_a == 3,
		.scale_b_vector = o->mode_b == 3};
}

static cublasStatus_t epilogue_check(const struct lt_product *p, uint32_t sums)
{
	const struct lt_matmul *o = p->op;
	bool checking = !p->alpha; /* heuristics look at descriptors without addresses */

	if (!lt_epilogue_known(o->epilogue) || !scale_modes_supported(o))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (needs_epilogue(o) && sums != CUDA_R_32F && !(sums == CUDA_R_64F && o->scale == CUDA_R_32F))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (!checking && o->epilogue & (LT_BIAS | LT_BGRAD | LT_BGRADA | LT_BGRADB) && !o->bias)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (o->epilogue & LT_AUX && ((!checking && !o->aux) || o->aux_ld < (int64_t)p->layout_d->rows))
		return CUBLAS_STATUS_INVALID_VALUE;
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- alpha and beta ---- */

static struct blas_scalar describe_scalar(const void *p, int32_t type, bool device, bool vector)
{
	struct blas_scalar s = {.type = (uint32_t)type, .vector = vector};

	if (device || vector)
		s.at = (uintptr_t)p;
	else
		memcpy(s.value, p, blas_size_of((cudaDataType)type));
	return s;
}

static cublasStatus_t describe_scalars(const struct lt_product *p, struct blas_job *job)
{
	const struct lt_matmul *o = p->op;
	bool alpha_vector = o->pointers >= LT_VECTORS, beta_vector = o->pointers == LT_VECTORS;
	static const uint64_t zero[2];
	const void *beta = o->pointers == LT_ALPHA_VECTOR_BETA_ZERO ? zero : p->beta;

	if (o->pointers < 0 || o->pointers > LT_ALPHA_VECTOR_BETA_HOST || !blas_size_of((cudaDataType)o->scale))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (alpha_vector && o->scale != CUDA_R_32F)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (o->alpha_stride || o->beta_stride || o->alpha_vector_stride)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (!p->alpha)
		return CUBLAS_STATUS_SUCCESS;
	if (!beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	job->alpha = describe_scalar(p->alpha, o->scale, o->pointers == CUBLAS_POINTER_MODE_DEVICE, alpha_vector);
	job->beta = describe_scalar(beta, o->scale, o->pointers == CUBLAS_POINTER_MODE_DEVICE, beta_vector);
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- the product ---- */

static struct blas_operand describe_matrix(const void *at, const struct lt_layout *l)
{
	struct blas_operand o = blas_strided(at, l->ld, (cudaDataType)l->type, l->stride);

	o.array = l->batch_mode == LT_POINTERS;
	return o;
}

/* A matrix in row order is the transpose of one in column order. */
static int column_op(const struct lt_layout *l, int op, bool transposed)
{
	bool turned = (op != CUBLAS_OP_N) != (l->order == LT_ROWS);

	if (turned == transposed)
		return CUBLAS_OP_N;
	return op == CUBLAS_OP_C && l->order == LT_COLUMNS && !transposed ? CUBLAS_OP_C : CUBLAS_OP_T;
}

/* If D is in row order, its transpose is computed: op(B)' op(A)'. */
static void describe_matrices(const struct lt_product *p, struct blas_job *job, bool transposed)
{
	const struct lt_layout *first = transposed ? p->layout_b : p->layout_a,
			       *second = transposed ? p->layout_a : p->layout_b, *d = p->layout_d;

	job->routine = BLAS_GEMM;
	job->op_a = (uint8_t)column_op(first, transposed ? p->op->op_b : p->op->op_a, transposed);
	job->op_b = (uint8_t)column_op(second, transposed ? p->op->op_a : p->op->op_b, transposed);
	job->m = (int64_t)(transposed ? d->cols : d->rows);
	job->n = (int64_t)(transposed ? d->rows : d->cols);
	job->k = (int64_t)cols_after(p->layout_a, p->op->op_a);
	job->count = d->count;
	job->a = describe_matrix(transposed ? p->b : p->a, first);
	job->b = describe_matrix(transposed ? p->a : p->b, second);
	job->c = describe_matrix(p->c, p->layout_c);
	job->d = describe_matrix(p->d, d);
}

cublasStatus_t lt_describe(const struct lt_product *p, struct blas_job *job)
{
	bool transposed;
	cublasStatus_t r;

	memset(job, 0, sizeof *job);
	if (!p->op || !p->layout_a || !p->layout_b || !p->layout_c || !p->layout_d || !sizes_valid(p))
		return CUBLAS_STATUS_INVALID_VALUE;
	transposed = p->layout_d->order == LT_ROWS;
	if (!choose_types(p, &job->type) || !layout_supported(p->layout_a) || !layout_supported(p->layout_b) ||
		!layout_supported(p->layout_c) || !layout_supported(p->layout_d) ||
		p->layout_c->order != p->layout_d->order || p->op->op_c != CUBLAS_OP_N || p->op->fill != LT_FILL_FULL)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (type_is_complex((int)job->type) &&
		(transposed || p->layout_a->order == LT_ROWS || p->layout_b->order == LT_ROWS) &&
		(p->op->op_a == CUBLAS_OP_C || p->op->op_b == CUBLAS_OP_C))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	r = epilogue_check(p, job->type);
	if (!r)
		r = describe_scalars(p, job);
	if (r)
		return r;
	describe_matrices(p, job, transposed);
	if (needs_epilogue(p->op))
		describe_epilogue(p, job, transposed);
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtMatmul(struct blas *h, const struct lt_matmul *op, const void *alpha, const void *a,
	const struct lt_layout *layout_a, const void *b, const struct lt_layout *layout_b, const void *beta,
	const void *c, const struct lt_layout *layout_c, void *d, const struct lt_layout *layout_d,
	const struct lt_algorithm *algorithm, void *workspace, size_t workspace_size, CUstream stream)
{
	struct lt_product p = {op, alpha, a, b, beta, c, d, layout_a, layout_b, layout_c, layout_d};
	struct blas_job job;
	cublasStatus_t r;

	(void)workspace;
	(void)workspace_size;
	BLAS_REQUIRE(h, alpha);
	if (algorithm && algorithm->magic != LT_ALGORITHM)
		return CUBLAS_STATUS_INVALID_VALUE;
	r = lt_describe(&p, &job);
	if (r || !job.m || !job.n || !job.count)
		return r;
	if (!d || (job.k && (!a || !b)))
		return CUBLAS_STATUS_INVALID_VALUE;
	return blas_launch(h, &job, stream);
}
