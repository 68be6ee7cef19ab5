/*
 * cuLink* on the CPU device links PTX texts, fatbins, objects and archives into an image. The loaders accept the image in
 * the linker's memory and as a copy. Errors have CUDA's code, and the error log names the symbol or the input.
 */
#include <stdlib.h>
#include <string.h>

#include "test/check.h"
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "image/image.h"

#define HEAD "\n.version 7.0\n.target sm_70\n.address_size 64\n"

static const char kernel[] = HEAD ".extern .func (.param .b32 r) triple (.param .b32 a);\n"
				  ".extern .global .u32 bias;\n"
				  ".visible .entry k(.param .u64 out) {\n"
				  ".reg .b64 d; .reg .b32 x, y; .param .b32 a; .param .b32 b;\n"
				  "ld.param.u64 d, [out]; ld.global.u32 x, [bias];\n"
				  "st.param.b32 [a], x; call (b), triple, (a); ld.param.b32 y, [b];\n"
				  "st.global.u32 [d], y; ret; }\n";
static const char library[] = HEAD ".visible .global .u32 bias = 14;\n"
				   ".visible .func (.param .b32 r) triple (.param .b32 a) {\n"
				   ".reg .b32 x; ld.param.b32 x, [a]; mul.lo.u32 x, x, 3;\n"
				   "st.param.b32 [r], x; ret; }\n";

static char log_text[512];
static void *values[3];

static CUlinkState start(void)
{
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME};
	CUlinkState l = NULL;

	values[0] = log_text;
	values[1] = (void *)sizeof log_text;
	OK(cuLinkCreate_v2(3, options, values, &l));
	return l;
}

static CUresult add(CUlinkState l, CUjitInputType type, const void *data, size_t size)
{
	return cuLinkAddData_v2(l, type, (void *)data, size, "part", 0, NULL, NULL);
}

static CUresult add_text(CUlinkState l, const char *text)
{
	return add(l, CU_JIT_INPUT_PTX, text, strlen(text) + 1);
}

/* Load the image, run the kernel k and return its result. */
static int result(const void *image)
{
	CUdeviceptr d = 0;
	CUfunction f = NULL;
	CUmodule m = NULL;
	unsigned got = 0;
	void *params[] = {&d};

	OK(cuModuleLoadDataEx(&m, image, 0, NULL, NULL));
	OK(cuModuleGetFunction(&f, m, "k"));
	OK(cuMemAlloc_v2(&d, 4));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH_v2(&got, d, 4));
	OK(cuMemFree_v2(d));
	OK(cuModuleUnload(m));
	return (int)got;
}

