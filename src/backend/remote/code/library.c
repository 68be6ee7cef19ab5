/*
 * Libraries and kernels.  A library's handle is our own, so that a lazy one (its code stays where it is)
 * costs nothing until something in it is asked for; then it is loaded, and errors show, as with CUDA's own
 * lazy loading.
 */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "util/handle.h"

#define OURS (1ull << 62) /* in handles of ours: the server's do not have it */

struct library {
	uint64_t handle;
	pthread_mutex_t lock;
	_Atomic(uint64_t) id; /* the server's; 0: not loaded */
	CUresult failed;      /* loading was tried */
	struct image image;   /* until then */
	bool lazy, silent;
	void *file; /* that it points into, if we read it */
	unsigned noptions;
	CUjit_option option[WIRE_JIT_OPTIONS];
	void *value[WIRE_JIT_OPTIONS];
	struct function *kernels;
	struct global *globals, *managed;
};

static struct handle_table libraries = HANDLE_TABLE_INIT;

static void destroy(void *p)
{
	struct library *l = p;

	image_finish(&l->image);
	free(l->file);
	free(l);
}

static struct library *get(CUlibrary handle)
{
	return (uintptr_t)handle & OURS ? handle_get(&libraries, (uintptr_t)handle & ~OURS, HANDLE_CUlibrary) : NULL;
}

static void put(struct library *l)
{
	handle_put(&libraries, l->handle & ~OURS);
}

static CUresult load(struct library *l)
{
	struct options o = {l->noptions, l->option, l->value};
	CUresult r;
	uint64_t id;

	pthread_mutex_lock(&l->lock);
	r = l->failed;
	if (!r && !l->id) {
		r = upload_load(&l->image, l->lazy ? WIRE_LAZY_LIBRARY : WIRE_LIBRARY, &o, &id, &l->silent);
		l->failed = r;
		if (!r)
			l->id = id;
	}
	pthread_mutex_unlock(&l->lock);
	return r;
}

/* The library, loaded and with a reference; NULL: *why. */
static struct library *loaded(CUlibrary handle, CUresult *why)
{
	struct library *l = get(handle);

	*why = CUDA_ERROR_INVALID_HANDLE;
	if (!l)
		return NULL;
	*why = atomic_load_explicit(&l->id, memory_order_acquire) ? CUDA_SUCCESS : load(l);
	if (*why) {
		put(l);
		return NULL;
	}
	return l;
}

static CUlibrary number(struct library *l)
{
	return (CUlibrary)(uintptr_t)l->id;
}

