/* Descriptors of cublasLt and their attributes. */
#include <stdlib.h>
#include <string.h>

#include "blas/lt/lt.h"

#define ATTRIBUTE(T, id, member, bytes) {id, offsetof(struct T, member), sizeof(((struct T *)0)->member), bytes}

static const struct lt_attribute layout_attributes[] = {
	ATTRIBUTE(lt_layout, 0, type, 4),
	ATTRIBUTE(lt_layout, 1, order, 4),
	ATTRIBUTE(lt_layout, 2, rows, 8),
	ATTRIBUTE(lt_layout, 3, cols, 8),
	ATTRIBUTE(lt_layout, 4, ld, 8),
	ATTRIBUTE(lt_layout, 5, count, 4),
	ATTRIBUTE(lt_layout, 6, stride, 8),
	ATTRIBUTE(lt_layout, 7, plane, 8),
	ATTRIBUTE(lt_layout, 8, batch_mode, 4),
};

static const struct lt_attribute matmul_attributes[] = {
	ATTRIBUTE(lt_matmul, 0, compute, 4),
	ATTRIBUTE(lt_matmul, 1, scale, 4),
	ATTRIBUTE(lt_matmul, 2, pointers, 4),
	ATTRIBUTE(lt_matmul, 3, op_a, 4),
	ATTRIBUTE(lt_matmul, 4, op_b, 4),
	ATTRIBUTE(lt_matmul, 5, op_c, 4),
	ATTRIBUTE(lt_matmul, 6, fill, 4),
	ATTRIBUTE(lt_matmul, 7, epilogue, 4),
	ATTRIBUTE(lt_matmul, 8, bias, 8),
	ATTRIBUTE(lt_matmul, 10, bias_stride, 8),
	ATTRIBUTE(lt_matmul, 11, aux, 8),
	ATTRIBUTE(lt_matmul, 12, aux_ld, 8),
	ATTRIBUTE(lt_matmul, 13, aux_stride, 8),
	ATTRIBUTE(lt_matmul, 14, alpha_vector_stride, 8),
	ATTRIBUTE(lt_matmul, 15, sms, 4),
	ATTRIBUTE(lt_matmul, 17, scale_a, 8),
	ATTRIBUTE(lt_matmul, 18, scale_b, 8),
	ATTRIBUTE(lt_matmul, 19, scale_c, 8),
	ATTRIBUTE(lt_matmul, 20, scale_d, 8),
	ATTRIBUTE(lt_matmul, 21, amax_d, 8),
	ATTRIBUTE(lt_matmul, 22, aux_type, 4),
	ATTRIBUTE(lt_matmul, 23, scale_aux, 8),
	ATTRIBUTE(lt_matmul, 24, amax_aux, 8),
	ATTRIBUTE(lt_matmul, 25, fast, 1),
	ATTRIBUTE(lt_matmul, 26, bias_type, 4),
	ATTRIBUTE(lt_matmul, 31, mode_a, 4),
	ATTRIBUTE(lt_matmul, 32, mode_b, 4),
	ATTRIBUTE(lt_matmul, 33, mode_c, 4),
	ATTRIBUTE(lt_matmul, 34, mode_d, 4),
	ATTRIBUTE(lt_matmul, 35, mode_aux, 4),
	ATTRIBUTE(lt_matmul, 36, scale_out, 8),
	ATTRIBUTE(lt_matmul, 37, mode_out, 4),
	ATTRIBUTE(lt_matmul, 38, emulation, 8),
	ATTRIBUTE(lt_matmul, 39, alpha_stride, 8),
	ATTRIBUTE(lt_matmul, 40, beta_stride, 8),
	ATTRIBUTE(lt_matmul, 41, batch_invariance, 4),
};

static const struct lt_attribute transform_attributes[] = {
	ATTRIBUTE(lt_transform, 0, scale, 4),
	ATTRIBUTE(lt_transform, 1, pointers, 4),
	ATTRIBUTE(lt_transform, 2, op_a, 4),
	ATTRIBUTE(lt_transform, 3, op_b, 4),
};

static const struct lt_attribute preference_attributes[] = {
	ATTRIBUTE(lt_preference, 0, search, 4),
	ATTRIBUTE(lt_preference, 1, workspace, 8),
	ATTRIBUTE(lt_preference, 3, reductions, 4),
	ATTRIBUTE(lt_preference, 5, align_a, 4),
	ATTRIBUTE(lt_preference, 6, align_b, 4),
	ATTRIBUTE(lt_preference, 7, align_c, 4),
	ATTRIBUTE(lt_preference, 8, align_d, 4),
	ATTRIBUTE(lt_preference, 9, waves, 4),
	ATTRIBUTE(lt_preference, 12, implementations, 8),
	ATTRIBUTE(lt_preference, 13, average[0], 4),
	ATTRIBUTE(lt_preference, 14, average[1], 4),
	ATTRIBUTE(lt_preference, 15, average[2], 4),
};

