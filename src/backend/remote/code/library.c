/*
 * Libraries.  Their handles are the client's own.  A library whose code the application keeps in memory is loaded with
 * the first use of anything in it, and reports errors then, as with CUDA's own lazy loading.
 */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/code/state.h"
#include "util/handle.h"

#define CLIENT_HANDLE (1ull << 62) /* set in handles of the client, never in the server's */

struct library {
	uint64_t handle;
	pthread_mutex_t lock;
	_Atomic(uint64_t) id; /* the server's; 0: not loaded */
	CUresult load_error;  /* loading has failed before */
	struct image image;
	bool lazy, silent; /* silent: its kernels do not print */
	void *file;        /* the file that the image points into, or NULL */
	unsigned noptions;
	CUjit_option option[WIRE_JIT_OPTIONS];
	void *value[WIRE_JIT_OPTIONS];
	struct function *kernels;
	struct global *globals, *managed;
};

static void library_destroy(void *p)
{
	struct library *l = p;

	if (!l)
		return;
	image_finish(&l->image);
	free(l->file);
	free(l);
}

static struct library *library_get(CUlibrary handle)
{
	return (uintptr_t)handle & CLIENT_HANDLE
		       ? handle_get(&client->code->libraries, (uintptr_t)handle & ~CLIENT_HANDLE, HANDLE_CUlibrary)
		       : NULL;
}

static void library_put(struct library *l)
{
	handle_put(&client->code->libraries, l->handle & ~CLIENT_HANDLE);
}

static CUresult library_load(struct library *l)
{
	struct jit_options o = {l->noptions, l->option, l->value};
	CUresult r;
	uint64_t id;

	pthread_mutex_lock(&l->lock);
	r = l->load_error;
	if (!r && !l->id) {
		r = image_load(&l->image, l->lazy ? WIRE_LAZY_LIBRARY : WIRE_LIBRARY, &o, &id, &l->silent);
		l->load_error = r;
		if (!r)
			l->id = id;
	}
	pthread_mutex_unlock(&l->lock);
	return r;
}

static CUlibrary library_server_handle(struct library *l)
{
	return (CUlibrary)(uintptr_t)l->id;
}

static CUresult library_ask_managed(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name)
{
	return call_cuLibraryGetManaged(address, size, (CUlibrary)(uintptr_t)owner, name);
}

/* ---- from one client to the next ---- */

static bool library_has_image(const struct library *l)
{
	return l->lazy || l->file;
}

/* The handles of a library that stay valid after the library was loaded again. */
struct library_contents {
	struct function *kernels;
	struct global *managed;
};

/* Nothing of the library is loaded in the new server. */
static struct library_contents library_forget_load(struct library *l, struct client *former)
{
	struct library_contents was;

	pthread_mutex_lock(&former->code->function_lock);
	was.kernels = l->kernels;
	l->kernels = NULL;
	pthread_mutex_unlock(&former->code->function_lock);
	pthread_mutex_lock(&former->code->globals_lock);
	was.managed = l->managed;
	l->managed = NULL;
	globals_drop(&l->globals);
	pthread_mutex_unlock(&former->code->globals_lock);
	pthread_mutex_lock(&l->lock);
	if (l->id || l->load_error == CUDA_ERROR_DEVICE_UNAVAILABLE)
		l->load_error = library_has_image(l) ? CUDA_SUCCESS : CUDA_ERROR_DEVICE_UNAVAILABLE;
	l->id = 0;
	pthread_mutex_unlock(&l->lock);
	return was;
}

static void library_carry_kernel(struct library *l, const struct function *was)
{
	struct wire_alias a = {.former = was->id};
	CUkernel now;

	if (!was->name || call_cuLibraryGetKernel(&now, library_server_handle(l), was->name))
		return;
	a.now = (uintptr_t)now;
	if (!call_sync(WIRE_ALIAS, &a, sizeof a, NULL, 0, NULL, 0) && !function_carry(was->id))
		function_note_name(was->id, was->name, l->handle, l->silent, &l->kernels);
}

/* A managed variable that has moved would leave host and device with a variable each: the library is of no use then. */
static void library_carry(struct library *l, struct client *former)
{
	struct library_contents was = library_forget_load(l, former);

	if (!(was.kernels || was.managed) || !library_has_image(l) || library_load(l))
		return;
	if (!globals_renew(&l->managed, was.managed, l->id, library_ask_managed)) {
		l->load_error = CUDA_ERROR_NOT_SUPPORTED;
		l->id = 0;
		return;
	}
	for (struct function *f = was.kernels; f; f = f->next)
		library_carry_kernel(l, f);
}

