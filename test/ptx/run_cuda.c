/* Runs a spec file through the CUDA driver API. */
#include "run_image.h"
#include "spec.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long devptr;
static struct {
	int (*init)(unsigned);
	int (*retain)(void **, int);
	int (*reset)(int);
	int (*set)(void *);
	int (*load)(void **, const void *, unsigned, int *, void **);
	int (*unload)(void *);
	int (*function)(void **, void *, const char *);
	int (*alloc)(devptr *, size_t);
	int (*release)(devptr);
	int (*to)(devptr, const void *, size_t);
	int (*from)(void *, devptr, size_t);
	int (*launch)(
		void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	int (*sync)(void);
	int (*attribute)(int *, int, int);
	void *context;
} cu;

static bool find(void *lib, const char *name, void *fn)
{
	void *p = dlsym(lib, name);

	*(void **)fn = p;
	return p;
}

static bool start(void)
{
	static void *lib;

	if (cu.context)
		return cu.set(cu.context) == 0;
	lib = lib ? lib : dlopen("libcuda.so.1", RTLD_NOW);
	return lib && find(lib, "cuInit", &cu.init) && find(lib, "cuDevicePrimaryCtxRetain", &cu.retain) &&
	       find(lib, "cuDevicePrimaryCtxReset_v2", &cu.reset) && find(lib, "cuCtxSetCurrent", &cu.set) &&
	       find(lib, "cuModuleLoadDataEx", &cu.load) && find(lib, "cuModuleUnload", &cu.unload) &&
	       find(lib, "cuModuleGetFunction", &cu.function) && find(lib, "cuMemAlloc_v2", &cu.alloc) &&
	       find(lib, "cuMemFree_v2", &cu.release) && find(lib, "cuMemcpyHtoD_v2", &cu.to) &&
	       find(lib, "cuMemcpyDtoH_v2", &cu.from) && find(lib, "cuLaunchKernel", &cu.launch) &&
	       find(lib, "cuCtxSynchronize", &cu.sync) && find(lib, "cuDeviceGetAttribute", &cu.attribute) &&
	       cu.init(0) == 0 && cu.retain(&cu.context, 0) == 0 && cu.set(cu.context) == 0;
}

/* .target sm_100a and CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR. */
bool cuda_is_too_old(const struct spec *s)
{
	const char *target = strstr(s->text, "\n.target sm_");
	int wanted = target ? atoi(target + 12) : 0, major = 0, minor = 0;

	return start() && !cu.attribute(&major, 75, 0) && !cu.attribute(&minor, 76, 0) && wanted > 10 * major + minor;
}

/* CU_JIT_ERROR_LOG_BUFFER and its size. */
static int load(struct spec *s, void **module, char *message, size_t size)
{
	int options[] = {5, 6};
	void *values[] = {message, (void *)size};

	return cu.load(module, s->text, 2, options, values);
}

static int launch(struct spec *s, void *function)
{
	struct cuda_image images[MAX_ARGS] = {{0}};
	devptr mem[MAX_ARGS] = {0};
	void *params[MAX_ARGS];
	int r = 0;

	for (unsigned i = 0; i < s->nargs; i++) {
		struct argument *a = &s->args[i];

		params[i] = a->scalar ? (void *)a->v.bits : a->image.dims ? (void *)&images[i].handle : (void *)&mem[i];
		if (a->image.dims ? !cuda_image_make(a, &images[i])
				  : !a->scalar && (cu.alloc(&mem[i], a->bytes ? a->bytes : 1) ||
							  cu.to(mem[i], a->host, a->bytes)))
			return -2;
	}
	r = cu.launch(function, s->grid[0], s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2], s->shared,
		NULL, params, NULL);
	r = r ? r : cu.sync();
	for (unsigned i = 0; i < s->nargs; i++) {
		if (!r && mem[i])
			cu.from(s->args[i].host, mem[i], s->args[i].bytes);
		if (!r && images[i].handle)
			cuda_image_read(&s->args[i], &images[i]);
		if (mem[i])
			cu.release(mem[i]);
		cuda_image_free(&s->args[i], &images[i]);
	}
	return r;
}

int run_cuda(struct spec *s, char *message, size_t size)
{
	void *module = NULL, *function = NULL;
	int r;

	if (!start()) {
		snprintf(message, size, "no CUDA driver");
		return -2;
	}
	r = load(s, &module, message, size);
	if (r)
		return -1;
	r = cu.function(&function, module, s->kernel);
	r = r ? r : launch(s, function);
	cu.unload(module);
	if (r) { /* a fault is sticky: the next file needs a new context */
		cu.reset(0);
		cu.context = NULL;
		cu.retain(&cu.context, 0);
	}
	return r;
}
