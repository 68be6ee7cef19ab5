/* The CUDA form: PTX through the driver API of libcuda.so.1. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

typedef unsigned long long devptr;
static struct {
	int (*init)(unsigned);
	int (*retain)(void **, int);
	int (*set)(void *);
	int (*load)(void **, const void *, unsigned, int *, void **);
	int (*function)(void **, void *, const char *);
	int (*alloc)(devptr *, size_t);
	int (*release)(devptr);
	int (*to)(devptr, const void *, size_t);
	int (*from)(void *, devptr, size_t);
	int (*launch)(
		void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	int (*sync)(void);
	void *module;
	devptr memory[MAX_BUFFERS];
} cu;

static bool cuda_ok(const char *what, int e)
{
	if (e)
		fprintf(stderr, "%s: CUresult %d\n", what, e);
	return !e;
}

static bool cuda_find(void *lib)
{
	const struct {
		const char *name;
		void *fn;
	} functions[] = {{"cuInit", &cu.init}, {"cuDevicePrimaryCtxRetain", &cu.retain}, {"cuCtxSetCurrent", &cu.set},
		{"cuModuleLoadDataEx", &cu.load}, {"cuModuleGetFunction", &cu.function}, {"cuMemAlloc_v2", &cu.alloc},
		{"cuMemFree_v2", &cu.release}, {"cuMemcpyHtoD_v2", &cu.to}, {"cuMemcpyDtoH_v2", &cu.from},
		{"cuLaunchKernel", &cu.launch}, {"cuCtxSynchronize", &cu.sync}};

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *p = dlsym(lib, functions[i].name);

		if (!p)
			return false;
		*(void **)functions[i].fn = p;
	}
	return true;
}

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!f || getdelim(&text, &size, 0, f) <= 0) {
		fprintf(stderr, "cannot read %s\n", path);
		exit(1);
	}
	fclose(f);
	return text;
}

static bool cuda_start(const char *kernels)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW), *context;
	char *text;
	bool ok;

	if (!lib || !cuda_find(lib)) {
		fprintf(stderr, "no libcuda.so.1\n");
		return false;
	}
	if (!cuda_ok("cuInit", cu.init(0)) || !cuda_ok("the context", cu.retain(&context, 0)) || cu.set(context))
		return false;
	text = read_text(kernels);
	ok = cuda_ok(kernels, cu.load(&cu.module, text, 0, NULL, NULL));
	free(text);
	return ok;
}

static bool cuda_reset(const struct bench *b, unsigned n, void **host)
{
	for (unsigned i = 0; i < b->nbuffers; i++)
		if (!cuda_ok("a copy", cu.to(cu.memory[i], host[i], buffer_size(&b->buffers[i], n))))
			return false;
	return true;
}

static bool cuda_prepare(const struct bench *b, unsigned n, void **host)
{
	for (unsigned i = 0; i < MAX_BUFFERS; i++) {
		if (cu.memory[i])
			cu.release(cu.memory[i]);
		cu.memory[i] = 0;
	}
	for (unsigned i = 0; i < b->nbuffers; i++)
		if (!cuda_ok("memory", cu.alloc(&cu.memory[i], buffer_size(&b->buffers[i], n))))
			return false;
	return cuda_reset(b, n, host);
}

static bool cuda_run(const struct bench *b, unsigned n)
{
	struct launch l;

	for (unsigned i = 0; b->launch(n, i, &l); i++) {
		void *args[MAX_BUFFERS + 3], *function;
		unsigned k = 0;

		for (; k < b->nbuffers; k++)
			args[k] = &cu.memory[k];
		args[k++] = &n;
		for (unsigned e = 0; e < l.nextra; e++)
			args[k++] = &l.extra[e];
		if (!cuda_ok(l.kernel, cu.function(&function, cu.module, l.kernel)) ||
			!cuda_ok(l.kernel, cu.launch(function, l.grid[0], l.grid[1], 1, l.block[0], l.block[1], 1, 0,
						   NULL, args, NULL)))
			return false;
	}
	return cuda_ok(b->name, cu.sync());
}

static bool cuda_fetch(const struct bench *b, unsigned n, void *out)
{
	return cuda_ok("a copy", cu.from(out, cu.memory[b->out], buffer_size(&b->buffers[b->out], n)));
}

const struct form form_cuda = {"Gangway", cuda_start, cuda_prepare, cuda_reset, cuda_run, cuda_fetch};