void libraries_carry(struct client *former)
{
	struct handle_table *from = &former->code->libraries, *to = &client->code->libraries;

	pthread_mutex_lock(&former->code->function_lock);
	former->code->carried = true;
	pthread_mutex_unlock(&former->code->function_lock);
	pthread_mutex_lock(&from->lock);
	to->used = from->used;
	to->free = from->free;
	for (unsigned i = 0; i < HANDLE_CHUNKS; i++)
		atomic_store(&to->chunk[i], atomic_load(&from->chunk[i]));
	pthread_mutex_unlock(&from->lock);
	for (uint32_t i = 0; i < to->used; i++) {
		uint64_t handle = handle_at_index(to, i);
		struct library *l = handle ? handle_get(to, handle, HANDLE_CUlibrary) : NULL;
		if (!l)
			continue;
		library_carry(l, former);
		library_put(l);
	}
}

/* The library of a handle, loaded, with a reference; NULL: *why. */
static struct library *library_get_loaded(CUlibrary handle, CUresult *why)
{
	struct library *l = library_get(handle);

	*why = CUDA_ERROR_INVALID_HANDLE;
	if (!l)
		return NULL;
	*why = atomic_load_explicit(&l->id, memory_order_acquire) ? CUDA_SUCCESS : library_load(l);
	if (*why) {
		library_put(l);
		return NULL;
	}
	return l;
}

/* A lazy library is loaded later, when the log buffers of the application may be gone. */
static void library_keep_options(struct library *l, const struct jit_options *o, bool lazy)
{
	for (unsigned i = 0; i < o->count && l->noptions < WIRE_JIT_OPTIONS; i++) {
		CUjit_option x = o->option[i];
		if (lazy && x >= CU_JIT_INFO_LOG_BUFFER && x <= CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			continue;
		l->option[l->noptions] = x;
		l->value[l->noptions++] = o->value[i];
	}
}

static CUresult library_create(CUlibrary *library, struct image *im, void *file, const struct jit_options *o, bool lazy)
{
	struct library *l = calloc(1, sizeof *l);
	CUresult r = CUDA_SUCCESS;

	if (l) {
		l->handle =
			handle_create(&client->code->libraries, HANDLE_CUlibrary, l, library_destroy) | CLIENT_HANDLE;
		pthread_mutex_init(&l->lock, NULL);
	}
	if (!l || l->handle == CLIENT_HANDLE) {
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
	library_keep_options(l, o, lazy);
	if (!lazy)
		r = library_load(l);
	for (unsigned i = 0; i < l->noptions && !lazy; i++)
		o->value[i] = l->value[i]; /* log sizes and times */
	if (r)
		handle_close(&client->code->libraries, l->handle & ~CLIENT_HANDLE, HANDLE_CUlibrary);
	else
		*library = (CUlibrary)(uintptr_t)l->handle;
	return r;
}

static bool library_options_lazy(CUlibraryOption *option, void **value, unsigned n, CUresult *why)
{
	bool lazy = false;

	*why = CUDA_SUCCESS;
	for (unsigned i = 0; i < n; i++) {
		if (option[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
			lazy = value && value[i];
		else
			*why = CUDA_ERROR_NOT_SUPPORTED; /* host functions cannot run where the device is */
	}
	return lazy;
}

CUresult remote_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit, void **jit_values,
	unsigned int njit, CUlibraryOption *options, void **values, unsigned int n)
{
	struct jit_options o = {njit, jit, jit_values};
	struct image im;
	CUresult r;

	if (!library || !code || (njit && (!jit || !jit_values)) || (n && !options))
		return CUDA_ERROR_INVALID_VALUE;
	bool lazy = library_options_lazy(options, values, n, &r);
	if (r)
		return r;
	if (image_init_local(&im, code))
		return CUDA_ERROR_INVALID_IMAGE;
	return library_create(library, &im, NULL, &o, lazy);
}

CUresult remote_cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit, void **jit_values,
	unsigned int njit, CUlibraryOption *options, void **values, unsigned int n)
{
	struct jit_options o = {njit, jit, jit_values};
	struct image im;
	void *bytes;
	size_t size;
	CUresult r;

	if (!library || (njit && (!jit || !jit_values)) || (n && !options))
		return CUDA_ERROR_INVALID_VALUE;
	library_options_lazy(options, values, n, &r);
	if (!r)
		r = file_read(path, &bytes, &size);
	if (r)
		return r;
	if (!size || image_sniff(bytes, size) == IMAGE_WRAPPER || image_init(&im, bytes, size)) {
		free(bytes);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	return library_create(library, &im, bytes, &o, false);
}

CUresult remote_cuLibraryUnload(CUlibrary handle)
{
	struct library *l = library_get(handle);
	CUresult r = CUDA_SUCCESS;

	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!handle_close(&client->code->libraries, l->handle & ~CLIENT_HANDLE, HANDLE_CUlibrary)) {
		library_put(l);
		return CUDA_ERROR_INVALID_HANDLE;
	}
	functions_drop(&l->kernels);
	globals_drop(&l->globals);
	globals_drop(&l->managed);
	if (l->id)
		r = call_cuLibraryUnload(library_server_handle(l));
	library_put(l);
	return r;
}

CUresult remote_cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name)
{
	CUresult r;
	struct library *l = kernel && name ? library_get_loaded(handle, &r) : NULL;

	if (!l)
		return kernel && name ? r : CUDA_ERROR_INVALID_VALUE;
	r = call_cuLibraryGetKernel(kernel, library_server_handle(l), name);
	if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
		image_explain_mismatch(&l->image);
	if (!r)
		r = function_note_name((uintptr_t)*kernel, name, l->handle, l->silent, &l->kernels);
	library_put(l);
	return r;
}

CUresult remote_cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle)
{
	CUresult r;
	struct library *l = library_get_loaded(handle, &r);

	if (!l)
		return r;
	r = call_cuLibraryGetKernelCount(count, library_server_handle(l));
	library_put(l);
	return r;
}