static const struct lt_attribute *attribute_find(const struct lt_attribute *table, size_t n, int id)
{
	for (size_t i = 0; i < n; i++)
		if (table[i].id == id)
			return &table[i];
	return NULL;
}

cublasStatus_t lt_set(const struct lt_attribute *table, size_t n, void *to, int id, const void *from, size_t size)
{
	const struct lt_attribute *a = attribute_find(table, n, id);

	if (!to || !from || !a || size != a->public_size)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy((char *)to + a->offset, from, a->size); /* little endian: the low bytes */
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t lt_get(
	const struct lt_attribute *table, size_t n, const void *from, int id, void *to, size_t size, size_t *written)
{
	const struct lt_attribute *a = attribute_find(table, n, id);

	if (!from || !a)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (written)
		*written = a->public_size;
	if (!size && written)
		return CUBLAS_STATUS_SUCCESS;
	if (!to || size < a->public_size)
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(to, 0, a->public_size);
	memcpy(to, (const char *)from + a->offset, a->size);
	return CUBLAS_STATUS_SUCCESS;
}

#define DESCRIPTOR(Name, T, table) \
	BLAS_EXPORT cublasStatus_t cublasLt##Name##Destroy(struct T *d) \
	{ \
		free(d); \
		return CUBLAS_STATUS_SUCCESS; \
	} \
	BLAS_EXPORT cublasStatus_t cublasLt##Name##SetAttribute(struct T *d, int id, const void *from, size_t size) \
	{ \
		return lt_set(table, sizeof table / sizeof *table, d, id, from, size); \
	} \
	BLAS_EXPORT cublasStatus_t cublasLt##Name##GetAttribute( \
		const struct T *d, int id, void *to, size_t size, size_t *written) \
	{ \
		return lt_get(table, sizeof table / sizeof *table, d, id, to, size, written); \
	}
DESCRIPTOR(MatrixLayout, lt_layout, layout_attributes)
DESCRIPTOR(MatmulDesc, lt_matmul, matmul_attributes)
DESCRIPTOR(MatrixTransformDesc, lt_transform, transform_attributes)
DESCRIPTOR(MatmulPreference, lt_preference, preference_attributes)

/* Every kind is created by its _Init_internal function, which programs call for memory of their own. */
#define CREATE(T, init) \
	struct T *d = new ? malloc(sizeof *d) : NULL; \
\
	if (!new) \
		return CUBLAS_STATUS_INVALID_VALUE; \
	*new = d; \
	return d ? init : CUBLAS_STATUS_ALLOC_FAILED

BLAS_EXPORT cublasStatus_t cublasLtMatrixLayoutInit_internal(
	struct lt_layout *d, size_t size, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld)
{
	if (!d || size < sizeof *d)
		return CUBLAS_STATUS_INVALID_VALUE;
	*d = (struct lt_layout){.type = type, .rows = rows, .cols = cols, .ld = ld, .count = 1};
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(
	struct lt_layout **new, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld)
{
	CREATE(lt_layout, cublasLtMatrixLayoutInit_internal(d, sizeof *d, type, rows, cols, ld));
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulDescInit_internal(
	struct lt_matmul *d, size_t size, cublasComputeType_t compute, cudaDataType scale)
{
	if (!d || size < sizeof *d)
		return CUBLAS_STATUS_INVALID_VALUE;
	*d = (struct lt_matmul){.compute = compute,
		.scale = scale,
		.fill = LT_FILL_FULL,
		.epilogue = LT_DEFAULT,
		.bias_type = -1,
		.aux_type = -1};
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulDescCreate(
	struct lt_matmul **new, cublasComputeType_t compute, cudaDataType scale)
{
	CREATE(lt_matmul, cublasLtMatmulDescInit_internal(d, sizeof *d, compute, scale));
}

BLAS_EXPORT cublasStatus_t cublasLtMatrixTransformDescInit_internal(
	struct lt_transform *d, size_t size, cudaDataType scale)
{
	if (!d || size < sizeof *d)
		return CUBLAS_STATUS_INVALID_VALUE;
	*d = (struct lt_transform){.scale = scale};
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtMatrixTransformDescCreate(struct lt_transform **new, cudaDataType scale)
{
	CREATE(lt_transform, cublasLtMatrixTransformDescInit_internal(d, sizeof *d, scale));
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulPreferenceInit_internal(struct lt_preference *d, size_t size)
{
	if (!d || size < sizeof *d)
		return CUBLAS_STATUS_INVALID_VALUE;
	*d = (struct lt_preference){.implementations = UINT64_MAX,
		.reductions = 7,
		.align_a = 256,
		.align_b = 256,
		.align_c = 256,
		.align_d = 256};
	return CUBLAS_STATUS_SUCCESS;
}

BLAS_EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(struct lt_preference **new)
{
	CREATE(lt_preference, cublasLtMatmulPreferenceInit_internal(d, sizeof *d));
}
