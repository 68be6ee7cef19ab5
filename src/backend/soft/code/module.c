/* Modules: code in one context, with its own variables. */
#include "backend/soft/code/module.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/soft/memory/range.h"

static void module_free_globals(struct module *m)
{
	for (size_t i = 0; m->globals && i < m->program->code->nglobals; i++) {
		struct range *r = NULL;

		if (m->globals[i] && !m->program->managed[i])
			r = range_remove(m->globals[i], 1u << RANGE_VARIABLE);
		if (r)
			r->release(r);
	}
}

static void module_release(void *object)
{
	struct module *m = object;

	module_free_globals(m);
	program_put(m->program);
	free(m->globals);
	free(m->functions);
	free(m);
}

/* Allocates and initialises the variables.  Their memory belongs to the module; managed ones belong to the program. */
static CUresult module_place_globals(struct module *m, struct context *ctx)
{
	const struct code *code = m->program->code;

	for (size_t i = 0; i < code->nglobals; i++) {
		const struct image_global *g = &code->globals[i];

		m->globals[i] = m->program->managed[i];
		if (g->external || !g->size || m->globals[i])
			continue;
		CUresult r = memory_alloc_without_context(ctx->device, RANGE_VARIABLE, g->size, &m->globals[i]);
		if (r)
			return r;
		memset((void *)(uintptr_t)m->globals[i], 0, g->size);
	}
	return soft.engine->init_globals ? soft.engine->init_globals(m->program->code, m->globals, false)
					 : CUDA_SUCCESS;
}

CUresult module_create(struct context *ctx, struct program *p, struct module **out)
{
	struct module *m = calloc(1, sizeof *m);
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (!m)
		return r;
	program_ref(p);
	m->program = p;
	m->globals = calloc(p->code->nglobals + 1, sizeof *m->globals);
	m->functions = calloc(p->code->nkernels + 1, sizeof *m->functions);
	if (m->globals && m->functions)
		r = module_place_globals(m, ctx);
	if (!r && object_init_held(&m->object, KIND_MODULE, ctx, module_release))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r) {
		module_release(m);
		return r;
	}
	*out = m;
	return CUDA_SUCCESS;
}

bool module_close(struct module *m)
{
	for (size_t i = 0; i < m->program->code->nkernels; i++) {
		uint64_t handle = atomic_load(&m->functions[i]);
		struct function *f = handle ? object_find64(handle, KIND_FUNCTION) : NULL;

		if (f)
			object_close(f);
		object_put(f);
	}
	return object_close(m);
}

CUresult module_global(struct module *m, const char *name, CUdeviceptr *addr, size_t *size)
{
	int i = program_global(m->program, name);

	if (i < 0 || !m->globals[i] || m->program->code->globals[i].opaque)
		return CUDA_ERROR_NOT_FOUND;
	if (addr)
		*addr = m->globals[i];
	if (size)
		*size = m->program->code->globals[i].size;
	return CUDA_SUCCESS;
}

/* ---- entry points ---- */

/* Consumes the reference to the program. */
static CUresult module_from_program(CUmodule *out, struct context *ctx, struct program *p)
{
	struct module *m;
	CUresult r = module_create(ctx, p, &m);

	printf_buffer_flush(&ctx->printf_buffer);
	program_put(p);
	if (r)
		return r;
	*out = object_handle(CUmodule, m);
	object_put(m);
	return CUDA_SUCCESS;
}

CUresult soft_cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int n, CUjit_option *options, void **values)
{
	struct context *ctx;
	struct program *p;
	struct jit jit;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	r = jit_read(&jit, n, options, values);
	if (r)
		return r;
	r = program_load(image, &jit, &p);
	jit_write_outputs(&jit);
	if (!r)
		r = module_from_program(out, ctx, p);
	return r;
}

CUresult soft_cuModuleLoadData(CUmodule *out, const void *image)
{
	return soft_cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

CUresult soft_cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
	return soft_cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

int module_read_file(const char *name, void **data, size_t *size)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC), err = 0;
	struct stat st;
	size_t got = 0;

	*data = NULL;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > 1ll << 32)
		err = -EINVAL;
	else if (!(*data = malloc(st.st_size + 1)))
		err = -ENOMEM;
	while (!err && got < (size_t)st.st_size) {
		ssize_t n = read(fd, (char *)*data + got, st.st_size - got);

		if (n <= 0)
			err = n ? -errno : -EIO;
		else
			got += n;
	}
	close(fd);
	if (err) {
		free(*data);
		return err;
	}
	((char *)*data)[got] = 0;
	*size = got;
	return 0;
}

CUresult module_file_error(int err)
{
	return err == -ENOMEM   ? CUDA_ERROR_OUT_OF_MEMORY
	       : err == -EINVAL ? CUDA_ERROR_INVALID_IMAGE
				: CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult soft_cuModuleLoad(CUmodule *out, const char *name)
{
	struct context *ctx;
	struct program *p;
	struct jit jit = {0};
	void *data;
	size_t size;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	int err = module_read_file(name, &data, &size);
	if (err)
		return module_file_error(err);
	r = program_load_bytes(data, size, &jit, &p);
	free(data);
	if (!r)
		r = module_from_program(out, ctx, p);
	return r;
}

static CUresult module_enter(CUmodule handle, struct module **m)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	*m = object_find(handle, KIND_MODULE);
	return *m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult soft_cuModuleUnload(CUmodule handle)
{
	struct module *m;
	CUresult r = module_enter(handle, &m);

	if (r)
		return r;
	printf_buffer_flush(&m->object.ctx->printf_buffer);
	if (!module_close(m))
		r = CUDA_ERROR_INVALID_HANDLE;
	object_put(m);
	return r;
}

CUresult soft_cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
	struct module *m;
	struct function *f;
	CUresult r = out && name ? module_enter(handle, &m) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	int i = program_kernel(m->program, name);
	r = i < 0 ? CUDA_ERROR_NOT_FOUND : module_function(m, i, NULL, &f);
	if (!r) {
		*out = object_handle(CUfunction, f);
		object_put(f);
	}
	object_put(m);
	return r;
}

CUresult soft_cuModuleGetFunctionCount(unsigned int *count, CUmodule handle)
{
	struct module *m;
	CUresult r = count ? module_enter(handle, &m) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*count = m->program->code->nkernels;
	object_put(m);
	return CUDA_SUCCESS;
}

CUresult soft_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int n, CUmodule handle)
{
	struct module *m;
	struct function *f;
	CUresult r = functions ? module_enter(handle, &m) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	for (unsigned i = 0; i < n && i < m->program->code->nkernels && !r; i++) {
		r = module_function(m, i, NULL, &f);
		if (!r) {
			functions[i] = object_handle(CUfunction, f);
			object_put(f);
		}
	}
	object_put(m);
	return r;
}

CUresult soft_cuModuleGetGlobal_v2(CUdeviceptr *addr, size_t *size, CUmodule handle, const char *name)
{
	struct module *m;
	CUresult r = name ? module_enter(handle, &m) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	r = module_global(m, name, addr, size);
	object_put(m);
	return r;
}

CUresult soft_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	const char *env = secure_getenv("CUDA_MODULE_LOADING");

	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = env && strcmp(env, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}
