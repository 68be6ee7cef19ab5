/*
 * Libraries and their kernels: code that belongs to no context.  If the application promises to keep the image, it is
 * read only when a kernel or variable is looked up.  The first use in a context creates the library's module there.
 */
#include "backend/soft/code/module.h"

#include <stdlib.h>
#include <string.h>

static void library_release(void *object)
{
	struct library *l = object;

	while (l->instances) {
		struct library_instance *i = l->instances;

		l->instances = i->next;
		free(i);
	}
	program_put(l->program);
	pthread_mutex_destroy(&l->lock);
	free(l->kernels);
	free(l);
}

static void kernel_release(void *object)
{
	struct kernel *k = object;

	object_put(k->library);
	program_put(k->program);
	pthread_mutex_destroy(&k->lock);
	free(k->tuning);
	free(k);
}

/* Loads the code on the first call; later calls return the same result.  Requires the lock. */
static CUresult library_load(struct library *l, struct jit *jit)
{
	struct jit none = {0};

	if (l->program || l->failed)
		return l->failed;
	l->failed = program_load(l->image, jit ? jit : &none, &l->program);
	if (l->failed)
		return l->failed;
	l->image = NULL;
	l->kernels = calloc(l->program->code->nkernels + 1, sizeof *l->kernels);
	if (!l->kernels) {
		program_put(l->program);
		l->program = NULL;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static CUresult library_enter(CUlibrary handle, struct library **l)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	*l = object_find(handle, KIND_LIBRARY);
	return *l ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* library_enter for calls that need the code: loads it. */
static CUresult library_open(CUlibrary handle, struct library **l)
{
	CUresult r = library_enter(handle, l);

	if (r)
		return r;
	pthread_mutex_lock(&(*l)->lock);
	r = library_load(*l, NULL);
	pthread_mutex_unlock(&(*l)->lock);
	if (r)
		object_put(*l);
	return r;
}

static struct kernel *kernel_create(struct library *l, unsigned i)
{
	struct kernel *k = calloc(1, sizeof *k);

	if (!k)
		return NULL;
	pthread_mutex_init(&k->lock, NULL);
	object_ref(l);
	program_ref(l->program);
	k->library = l;
	k->program = l->program;
	k->index = i;
	k->kernel = &l->program->code->kernels[i];
	k->tuning = calloc(soft.ndevices + 1, sizeof *k->tuning);
	for (int d = 0; k->tuning && d < soft.ndevices; d++)
		tuning_init(&k->tuning[d]);
	if (!k->tuning || object_init(&k->object, KIND_KERNEL, NULL, kernel_release)) {
		kernel_release(k);
		return NULL;
	}
	return k;
}

/* The handle of the kernel with index i. */
static CUresult library_kernel(struct library *l, unsigned i, CUkernel *out)
{
	uint64_t handle;

	pthread_mutex_lock(&l->lock);
	handle = atomic_load(&l->kernels[i]);
	if (!handle) {
		struct kernel *k = kernel_create(l, i);

		handle = k ? k->object.handle : 0;
		atomic_store(&l->kernels[i], handle);
	}
	pthread_mutex_unlock(&l->lock);
	*out = (CUkernel)(uintptr_t)handle;
	return handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The library's module in a context, referenced. */
static CUresult library_module(struct library *l, struct context *ctx, struct module **m)
{
	struct library_instance *i;
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&l->lock);
	for (i = l->instances; i && i->ctx_id != ctx->id; i = i->next)
		;
	*m = i ? object_find64(i->module, KIND_MODULE) : NULL;
	if (!*m && !i) {
		i = calloc(1, sizeof *i);
		if (i) {
			i->ctx_id = ctx->id;
			i->next = l->instances;
			l->instances = i;
		} else {
			r = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	if (!*m && !r) { /* not used in this context, or the context was reset since */
		r = module_create(ctx, l->program, m);
		if (!r)
			i->module = (*m)->object.handle;
	}
	pthread_mutex_unlock(&l->lock);
	return r;
}

CUresult kernel_function(struct kernel *k, struct context *ctx, struct function **f)
{
	struct module *m;

	pthread_mutex_lock(&k->lock);
	*f = k->ctx_id == ctx->id ? object_find64(k->function, KIND_FUNCTION) : NULL;
	pthread_mutex_unlock(&k->lock);
	if (*f)
		return CUDA_SUCCESS;
	CUresult r = library_module(k->library, ctx, &m);
	if (r)
		return r;
	r = module_function(m, k->index, k, f);
	object_put(m);
	if (r)
		return r;
	pthread_mutex_lock(&k->lock);
	k->ctx_id = ctx->id;
	k->function = (*f)->object.handle;
	pthread_mutex_unlock(&k->lock);
	return CUDA_SUCCESS;
}

/* ---- entry points: libraries ---- */

/* cuBLASLt passes BINARY_IS_PRESERVED without a value, so the option alone sets it. */
static CUresult library_options(unsigned n, CUlibraryOption *options, void **values, bool *preserved)
{
	*preserved = false;
	if (n && !options)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		if ((int)options[i] < 0 || options[i] >= CU_LIBRARY_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
		if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
			*preserved = !values || values[i];
	}
	return CUDA_SUCCESS;
}

static CUresult library_create(CUlibrary *out, const void *image, struct program *program)
{
	struct library *l = calloc(1, sizeof *l);

	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&l->lock, NULL);
	l->image = image;
	if (program) {
		l->kernels = calloc(program->code->nkernels + 1, sizeof *l->kernels);
		program_ref(program);
		l->program = program;
	}
	if ((program && !l->kernels) || object_init(&l->object, KIND_LIBRARY, NULL, library_release)) {
		library_release(l);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = object_handle(CUlibrary, l);
	return CUDA_SUCCESS;
}

CUresult soft_cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *jit_options, void **jit_values,
	unsigned int njit, CUlibraryOption *options, void **values, unsigned int n)
{
	struct program *p = NULL;
	struct jit jit;
	bool preserved;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = library_options(n, options, values, &preserved);
	if (!r)
		r = jit_read(&jit, njit, jit_options, jit_values);
	if (r)
		return r;
	if (preserved && !njit)
		return library_create(out, image, NULL);
	r = program_load(image, &jit, &p);
	jit_write_outputs(&jit);
	if (!r)
		r = library_create(out, NULL, p);
	program_put(p);
	return r;
}

CUresult soft_cuLibraryLoadFromFile(CUlibrary *out, const char *name, CUjit_option *jit_options, void **jit_values,
	unsigned int njit, CUlibraryOption *options, void **values, unsigned int n)
{
	struct program *p = NULL;
	struct jit jit;
	bool preserved;
	void *data;
	size_t size;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = library_options(n, options, values, &preserved);
	if (!r)
		r = jit_read(&jit, njit, jit_options, jit_values);
	if (r)
		return r;
	int err = module_read_file(name, &data, &size);
	if (err)
		return module_file_error(err);
	r = program_load_bytes(data, size, &jit, &p);
	free(data);
	jit_write_outputs(&jit);
	if (!r)
		r = library_create(out, NULL, p);
	program_put(p);
	return r;
}

/* Closes the kernels and the modules, with their functions, before the library itself. */
static void library_close_contents(struct library *l)
{
	for (size_t i = 0; l->program && i < l->program->code->nkernels; i++) {
		uint64_t handle = atomic_load(&l->kernels[i]);
		struct kernel *k = handle ? object_find64(handle, KIND_KERNEL) : NULL;

		if (k)
			object_close(k);
		object_put(k);
	}
	for (struct library_instance *i = l->instances; i; i = i->next) {
		struct module *m = object_find64(i->module, KIND_MODULE);

		if (m)
			module_close(m);
		object_put(m);
	}
}

CUresult soft_cuLibraryUnload(CUlibrary handle)
{
	struct library *l;
	CUresult r = library_enter(handle, &l);

	if (r)
		return r;
	if (object_close(l)) {
		pthread_mutex_lock(&l->lock);
		library_close_contents(l);
		pthread_mutex_unlock(&l->lock);
	} else {
		r = CUDA_ERROR_INVALID_HANDLE;
	}
	object_put(l);
	return r;
}

CUresult soft_cuLibraryGetKernel(CUkernel *out, CUlibrary handle, const char *name)
{
	struct library *l;
	CUresult r = out && name ? library_open(handle, &l) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	int i = program_kernel(l->program, name);
	r = i < 0 ? CUDA_ERROR_NOT_FOUND : library_kernel(l, i, out);
	object_put(l);
	return r;
}

CUresult soft_cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle)
{
	struct library *l;
	CUresult r = count ? library_open(handle, &l) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*count = l->program->code->nkernels;
	object_put(l);
	return CUDA_SUCCESS;
}

CUresult soft_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary handle)
{
	struct library *l;
	CUresult r = kernels ? library_open(handle, &l) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	for (unsigned i = 0; i < n && i < l->program->code->nkernels && !r; i++)
		r = library_kernel(l, i, &kernels[i]);
	object_put(l);
	return r;
}

/* The library's module in the current context. */
static CUresult library_module_enter(CUlibrary handle, struct module **m)
{
	struct context *ctx;
	struct library *l;
	CUresult r = context_enter(&ctx);

	if (!r)
		r = library_open(handle, &l);
	if (r)
		return r;
	r = library_module(l, ctx, m);
	object_put(l);
	return r;
}

CUresult soft_cuLibraryGetModule(CUmodule *out, CUlibrary handle)
{
	struct module *m;
	CUresult r = out ? library_module_enter(handle, &m) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*out = object_handle(CUmodule, m);
	object_put(m);
	return CUDA_SUCCESS;
}

CUresult soft_cuLibraryGetGlobal(CUdeviceptr *addr, size_t *size, CUlibrary handle, const char *name)
{
	struct module *m;
	CUresult r = name && (addr || size) ? library_module_enter(handle, &m) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	r = module_global(m, name, addr, size);
	object_put(m);
	return r;
}

/* Needs no context: the CUDA runtime calls this before it creates one. */
CUresult soft_cuLibraryGetManaged(CUdeviceptr *addr, size_t *size, CUlibrary handle, const char *name)
{
	struct library *l;
	CUresult r = name && (addr || size) ? library_open(handle, &l) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	int i = program_global(l->program, name);
	if (i < 0 || !l->program->managed[i]) {
		r = CUDA_ERROR_NOT_FOUND;
	} else {
		if (addr)
			*addr = l->program->managed[i];
		if (size)
			*size = l->program->code->globals[i].size;
	}
	object_put(l);
	return r;
}