static void texts(void)
{
	CUlinkState l = start(), again = start();
	CUlibrary lib = NULL;
	void *image = NULL, *copy;
	size_t size = 0;
	float ms;

	OK(add_text(l, kernel));
	OK(add_text(l, library));
	OK(cuLinkComplete(l, &image, &size));
	memcpy(&ms, &values[2], sizeof ms);
	CHECK(ms >= 0);
	CHECK_EQ(result(image), 42);
	copy = malloc(size);
	memcpy(copy, image, size);
	/* A linked image can be the input of another link. */
	OK(add(again, CU_JIT_INPUT_CUBIN, copy, size));
	OK(cuLinkDestroy(l));
	CHECK_EQ(cuLinkDestroy(l), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(result(copy), 42);
	OK(cuLibraryLoadData(&lib, copy, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryUnload(lib));
	free(copy);
	OK(add_text(again, HEAD ".visible .entry more() { ret; }"));
	OK(cuLinkComplete(again, &image, NULL));
	CHECK_EQ(result(image), 42);
	CHECK_EQ(add_text(again, library), CUDA_ERROR_INVALID_VALUE);
	OK(cuLinkDestroy(again));
}

static void fails(const char *a, const char *b, CUresult want, const char *word)
{
	CUlinkState l = start();
	void *image = NULL;
	CUresult r = add_text(l, a);

	if (!r && b)
		r = add_text(l, b);
	if (!r)
		r = cuLinkComplete(l, &image, NULL);
	CHECK_EQ(r, want);
	if (!strstr(log_text, word))
		printf("log: %s\n", log_text);
	CHECK(strstr(log_text, word) != NULL);
	CHECK_EQ((size_t)values[1], strlen(log_text) + 1);
	OK(cuLinkDestroy(l));
}

static void errors(void)
{
	CUlinkState l = start();
	void *image;
	CUmodule m;

	fails(kernel, NULL, CUDA_ERROR_INVALID_PTX, "undefined reference to 'triple'");
	fails(kernel, NULL, CUDA_ERROR_INVALID_PTX, "undefined reference to 'bias'");
	fails(library, library, CUDA_ERROR_INVALID_PTX, "multiple definition");
	fails(HEAD ".visible .entry k() { nonsense; ret; }", NULL, CUDA_ERROR_INVALID_PTX, "nonsense");
	fails("no text of ours", NULL, CUDA_ERROR_INVALID_PTX, "part");
	CHECK_EQ(cuModuleLoadData(&m, kernel), CUDA_ERROR_INVALID_PTX);
	CHECK_EQ(add(l, CU_JIT_INPUT_CUBIN, "hello", 5), CUDA_ERROR_INVALID_IMAGE);
	CHECK_EQ(add(l, CU_JIT_INPUT_OBJECT, "hello", 5), CUDA_ERROR_INVALID_IMAGE);
	CHECK_EQ(add(l, CU_JIT_INPUT_NVVM, "hello", 5), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQ(add(l, 17, "hello", 5), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(add(l, CU_JIT_INPUT_PTX, NULL, 5), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuLinkAddFile_v2(l, CU_JIT_INPUT_PTX, "/nowhere/x.ptx", 0, NULL, NULL), CUDA_ERROR_FILE_NOT_FOUND);
	CHECK_EQ(cuLinkComplete(l, &image, NULL), CUDA_ERROR_INVALID_IMAGE);
	CHECK_EQ(cuLinkComplete(NULL, &image, NULL), CUDA_ERROR_INVALID_HANDLE);
	OK(cuLinkDestroy(l));
}

/* Link the kernel with the files named on the command line, which nvcc produced. */
static int files(int n, char **names)
{
	CUlinkState l = start();
	void *image;

	OK(add_text(l, kernel));
	for (int i = 0; i < n; i++) {
		const char *dot = strrchr(names[i], '.');
		CUjitInputType type = !strcmp(dot, ".o")        ? CU_JIT_INPUT_OBJECT
				      : !strcmp(dot, ".a")      ? CU_JIT_INPUT_LIBRARY
				      : !strcmp(dot, ".fatbin") ? CU_JIT_INPUT_FATBINARY
				      : !strcmp(dot, ".cubin")  ? CU_JIT_INPUT_CUBIN
								: CU_JIT_INPUT_PTX;

		CUresult r = cuLinkAddFile_v2(l, type, names[i], 0, NULL, NULL);
		CHECK_EQ(r, type == CU_JIT_INPUT_CUBIN ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_SUCCESS);
		if (type == CU_JIT_INPUT_CUBIN)
			return RESULT();
	}
	OK(cuLinkComplete(l, &image, NULL));
	CHECK_EQ(result(image), 42);
	OK(cuLinkDestroy(l));
	return RESULT();
}

/* Parse an image set as untrusted input: truncated at every length, with the middle byte inverted. */
static void hostile(void)
{
	struct image_span parts[] = {{kernel, sizeof kernel - 1}, {library, sizeof library - 1}};
	struct image image;
	void *set;
	size_t size;

	CHECK_EQ(image_set_write(parts, 2, &set, &size), 0);
	for (size_t i = 1; i <= size; i++) {
		unsigned char *cut = malloc(i);
		struct image_iter it;
		struct image_entry e;

		memcpy(cut, set, i);
		cut[i / 2] ^= 0xff;
		if (!image_init(&image, cut, i)) {
			for (unsigned p = 0; p < image.nparts; p++)
				for (image_iter_init(&it, &image, p); image_next(&it, &e);)
					;
			image_finish(&image);
		}
		free(cut);
	}
	free(set);
}

int main(int argc, char **argv)
{
	CUcontext ctx;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	if (argc > 1)
		return files(argc - 1, argv + 1);
	texts();
	errors();
	hostile();
	return RESULT();
}
