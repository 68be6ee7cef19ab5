/* Functions: the kernels of a module in its context. */
#include "backend/soft/code/module.h"

#include <stdlib.h>

static void function_release(void *object)
{
	struct function *f = object;

	object_put(f->owner);
	object_put(f->module);
	pthread_mutex_destroy(&f->lock);
	free(f->legacy);
	free(f);
}

static struct function *function_create(struct module *m, unsigned i, struct kernel *owner)
{
	struct function *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	pthread_mutex_init(&f->lock, NULL);
	object_ref(m);
	f->module = m;
	f->kernel = &m->program->code->kernels[i];
	tuning_init(&f->own_tuning);
	f->tuning = &f->own_tuning;
	if (owner) {
		object_ref(owner);
		f->owner = owner;
		f->tuning = &owner->tuning[m->object.ctx->device->ordinal];
	}
	if (object_init_held(&f->object, KIND_FUNCTION, m->object.ctx, function_release)) {
		function_release(f);
		return NULL;
	}
	return f;
}

CUresult module_function(struct module *m, unsigned i, struct kernel *owner, struct function **out)
{
	uint64_t known = atomic_load(&m->functions[i]);
	struct function *f = known ? object_find64(known, KIND_FUNCTION) : NULL;

	if (!f) {
		f = function_create(m, i, owner);
		if (!f)
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (!atomic_compare_exchange_strong(&m->functions[i], &known, f->object.handle)) {
			/* Another thread was faster. A kernel has one function per module. */
			object_close(f);
			object_put(f);
			return module_function(m, i, owner, out);
		}
	}
	*out = f;
	return CUDA_SUCCESS;
}

CUresult function_enter(CUfunction handle, struct function **f)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	*f = object_find(handle, KIND_FUNCTION);
	if (*f)
		return CUDA_SUCCESS;
	struct kernel *k = object_find(handle, KIND_KERNEL);
	if (!k)
		return CUDA_ERROR_INVALID_HANDLE;
	r = kernel_function(k, ctx, f);
	object_put(k);
	return r;
}

/* ---- entry points ---- */

CUresult soft_cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction handle)
{
	struct function *f;
	CUresult r = value ? function_enter(handle, &f) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	r = tuning_get(f->kernel, f->module->program->code, f->tuning, f->object.ctx->device, a, value);
	object_put(f);
	return r;
}

CUresult soft_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute a, int value)
{
	struct function *f;
	CUresult r = function_enter(handle, &f);

	if (r)
		return r;
	r = tuning_set(f->kernel, f->module->program->code, f->tuning, f->object.ctx->device, a, value);
	object_put(f);
	return r;
}

CUresult soft_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	struct function *f;

	if ((int)config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = function_enter(handle, &f);
	if (r)
		return r;
	atomic_store(&f->tuning->cache_config, config);
	object_put(f);
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
	struct function *f;

	if ((int)config < 0 || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = function_enter(handle, &f);
	if (!r)
		object_put(f);
	return r;
}

CUresult soft_cuFuncGetModule(CUmodule *out, CUfunction handle)
{
	struct function *f;
	CUresult r = out ? function_enter(handle, &f) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*out = object_handle(CUmodule, f->module);
	object_put(f);
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncGetName(const char **name, CUfunction handle)
{
	struct function *f;
	CUresult r = name ? function_enter(handle, &f) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*name = f->kernel->name;
	object_put(f);
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncGetParamInfo(CUfunction handle, size_t i, size_t *offset, size_t *size)
{
	struct function *f;
	CUresult r = offset ? function_enter(handle, &f) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	r = kernel_param(f->kernel, i, offset, size);
	object_put(f);
	return r;
}

CUresult soft_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
	struct function *f;
	CUresult r = state ? function_enter(handle, &f) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	object_put(f);
	return CUDA_SUCCESS;
}

CUresult soft_cuFuncLoad(CUfunction handle)
{
	struct function *f;
	CUresult r = function_enter(handle, &f);

	if (!r)
		object_put(f);
	return r;
}
