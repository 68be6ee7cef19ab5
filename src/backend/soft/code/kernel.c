/* Entry points for the kernels of libraries, which belong to no context. */
#include "backend/soft/code/module.h"

static CUresult kernel_enter(CUkernel handle, struct kernel **k)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*k = object_find(handle, KIND_KERNEL);
	return *k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult soft_cuKernelGetFunction(CUfunction *out, CUkernel handle)
{
	struct context *ctx;
	struct function *f;
	struct kernel *k;
	CUresult r = out ? context_enter(&ctx) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		r = kernel_enter(handle, &k);
	if (r)
		return r;
	r = kernel_function(k, ctx, &f);
	object_put(k);
	if (r)
		return r;
	*out = object_handle(CUfunction, f);
	object_put(f);
	return CUDA_SUCCESS;
}

CUresult soft_cuKernelGetLibrary(CUlibrary *out, CUkernel handle)
{
	struct kernel *k;
	CUresult r = out ? kernel_enter(handle, &k) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*out = object_handle(CUlibrary, k->library);
	object_put(k);
	return CUDA_SUCCESS;
}

CUresult soft_cuKernelGetName(const char **name, CUkernel handle)
{
	struct kernel *k;
	CUresult r = name ? kernel_enter(handle, &k) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*name = k->kernel->name;
	object_put(k);
	return CUDA_SUCCESS;
}

CUresult kernel_param(const struct image_kernel *k, size_t i, size_t *offset, size_t *size)
{
	if (i >= k->nparams)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = k->params[i].offset;
	if (size)
		*size = k->params[i].size;
	return CUDA_SUCCESS;
}

CUresult soft_cuKernelGetParamInfo(CUkernel handle, size_t i, size_t *offset, size_t *size)
{
	struct kernel *k;
	CUresult r = offset ? kernel_enter(handle, &k) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	r = kernel_param(k->kernel, i, offset, size);
	object_put(k);
	return r;
}

CUresult soft_cuKernelGetAttribute(int *value, CUfunction_attribute a, CUkernel handle, CUdevice dev)
{
	struct device *d = device_find(dev);
	struct kernel *k;
	CUresult r = value ? kernel_enter(handle, &k) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	r = CUDA_ERROR_INVALID_DEVICE;
	if (d)
		r = tuning_get(k->kernel, k->program->code, &k->tuning[dev], d, a, value);
	object_put(k);
	return r;
}

CUresult soft_cuKernelSetAttribute(CUfunction_attribute a, int value, CUkernel handle, CUdevice dev)
{
	struct device *d = device_find(dev);
	struct kernel *k;
	CUresult r = kernel_enter(handle, &k);

	if (r)
		return r;
	r = d ? tuning_set(k->kernel, k->program->code, &k->tuning[dev], d, a, value) : CUDA_ERROR_INVALID_DEVICE;
	object_put(k);
	return r;
}

CUresult soft_cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice dev)
{
	struct kernel *k;
	CUresult r = kernel_enter(handle, &k);

	if (r)
		return r;
	if (!device_find(dev))
		r = CUDA_ERROR_INVALID_DEVICE;
	else if ((int)config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
		r = CUDA_ERROR_INVALID_VALUE;
	else
		atomic_store(&k->tuning[dev].cache_config, config);
	object_put(k);
	return r;
}
