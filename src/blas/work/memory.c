/* Addresses of a job become pointers here, after a check against the allocations of the driver. */
#include <stdlib.h>
#include <string.h>

#include "blas/work/work.h"

void blas_fail(struct blas_run *r, CUresult error)
{
	int none = 0;

	atomic_compare_exchange_strong(r->error, &none, (int)error);
}

/* Several allocations may be mapped without gaps (cuMemMap), so one matrix may reach over more than one of them. */
void *blas_bytes(struct blas_run *r, uint64_t at, uint64_t size)
{
	uint64_t end = at + size, p = at;

	while (p < end && end >= at) {
		uint64_t base, length;

		if (!r->host->accessible(r->host->arg, p, &base, &length) || p - base >= length)
			break;
		p = base + length;
	}
	if (at && end >= at && p >= end)
		return (void *)(uintptr_t)at;
	blas_fail(r, CUDA_ERROR_ILLEGAL_ADDRESS);
	return NULL;
}

void *blas_scratch(struct blas_run *r, int64_t elements, size_t size)
{
	void *p = NULL;
	uint64_t bytes;

	/* The sizes of a job that has failed mean nothing. */
	if (atomic_load(r->error))
		return NULL;
	/* Cache lines are the alignment that vector instructions want. */
	if (elements < 0 || __builtin_mul_overflow((uint64_t)elements, size, &bytes) || bytes > INT64_MAX - 64 ||
		posix_memalign(&p, 64, bytes + 64)) {
		blas_fail(r, CUDA_ERROR_OUT_OF_MEMORY);
		return NULL;
	}
	return p;
}

uint64_t blas_member(struct blas_run *r, const struct blas_operand *o, int64_t i)
{
	uint64_t at = 0;
	int64_t offset;

	if (o->array) {
		void *p = blas_bytes(r, o->at + (uint64_t)i * 8, 8);

		if (p)
			memcpy(&at, p, 8);
	} else if (!__builtin_mul_overflow(o->stride * (int64_t)blas_type_size(o->type), i, &offset)) {
		at = o->at + (uint64_t)offset;
	}
	if (!at)
		blas_fail(r, CUDA_ERROR_ILLEGAL_ADDRESS);
	return at;
}

/* `type` is known. */
static bool is_aligned(struct blas_run *r, uint64_t at, uint32_t type)
{
	if (!(at % (blas_type_size(type) / (blas_type_complex(type) ? 2 : 1))))
		return true;
	blas_fail(r, CUDA_ERROR_MISALIGNED_ADDRESS);
	return false;
}

/* Bytes of a matrix whose last column ends with its last row.  False: more than 64 bits can address. */
static bool matrix_extent(const struct blas_operand *o, int64_t rows, int64_t cols, uint64_t *bytes)
{
	int64_t elements;

	/* Columns do not overlap, so rows * cols elements fit into memory, and sizes of copies do not overflow. */
	if (rows < 0 || cols < 0 || o->ld < 0 || ((!rows || !cols) && (rows > INT32_MAX || cols > INT32_MAX)) ||
		(cols > 1 && o->ld < rows) || !blas_type_size(o->type) ||
		__builtin_mul_overflow(o->ld, cols - 1, &elements) ||
		__builtin_add_overflow(elements, rows, &elements) || elements > INT64_MAX / 16)
		return false;
	*bytes = rows && cols ? (uint64_t)elements * blas_type_size(o->type) : 0;
	return true;
}

void *blas_matrix(struct blas_run *r, const struct blas_operand *o, int64_t i, int64_t rows, int64_t cols)
{
	uint64_t bytes, at = blas_member(r, o, i);

	if (!matrix_extent(o, rows, cols, &bytes)) {
		blas_fail(r, CUDA_ERROR_INVALID_VALUE);
		return NULL;
	}
	return at && is_aligned(r, at, o->type) ? blas_bytes(r, at, bytes) : NULL;
}