/* A lazy library loads when the application's log buffers may be gone. */
static void keep_options(struct library *l, const struct options *o, bool lazy)
{
	for (unsigned i = 0; i < o->count && l->noptions < WIRE_JIT_OPTIONS; i++) {
		CUjit_option x = o->option[i];
		if (lazy && x >= CU_JIT_INFO_LOG_BUFFER && x <= CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			continue;
		l->option[l->noptions] = x;
		l->value[l->noptions++] = o->value[i];
	}
}

static CUresult create(CUlibrary *library, struct image *im, void *file, const struct options *o, bool lazy)
{
	struct library *l = calloc(1, sizeof *l);
	CUresult r = CUDA_SUCCESS;

	if (l) {
		l->handle = handle_create(&libraries, HANDLE_CUlibrary, l, destroy) | OURS;
		pthread_mutex_init(&l->lock, NULL);
	}
	if (!l || l->handle == OURS) {
		free(l);
		image_finish(im);
		free(file);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	l->image = *im;
	if (im->parts == &im->one)
		l->image.parts = &l->image.one;
	l->file = file;
	l->lazy = lazy;
	keep_options(l, o, lazy);
	if (!lazy)
		r = load(l);
	for (unsigned i = 0; i < l->noptions && !lazy; i++)
		o->value[i] = l->value[i]; /* sizes of logs, times */
	if (r)
		handle_close(&libraries, l->handle & ~OURS, HANDLE_CUlibrary);
	else
		*library = (CUlibrary)(uintptr_t)l->handle;
	return r;
}

static bool preserved(CUlibraryOption *option, void **value, unsigned n, CUresult *why)
{
	bool yes = false;

	*why = CUDA_SUCCESS;
	for (unsigned i = 0; i < n; i++) {
		if (option[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
			yes = value && value[i];
		else
			*why = CUDA_ERROR_NOT_SUPPORTED; /* a table of host functions: they are not where the device is */
	}
	return yes;
}

CUresult remote_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit, void **jit_values,
	unsigned int njit, CUlibraryOption *options, void **values, unsigned int n)
{
	struct options o = {njit, jit, jit_values};
	struct image im;
	CUresult r;

	if (!library || !code || (njit && (!jit || !jit_values)) || (n && !options))
		return CUDA_ERROR_INVALID_VALUE;
	bool lazy = preserved(options, values, n, &r);
	if (r)
		return r;
	if (image_init_local(&im, code))
		return CUDA_ERROR_INVALID_IMAGE;
	return create(library, &im, NULL, &o, lazy);
}

CUresult remote_cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit, void **jit_values,
	unsigned int njit, CUlibraryOption *options, void **values, unsigned int n)
{
	struct options o = {njit, jit, jit_values};
	struct image im;
	void *bytes;
	size_t size;
	CUresult r;

	if (!library || (njit && (!jit || !jit_values)) || (n && !options))
		return CUDA_ERROR_INVALID_VALUE;
	preserved(options, values, n, &r);
	if (!r)
		r = upload_file(path, &bytes, &size);
	if (r)
		return r;
	if (!size || image_sniff(bytes, size) == IMAGE_WRAPPER || image_init(&im, bytes, size)) {
		free(bytes);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	return create(library, &im, bytes, &o, false);
}

CUresult remote_cuLibraryUnload(CUlibrary handle)
{
	struct library *l = get(handle);
	CUresult r = CUDA_SUCCESS;

	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!handle_close(&libraries, l->handle & ~OURS, HANDLE_CUlibrary)) {
		put(l);
		return CUDA_ERROR_INVALID_HANDLE;
	}
	functions_drop(&l->kernels);
	globals_drop(&l->globals);
	globals_drop(&l->managed);
	if (l->id)
		r = call_cuLibraryUnload(number(l));
	put(l);
	return r;
}

CUresult remote_cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name)
{
	CUresult r;
	struct library *l = kernel && name ? loaded(handle, &r) : NULL;

	if (!l)
		return kernel && name ? r : CUDA_ERROR_INVALID_VALUE;
	r = call_cuLibraryGetKernel(kernel, number(l), name);
	if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
		upload_explain(&l->image);
	if (!r)
		r = function_named((uintptr_t)*kernel, name, l->handle, l->silent, &l->kernels);
	put(l);
	return r;
}

CUresult remote_cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle)
{
	CUresult r;
	struct library *l = loaded(handle, &r);

	if (!l)
		return r;
	r = call_cuLibraryGetKernelCount(count, number(l));
	put(l);
	return r;
}

CUresult remote_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary handle)
{
	CUresult r;
	struct library *l = loaded(handle, &r);

	if (!l)
		return r;
	r = call_cuLibraryEnumerateKernels(kernels, n, number(l));
	for (unsigned i = 0; i < n && !r; i++)
		if (kernels[i])
			r = function_named((uintptr_t)kernels[i], NULL, l->handle, l->silent, &l->kernels);
	put(l);
	return r;
}

CUresult remote_cuLibraryGetModule(CUmodule *module, CUlibrary handle)
{
	CUresult r;
	struct library *l = loaded(handle, &r);

	if (!l)
		return r;
	r = call_cuLibraryGetModule(module, number(l));
	put(l);
	return r;
}

static CUresult ask_global(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name)
{
	return call_cuLibraryGetGlobal(address, size, (CUlibrary)(uintptr_t)owner, name);
}

/* A variable is somewhere else in each context: remembered while there is one only. */
CUresult remote_cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name)
{
	CUresult r;
	struct library *l = loaded(handle, &r);

	if (!l)
		return r;
	if (client->devices->count == 1 && context_current() && context_current()->primary)
		r = global_find(&l->globals, false, l->id, name, address, size, ask_global);
	else
		r = global_noted(call_cuLibraryGetGlobal(address, size, number(l), name), address, size);
	put(l);
	return r;
}

static CUresult ask_managed(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name)
{
	return call_cuLibraryGetManaged(address, size, (CUlibrary)(uintptr_t)owner, name);
}

/* One that the server shares among all contexts; ours to touch, too (mirror.c). */
CUresult remote_cuLibraryGetManaged(CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name)
{
	CUresult r;
	struct library *l = loaded(handle, &r);

	if (!l)
		return r;
	r = global_find(&l->managed, true, l->id, name, address, size, ask_managed);
	put(l);
	return r;
}

CUresult remote_cuLibraryGetUnifiedFunction(void **f, CUlibrary handle, const char *name)
{
	struct library *l = get(handle);

	if (!f || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	put(l);
	return CUDA_ERROR_NOT_FOUND; /* such functions are on both sides, and ours are not */
}

CUresult remote_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	struct function *f = function_record((uintptr_t)kernel);

	if (!library)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f || !f->owner)
		return CUDA_ERROR_INVALID_HANDLE;
	*library = (CUlibrary)(uintptr_t)f->owner;
	return CUDA_SUCCESS;
}
