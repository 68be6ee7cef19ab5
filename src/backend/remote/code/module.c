/* Modules: images go over once per content, and what they hold is remembered until they are unloaded. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/session/records.h"
#include "util/handle.h"

struct module {
	struct recycled recycled;
	uint64_t id;
	struct context *ctx; /* loaded in, when that had ended so often */
	uint32_t ended;
	bool silent;
	struct function *functions;
	struct global *globals;
};

static struct recycle_pool recycled = {PTHREAD_MUTEX_INITIALIZER};

static void drop(struct module *m)
{
	functions_drop(&m->functions);
	globals_drop(&m->globals);
}

static struct module *new_record(void)
{
	struct module *m = recycle_take(&recycled);

	if (m)
		drop(m); /* what a thread has asked of it while another unloaded it */
	return m ? m : calloc(1, sizeof *m);
}

static CUresult load(CUmodule *module, const struct image *im, const struct options *o)
{
	struct module *m = new_record();
	CUresult r;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->ctx = context_current();
	m->ended = m->ctx->times_ended;
	r = upload_load(im, WIRE_MODULE, o, &m->id, &m->silent);
	if (!r)
		r = record_add(m->id, HANDLE_CUmodule, m);
	if (r) {
		recycle_put(&recycled, &m->recycled);
		return r;
	}
	*module = (CUmodule)(uintptr_t)m->id;
	return CUDA_SUCCESS;
}

CUresult remote_cuModuleLoadDataEx(
	CUmodule *module, const void *image, unsigned int n, CUjit_option *option, void **value)
{
	struct options o = {n, option, value};
	struct image im;
	CUresult r;

	if (!module || !image || (n && (!option || !value)))
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_current())
		return context_none();
	if (image_init_local(&im, image))
		return CUDA_ERROR_INVALID_IMAGE;
	r = load(module, &im, &o);
	image_finish(&im);
	return r;
}

CUresult remote_cuModuleLoadData(CUmodule *module, const void *image)
{
	return remote_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult remote_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return remote_cuModuleLoadData(module, image);
}

CUresult remote_cuModuleLoad(CUmodule *module, const char *path)
{
	static const struct options none;
	struct image im;
	void *bytes;
	size_t size;
	CUresult r;

	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_current())
		return context_none();
	r = upload_file(path, &bytes, &size);
	if (r)
		return r;
	if (size && image_sniff(bytes, size) != IMAGE_WRAPPER && !image_init(&im, bytes, size)) {
		r = load(module, &im, &none);
		image_finish(&im);
	} else {
		r = CUDA_ERROR_INVALID_IMAGE;
	}
	free(bytes);
	return r;
}

CUresult remote_cuModuleUnload(CUmodule module)
{
	struct module *m = handle_kind((uintptr_t)module) == HANDLE_CUmodule ? record_remove((uintptr_t)module) : NULL;

	if (m) {
		drop(m);
		recycle_put(&recycled, &m->recycled);
	}
	return call_cuModuleUnload(module);
}

/* A library's module (cuLibraryGetModule) has no record of its own. */
static struct module *find(CUmodule module)
{
	return record_find((uintptr_t)module, HANDLE_CUmodule);
}

CUresult remote_cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	struct function *unowned = NULL;
	struct module *m = find(module);
	CUresult r = call_cuModuleGetFunction(f, module, name);

	if (r)
		return r;
	r = function_named((uintptr_t)*f, name, (uintptr_t)module, m && m->silent, m ? &m->functions : &unowned);
	if (!r && m)
		function_lives((uintptr_t)*f, m->ctx, m->ended);
	return r;
}

static CUresult ask_global(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name)
{
	return call_cuModuleGetGlobal_v2(address, size, (CUmodule)(uintptr_t)owner, name);
}

CUresult remote_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
	struct module *m = find(module);

	if (!m)
		return global_noted(call_cuModuleGetGlobal_v2(address, size, module, name), address, size);
	return global_find(&m->globals, false, m->id, name, address, size, ask_global);
}