/* ---- scalars ---- */

double complex blas_scalar_value(struct blas_run *r, const struct blas_scalar *s)
{
	unsigned size = blas_type_size(s->type);
	const void *p = s->value;
	double parts[2] = {0};

	if (!size) {
		blas_fail(r, CUDA_ERROR_INVALID_VALUE);
		return 0;
	}
	if (s->at)
		p = is_aligned(r, s->at, s->type) ? blas_bytes(r, s->at, size) : NULL;
	if (!p)
		return 0;
	blas_read_d(parts, p, blas_type_real(s->type), 1, blas_type_complex(s->type) ? 2 : 1);
	return CMPLX(parts[0], parts[1]);
}

float blas_float_at(struct blas_run *r, uint64_t at)
{
	float *p = at && is_aligned(r, at, CUDA_R_32F) ? blas_bytes(r, at, sizeof *p) : NULL;

	return p ? *p : 1;
}

/* ---- vectors ---- */

/* Elements `step` apart, to or from n contiguous ones of the type `as`. */
static void vector_copy(struct blas_vector *v, bool back)
{
	int parts = blas_type_complex(v->type) ? 2 : 1;
	unsigned part_size = blas_type_size(v->type) / (unsigned)parts;
	bool wide = blas_type_real(v->as) == CUDA_R_64F;

	for (int64_t i = 0; i < v->n; i++) {
		unsigned char *at = v->first + i * v->step * (int64_t)part_size * parts;
		uint32_t type = blas_type_real(v->type);

		if (wide && back)
			blas_write_d(at, type, 1, (double *)v->copy + i * parts, parts);
		else if (wide)
			blas_read_d((double *)v->copy + i * parts, at, type, 1, parts);
		else if (back)
			blas_write_s(at, type, 1, (float *)v->copy + i * parts, parts);
		else
			blas_read_s((float *)v->copy + i * parts, at, type, 1, parts);
	}
}

struct blas_vector blas_vector_open(
	struct blas_run *r, const struct blas_operand *o, int64_t i, int64_t n, uint32_t type)
{
	struct blas_vector v = {.n = n, .step = o->ld, .type = o->type, .as = type};
	uint64_t size = blas_type_size(o->type), at = blas_member(r, o, i);
	int64_t step = o->ld < 0 ? -o->ld : o->ld, span;

	if (n < 1 || !size || blas_type_complex(o->type) != blas_type_complex(type) || o->ld == INT64_MIN ||
		__builtin_mul_overflow(step, n - 1, &span) || span > INT64_MAX / 32) {
		blas_fail(r, CUDA_ERROR_INVALID_VALUE);
		return v;
	}
	v.first = at && is_aligned(r, at, o->type) ? blas_bytes(r, at, ((uint64_t)span + 1) * size) : NULL;
	if (!v.first)
		return v;
	if (o->type == type && o->ld == 1) {
		v.x = v.first;
		return v;
	}
	v.copy = v.x = blas_scratch(r, n, blas_type_size(type));
	if (o->ld < 0) /* walked from its end */
		v.first += (uint64_t)span * size;
	if (v.copy)
		vector_copy(&v, false);
	return v;
}

void blas_vector_close(struct blas_vector *v, bool write)
{
	if (v->copy && write)
		vector_copy(v, true);
	free(v->copy);
	v->copy = v->x = NULL;
}

/* ---- threads ---- */

bool blas_stopped(struct blas_run *r)
{
	if (r->host->stopped && r->host->stopped(r->host->arg))
		blas_fail(r, CUDA_ERROR_LAUNCH_TIMEOUT);
	return atomic_load(r->error);
}

void blas_each(struct blas_run *r, int64_t n, void (*fn)(void *data, uint64_t i), void *data)
{
	if (!r->serial && n > 1 && r->host->threads > 1) {
		r->host->parallel(r->host->arg, (uint64_t)n, fn, data);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		fn(data, (uint64_t)i);
}
