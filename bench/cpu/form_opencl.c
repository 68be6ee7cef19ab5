/* The OpenCL form: PoCL through libOpenCL.so.1, whose few functions are declared here. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { CL_CPU = 2, CL_PLATFORM_NAME = 0x902, CL_BUILD_LOG = 0x1183, CL_READ_WRITE = 1 };

static struct {
	int (*platforms)(uint32_t, void **, uint32_t *);
	int (*platform_info)(void *, uint32_t, size_t, void *, size_t *);
	int (*devices)(void *, uint64_t, uint32_t, void **, uint32_t *);
	void *(*context)(const intptr_t *, uint32_t, void **, void *, void *, int *);
	void *(*queue)(void *, void *, uint64_t, int *);
	void *(*program)(void *, uint32_t, const char **, const size_t *, int *);
	int (*build)(void *, uint32_t, void **, const char *, void *, void *);
	int (*build_info)(void *, void *, uint32_t, size_t, void *, size_t *);
	void *(*kernel)(void *, const char *, int *);
	int (*release_kernel)(void *);
	int (*argument)(void *, uint32_t, size_t, const void *);
	void *(*buffer)(void *, uint64_t, size_t, void *, int *);
	int (*release_buffer)(void *);
	int (*write)(void *, void *, uint32_t, size_t, size_t, const void *, uint32_t, void *, void *);
	int (*read)(void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *, void *);
	int (*enqueue)(
		void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, void *, void *);
	int (*finish)(void *);
} cl;

static void *device, *context, *queue, *program, *memory[MAX_BUFFERS];

/* Kernels by name: creating one takes longer than a small launch. */
static struct {
	const char *name;
	void *kernel;
} kernels[32];

static bool opencl_find(void *lib)
{
	const struct {
		const char *name;
		void *fn;
	} functions[] = {{"clGetPlatformIDs", &cl.platforms}, {"clGetPlatformInfo", &cl.platform_info},
		{"clGetDeviceIDs", &cl.devices}, {"clCreateContext", &cl.context}, {"clCreateCommandQueue", &cl.queue},
		{"clCreateProgramWithSource", &cl.program}, {"clBuildProgram", &cl.build},
		{"clGetProgramBuildInfo", &cl.build_info}, {"clCreateKernel", &cl.kernel},
		{"clReleaseKernel", &cl.release_kernel}, {"clSetKernelArg", &cl.argument},
		{"clCreateBuffer", &cl.buffer}, {"clReleaseMemObject", &cl.release_buffer},
		{"clEnqueueWriteBuffer", &cl.write}, {"clEnqueueReadBuffer", &cl.read},
		{"clEnqueueNDRangeKernel", &cl.enqueue}, {"clFinish", &cl.finish}};

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *p = dlsym(lib, functions[i].name);

		if (!p)
			return false;
		*(void **)functions[i].fn = p;
	}
	return true;
}

static bool opencl_ok(const char *what, int e)
{
	if (e)
		fprintf(stderr, "%s: OpenCL error %d\n", what, e);
	return !e;
}

static bool opencl_device(void)
{
	void *platforms[8];
	uint32_t n = 0;
	char name[100];

	if (cl.platforms(8, platforms, &n))
		n = 0;
	for (uint32_t i = 0; i < n && i < 8; i++)
		if (!cl.platform_info(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL) &&
			!strcmp(name, "Portable Computing Language") &&
			!cl.devices(platforms[i], CL_CPU, 1, &device, NULL))
			return true;
	fprintf(stderr, "no PoCL device\n");
	return false;
}

static bool opencl_build(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;
	int e;

	if (!f || getdelim(&text, &size, 0, f) <= 0) {
		fprintf(stderr, "cannot read %s\n", path);
		return false;
	}
	fclose(f);
	program = cl.program(context, 1, (const char **)&text, NULL, &e);
	free(text);
	if (!opencl_ok("the program", e))
		return false;
	if (cl.build(program, 1, &device, "-cl-std=CL1.2", NULL, NULL)) {
		static char log[8192];

		cl.build_info(program, device, CL_BUILD_LOG, sizeof log, log, NULL);
		fprintf(stderr, "%s\n", log);
		return false;
	}
	return true;
}

static bool opencl_start(const char *kernels_file)
{
	void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
	int e;

	if (!lib || !opencl_find(lib)) {
		fprintf(stderr, "no libOpenCL.so.1\n");
		return false;
	}
	if (!opencl_device())
		return false;
	context = cl.context(NULL, 1, &device, NULL, NULL, &e);
	if (!opencl_ok("the context", e))
		return false;
	queue = cl.queue(context, device, 0, &e);
	return opencl_ok("the queue", e) && opencl_build(kernels_file);
}

static bool opencl_reset(const struct bench *b, unsigned n, void **host)
{
	for (unsigned i = 0; i < b->nbuffers; i++)
		if (!opencl_ok("a copy",
			    cl.write(queue, memory[i], 1, 0, buffer_size(&b->buffers[i], n), host[i], 0, NULL, NULL)))
			return false;
	return true;
}

static bool opencl_prepare(const struct bench *b, unsigned n, void **host)
{
	int e;

	for (unsigned i = 0; i < MAX_BUFFERS; i++) {
		if (memory[i])
			cl.release_buffer(memory[i]);
		memory[i] = NULL;
	}
	for (unsigned i = 0; i < b->nbuffers; i++) {
		memory[i] = cl.buffer(context, CL_READ_WRITE, buffer_size(&b->buffers[i], n), NULL, &e);
		if (!opencl_ok("memory", e))
			return false;
	}
	return opencl_reset(b, n, host);
}

static void *kernel_of(const char *name)
{
	unsigned i = 0;
	int e;

	while (kernels[i].name && strcmp(kernels[i].name, name))
		i++;
	if (!kernels[i].name) {
		kernels[i].kernel = cl.kernel(program, name, &e);
		if (!opencl_ok(name, e))
			return NULL;
		kernels[i].name = name;
	}
	return kernels[i].kernel;
}

static bool opencl_launch(const struct bench *b, unsigned n, const struct launch *l)
{
	void *k = kernel_of(l->kernel);
	size_t all[2] = {(size_t)l->grid[0] * l->block[0], (size_t)l->grid[1] * l->block[1]};
	size_t group[2] = {l->block[0], l->block[1]};
	uint32_t i = 0;
	int e = 0;

	if (!k)
		return false;
	for (; i < b->nbuffers; i++)
		e |= cl.argument(k, i, sizeof(void *), &memory[i]);
	e |= cl.argument(k, i++, 4, &n);
	for (unsigned x = 0; x < l->nextra; x++)
		e |= cl.argument(k, i++, 4, &l->extra[x]);
	return opencl_ok(l->kernel, e) &&
	       opencl_ok(l->kernel, cl.enqueue(queue, k, 2, NULL, all, group, 0, NULL, NULL));
}

static bool opencl_run(const struct bench *b, unsigned n)
{
	struct launch l;

	for (unsigned i = 0; b->launch(n, i, &l); i++)
		if (!opencl_launch(b, n, &l))
			return false;
	return opencl_ok(b->name, cl.finish(queue));
}

static bool opencl_fetch(const struct bench *b, unsigned n, void *out)
{
	return opencl_ok("a copy",
		cl.read(queue, memory[b->out], 1, 0, buffer_size(&b->buffers[b->out], n), out, 0, NULL, NULL));
}

const struct form form_opencl = {"PoCL", opencl_start, opencl_prepare, opencl_reset, opencl_run, opencl_fetch};
