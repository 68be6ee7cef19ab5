/* Products of matrices with any element types, one or a batch of them, and cublasLt's transformation of matrices. */
#include <stdlib.h>
#include <string.h>

#include "blas/lt/lt_values.h"
#include "blas/work/work.h"

/* A batch of small products is divided by product, one of large products within each. */
enum { SMALL_PRODUCT = 128 * 128 * 128 };

static void product_run(struct blas_run *r, const struct blas_product *p)
{
	if (blas_type_real(r->job->type) == CUDA_R_64F)
		blas_product_d(r, p);
	else
		blas_product_s(r, p);
}

static bool product_open(struct blas_run *r, struct blas_product *p, int64_t i)
{
	const struct blas_job *j = r->job;
	bool ta = j->op_a != CUBLAS_OP_N, tb = j->op_b != CUBLAS_OP_N;
	double complex alpha = j->alpha.vector ? 1 : blas_scalar_value(r, &j->alpha),
		       beta = j->beta.vector ? 1 : blas_scalar_value(r, &j->beta);

	*p = (struct blas_product){.m = j->m,
		.n = j->n,
		.k = j->k,
		.ta = (cublasOperation_t)j->op_a,
		.tb = (cublasOperation_t)j->op_b,
		.lda = j->a.ld,
		.ldb = j->b.ld,
		.ldc = j->c.ld,
		.ldd = j->d.ld,
		.type_a = j->a.type,
		.type_b = j->b.type,
		.type_c = j->c.type,
		.type_d = j->d.type,
		.alpha = alpha,
		.beta = beta};
	if (blas_type_complex(j->type) != blas_type_complex(j->a.type) ||
		blas_type_complex(j->type) != blas_type_complex(j->b.type) ||
		blas_type_complex(j->type) != blas_type_complex(j->d.type) ||
		(beta != 0 && blas_type_complex(j->type) != blas_type_complex(j->c.type))) {
		blas_fail(r, CUDA_ERROR_INVALID_VALUE);
		return false;
	}
	if (j->k && (alpha != 0 || j->alpha.vector || j->epilogue.kind & (LT_BGRADA | LT_BGRADB))) {
		p->a = blas_matrix(r, &j->a, i, ta ? j->k : j->m, ta ? j->m : j->k);
		p->b = blas_matrix(r, &j->b, i, tb ? j->n : j->k, tb ? j->k : j->n);
	}
	if (beta != 0)
		p->c = blas_matrix(r, &j->c, i, j->m, j->n);
	p->d = blas_matrix(r, &j->d, i, j->m, j->n);
	return !atomic_load(r->error);
}

static void run_member(struct blas_run *r, int64_t i)
{
	struct blas_product p;
	struct epilogue e;

	if (!product_open(r, &p, i))
		return;
	if (!r->job->epilogue.kind) {
		product_run(r, &p);
		return;
	}
	if (!blas_epilogue_open(r, &e, i))
		return;
	p.epilogue = &e;
	product_run(r, &p);
	blas_epilogue_close(&p);
}

static void run_member_serially(void *data, uint64_t i)
{
	struct blas_run r = *(struct blas_run *)data;

	r.serial = true;
	if (!blas_stopped(&r))
		run_member(&r, (int64_t)i);
}

void blas_gemm(struct blas_run *r)
{
	const struct blas_job *j = r->job;

	if (j->count > 1 && (double)j->m * (double)j->n * (double)j->k < SMALL_PRODUCT) {
		blas_each(r, j->count, run_member_serially, r);
		return;
	}
	for (int64_t i = 0; i < j->count && !blas_stopped(r); i++)
		run_member(r, i);
}

/* ---- cublasLtMatrixTransform: C = alpha op(A) + beta op(B), each in row or column order ---- */

/* The element in row i and column j.  hermitian: A is in row order; conjugate: B; inverse: the result. */
static double read_element(const void *p, const struct blas_operand *o, bool by_rows, int64_t i, int64_t j)
{
	double v = 0;

	if (p)
		blas_read_d(&v,
			(const unsigned char *)p +
				(size_t)(by_rows ? i * o->ld + j : j * o->ld + i) * blas_type_size(o->type),
			o->type, 1, 1);
	return v;
}

static const void *open_operand(
	struct blas_run *r, const struct blas_operand *o, int64_t batch, bool by_rows, bool turned)
{
	const struct blas_job *j = r->job;
	int64_t rows = turned ? j->n : j->m, cols = turned ? j->m : j->n;

	return by_rows ? blas_matrix(r, o, batch, cols, rows) : blas_matrix(r, o, batch, rows, cols);
}

static void transform_member(struct blas_run *r, int64_t batch)
{
	const struct blas_job *j = r->job;
	double alpha = creal(blas_scalar_value(r, &j->alpha)), beta = creal(blas_scalar_value(r, &j->beta));
	bool ta = j->op_a != CUBLAS_OP_N, tb = j->op_b != CUBLAS_OP_N;
	const void *a = alpha != 0 ? open_operand(r, &j->a, batch, j->hermitian, ta) : NULL;
	const void *b = beta != 0 ? open_operand(r, &j->b, batch, j->conjugate, tb) : NULL;
	unsigned char *d = (unsigned char *)(uintptr_t)open_operand(r, &j->d, batch, j->inverse, false);

	for (int64_t col = 0; col < j->n && !blas_stopped(r); col++)
		for (int64_t row = 0; row < j->m; row++) {
			double v = alpha * read_element(a, &j->a, j->hermitian, ta ? col : row, ta ? row : col) +
				   beta * read_element(b, &j->b, j->conjugate, tb ? col : row, tb ? row : col);

			blas_write_d(d + (size_t)(j->inverse ? row * j->d.ld + col : col * j->d.ld + row) *
						     blas_type_size(j->d.type),
				j->d.type, 1, &v, 1);
		}
}

void blas_transform(struct blas_run *r)
{
	if (blas_type_complex(r->job->a.type) || blas_type_complex(r->job->b.type) ||
		blas_type_complex(r->job->d.type)) {
		blas_fail(r, CUDA_ERROR_NOT_SUPPORTED);
		return;
	}
	for (int64_t i = 0; i < r->job->count && !atomic_load(r->error); i++)
		transform_member(r, i);
}
