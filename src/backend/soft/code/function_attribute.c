/* Attributes of kernels: those of the compiled code, and those that the application sets. */
#include "backend/soft/code/module.h"

void tuning_init(struct tuning *t)
{
	atomic_init(&t->carveout, -1);
}

unsigned kernel_max_threads(const struct image_kernel *k, const struct device *d)
{
	unsigned long long n = d->info.max_threads_per_block;
	const uint32_t *bound = k->req_threads[0] ? k->req_threads : k->max_threads;

	if (bound[0]) {
		unsigned long long own = (unsigned long long)bound[0] * (bound[1] ? bound[1] : 1);

		own *= bound[2] ? bound[2] : 1;
		n = own < n ? own : n;
	}
	return (unsigned)n;
}

static void measure_kernel(struct code *code, const struct image_kernel *k)
{
	if (soft.engine->measure && __atomic_load_n(&k->unmeasured, __ATOMIC_ACQUIRE))
		soft.engine->measure(code, k);
}

size_t kernel_shared_bytes(struct code *code, const struct image_kernel *k)
{
	measure_kernel(code, k);
	return k->shared_bytes;
}

size_t kernel_local_bytes(struct code *code, const struct image_kernel *k)
{
	measure_kernel(code, k);
	return k->local_bytes;
}

size_t tuning_max_dynamic(
	const struct image_kernel *k, struct code *code, const struct tuning *t, const struct device *d)
{
	size_t set = (size_t)atomic_load(&t->max_dynamic_shared), fits = d->info.shared_per_block;
	size_t taken = kernel_shared_bytes(code, k);

	fits = fits > taken ? fits - taken : 0;
	return set > fits ? set : fits;
}

CUresult tuning_get(const struct image_kernel *k, struct code *code, const struct tuning *t, const struct device *d,
	CUfunction_attribute a, int *value)
{
	switch (a) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = kernel_max_threads(k, d);
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*value = (int)kernel_shared_bytes(code, k);
		break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*value = code->const_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*value = (int)kernel_local_bytes(code, k);
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = k->regs ? k->regs : 32; /* PTX: registers are no limit here; a modest number */
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*value = code->ptx_version;
		break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*value = code->binary_version;
		break;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
		*value = 0;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = tuning_max_dynamic(k, code, t, d);
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*value = atomic_load(&t->carveout);
		break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
		*value = k->explicit_cluster && !k->cluster[0];
		break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
		int i = a - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
		int set = atomic_load(&t->cluster[i]);

		*value = set ? set : (int)k->cluster[i];
		break;
	}
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		*value = atomic_load(&t->non_portable_cluster);
		break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		*value = atomic_load(&t->cluster_policy);
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult tuning_set(const struct image_kernel *k, struct code *code, struct tuning *t, const struct device *d,
	CUfunction_attribute a, int value)
{
	switch (a) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || (size_t)value + kernel_shared_bytes(code, k) > d->info.shared_optin)
			return CUDA_ERROR_INVALID_VALUE;
		atomic_store(&t->max_dynamic_shared, value);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		atomic_store(&t->carveout, value);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		if (value < 0 || k->cluster[0])
			return CUDA_ERROR_INVALID_VALUE;
		atomic_store(&t->cluster[a - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH], value);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		atomic_store(&t->non_portable_cluster, value != 0);
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		atomic_store(&t->cluster_policy, value);
		return CUDA_SUCCESS;
	default: /* read-only */
		return CUDA_ERROR_INVALID_VALUE;
	}
}