CUresult remote_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary handle)
{
	CUresult r;
	struct library *l = library_get_loaded(handle, &r);

	if (!l)
		return r;
	r = call_cuLibraryEnumerateKernels(kernels, n, library_server_handle(l));
	for (unsigned i = 0; i < n && !r; i++)
		if (kernels[i])
			r = function_note_name((uintptr_t)kernels[i], NULL, l->handle, l->silent, &l->kernels);
	library_put(l);
	return r;
}

CUresult remote_cuLibraryGetModule(CUmodule *module, CUlibrary handle)
{
	CUresult r;
	struct library *l = library_get_loaded(handle, &r);

	if (!l)
		return r;
	r = call_cuLibraryGetModule(module, library_server_handle(l));
	library_put(l);
	return r;
}

static CUresult library_ask_global(CUdeviceptr *address, size_t *size, uint64_t owner, const char *name)
{
	return call_cuLibraryGetGlobal(address, size, (CUlibrary)(uintptr_t)owner, name);
}

/* The address of a variable differs between contexts: it is kept only if there is a single primary context. */
CUresult remote_cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name)
{
	CUresult r;
	struct library *l = library_get_loaded(handle, &r);

	if (!l)
		return r;
	if (client->devices->count == 1 && context_current() && context_current()->primary)
		r = global_find(&l->globals, false, l->id, name, address, size, library_ask_global);
	else
		r = global_note(call_cuLibraryGetGlobal(address, size, library_server_handle(l), name), address, size);
	library_put(l);
	return r;
}

/* A managed variable has one address in all contexts, and the host may touch it (mirror.c). */
CUresult remote_cuLibraryGetManaged(CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name)
{
	CUresult r;
	struct library *l = library_get_loaded(handle, &r);

	if (!l)
		return r;
	r = global_find(&l->managed, true, l->id, name, address, size, library_ask_managed);
	library_put(l);
	return r;
}

CUresult remote_cuLibraryGetUnifiedFunction(void **f, CUlibrary handle, const char *name)
{
	struct library *l = library_get(handle);

	if (!f || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	library_put(l);
	return CUDA_ERROR_NOT_FOUND; /* host and device do not share functions */
}

CUresult remote_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	struct function *f = function_find_or_create((uintptr_t)kernel);

	if (!library)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f || !f->owner)
		return CUDA_ERROR_INVALID_HANDLE;
	*library = (CUlibrary)(uintptr_t)f->owner;
	return CUDA_SUCCESS;
}
