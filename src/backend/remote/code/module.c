/* Modules.  Functions and variables that were asked for are known until their module is unloaded. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/code/state.h"
#include "backend/remote/session/records.h"
#include "util/handle.h"

struct module {
	struct recycled recycled;
	uint64_t id;
	struct context *ctx; /* in which it was loaded */
	uint32_t ctx_ended;  /* ctx->times_ended then */
	bool silent;         /* its kernels do not print */
	struct function *functions;
	struct global *globals;
};

static void module_drop_contents(struct module *m)
{
	functions_drop(&m->functions);
	globals_drop(&m->globals);
}

static struct module *module_create(void)
{
	struct module *m = recycle_take(&client->code->modules);

	if (m)
		module_drop_contents(m); /* found by one thread while another unloaded the module */
	return m ? m : recycle_create(&client->code->modules, sizeof *m);
}

static CUresult module_load(CUmodule *module, const struct image *im, const struct jit_options *o)
{
	struct module *m = module_create();
	CUresult r;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->ctx = context_current();
	m->ctx_ended = m->ctx->times_ended;
	r = image_load(im, WIRE_MODULE, o, &m->id, &m->silent);
	if (!r)
		r = record_add(m->id, HANDLE_CUmodule, m);
	if (r) {
		recycle_put(&client->code->modules, &m->recycled);
		return r;
	}
	*module = (CUmodule)(uintptr_t)m->id;
	return CUDA_SUCCESS;
}

CUresult remote_cuModuleLoadDataEx(
	CUmodule *module, const void *image, unsigned int n, CUjit_option *option, void **value)
{
	struct jit_options o = {n, option, value};
	struct image im;
	CUresult r;

	if (!module || !image || (n && (!option || !value)))
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_current())
		return context_none();
	if (image_init_local(&im, image))
		return CUDA_ERROR_INVALID_IMAGE;
	r = module_load(module, &im, &o);
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
	static const struct jit_options none;
	struct image im;
	void *bytes;
	size_t size;
	CUresult r;

	if (!module)
		return CUDA_ERROR_INVALID_VALUE;
	if (!context_current())
		return context_none();
	r = file_read(path, &bytes, &size);
	if (r)
		return r;
	if (size && image_sniff(bytes, size) != IMAGE_WRAPPER && !image_init(&im, bytes, size)) {
		r = module_load(module, &im, &none);
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
		module_drop_contents(m);
		recycle_put(&client->code->modules, &m->recycled);
	}
	return call_cuModuleUnload(module);
}

/* A library's module (cuLibraryGetModule) has no record of its own. */
static struct module *module_find(CUmodule module)
{
	return record_find((uintptr_t)module, HANDLE_CUmodule);
}

CUresult remote_cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	struct function *unowned = NULL;
	struct module *m = module_find(module);
	CUresult r = call_cuModuleGetFunction(f, module, name);

	if (r)
		return r;
	r = function_note_name((uintptr_t)*f, name, (uintptr_t)module, m && m->silent, m ? &m->functions : &unowned);
	if (!r && m)
		function_set_home((uintptr_t)*f, m->ctx, m->ctx_ended);
	return r;
}

/* The module owns what it enumerates, too: the driver may give the handle of an unloaded function to another one. */
CUresult remote_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int n, CUmodule module)
{
	struct module *m = module_find(module);
	CUresult r = call_cuModuleEnumerateFunctions(functions, n, module);

	for (unsigned i = 0; m && i < n && !r; i++) {
		if (!functions[i])
			continue;
		r = function_note_name((uintptr_t)functions[i], NULL, (uintptr_t)module, m->silent, &m->functions);
		if (!r)
			function_set_home((uintptr_t)functions[i], m->ctx, m->ctx_ended);
	}
	return r;
}

static CUresult module_ask_global(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name)
{
	return call_cuModuleGetGlobal_v2(address, size, (CUmodule)(uintptr_t)owner, name);
}

CUresult remote_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
	struct module *m = module_find(module);

	if (!m)
		return global_note(call_cuModuleGetGlobal_v2(address, size, module, name), address, size);
	return global_find(&m->globals, false, m->id, name, address, size, module_ask_global);
}
