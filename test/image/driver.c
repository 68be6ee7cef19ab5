/*
 * Compares with NVIDIA's driver: the entry selected for its device, the parameters, registers, shared and local memory
 * and launch bounds of each kernel, and the size of each variable.
 *
 *	driver image...		files made by nvcc; skipped without a driver or a device
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "abi/cuda.h"
#include "test/check.h"
#include "test/image/read_code.h"

static CUresult (*init)(unsigned);
static CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
static CUresult (*retain)(CUcontext *, CUdevice);
static CUresult (*set_current)(CUcontext);
static CUresult (*load)(CUmodule *, const void *);
static CUresult (*get_function)(CUfunction *, CUmodule, const char *);
static CUresult (*get_global)(CUdeviceptr *, size_t *, CUmodule, const char *);
static CUresult (*func_attribute)(int *, CUfunction_attribute, CUfunction);
static CUresult (*param_info)(CUfunction, size_t, size_t *, size_t *);

static bool resolve_driver(void)
{
	static const struct {
		const char *name;
		void *at;
	} names[] = {
		{"cuInit", &init},
		{"cuDeviceGetAttribute", &attribute},
		{"cuDevicePrimaryCtxRetain", &retain},
		{"cuCtxSetCurrent", &set_current},
		{"cuModuleLoadData", &load},
		{"cuModuleGetFunction", &get_function},
		{"cuModuleGetGlobal_v2", &get_global},
		{"cuFuncGetAttribute", &func_attribute},
		{"cuFuncGetParamInfo", &param_info},
	};
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; lib && i < sizeof names / sizeof *names; i++) {
		*(void **)names[i].at = dlsym(lib, names[i].name);
		if (!*(void **)names[i].at)
			return false;
	}
	return lib != NULL;
}

static int function_attribute_of(CUfunction f, CUfunction_attribute a)
{
	int v = -1;

	CHECK(func_attribute(&v, a, f) == CUDA_SUCCESS);
	return v;
}

static void expect_same(const char *kernel, const char *what, long ours, long theirs)
{
	if (ours == theirs)
		return;
	printf("%s: %s: %ld, but the driver says %ld\n", kernel, what, ours, theirs);
	failures++;
}

static void compare_params(const struct image_kernel *k, CUfunction f)
{
	size_t offset, size;

	for (uint32_t i = 0; i < k->nparams; i++) {
		CHECK(param_info(f, i, &offset, &size) == CUDA_SUCCESS);
		expect_same(k->name, "parameter's offset", k->params[i].offset, offset);
		expect_same(k->name, "parameter's size", k->params[i].size, size);
	}
	CHECK(param_info(f, k->nparams, &offset, &size) != CUDA_SUCCESS);
}

static void compare_kernel(const struct image_code *code, const struct image_kernel *k, CUmodule m)
{
	CUfunction f;

	CHECK(get_function(&f, m, k->name) == CUDA_SUCCESS);
	if (failures)
		return;
	compare_params(k, f);
	expect_same(k->name, "shared memory", k->shared_bytes,
		function_attribute_of(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
	if (k->max_threads[0])
		expect_same(k->name, "threads", k->max_threads[0] * k->max_threads[1] * k->max_threads[2],
			function_attribute_of(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
	if (code->kind == IMAGE_PTX) {
		expect_same(k->name, "PTX version", code->sm, function_attribute_of(f, CU_FUNC_ATTRIBUTE_PTX_VERSION));
		return;
	}
	expect_same(k->name, "registers", k->regs, function_attribute_of(f, CU_FUNC_ATTRIBUTE_NUM_REGS));
	expect_same(
		k->name, "local memory", k->local_bytes, function_attribute_of(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
	expect_same(
		k->name, "constants", code->const_bytes, function_attribute_of(f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
	expect_same(k->name, "architecture", code->sm, function_attribute_of(f, CU_FUNC_ATTRIBUTE_BINARY_VERSION));
}

static void compare_code(const struct image_code *code, CUmodule m)
{
	CUdeviceptr p;
	size_t size;

	for (size_t i = 0; i < code->nkernels; i++)
		compare_kernel(code, &code->kernels[i], m);
	for (size_t i = 0; i < code->nglobals; i++) {
		CHECK(get_global(&p, &size, m, code->globals[i].name) == CUDA_SUCCESS);
		expect_same(code->globals[i].name, "size", code->globals[i].size, size);
	}
}

static void compare_file(const char *path, const struct image_want *want)
{
	static char data[1 << 22];
	FILE *f = fopen(path, "rb");
	size_t size = f ? fread(data, 1, sizeof data - 1, f) : 0;
	struct image image;
	struct image_entry e;
	struct image_blob blob;
	struct read_code r;
	CUmodule m;
	int err;

	if (f)
		fclose(f);
	data[size] = 0;
	CHECK(image_init(&image, data, size) == 0);
	err = image_select(&image, 0, want, &e);
	expect_same(path, "can be loaded", !err, load(&m, data) == CUDA_SUCCESS);
	if (err || failures)
		return;
	CHECK(image_payload(&e, &blob) == 0);
	r = read_code(blob.data, blob.size);
	CHECK(r.code);
	if (!r.code)
		return (void)puts(r.error);
	compare_code(r.code, m);
	printf("%s: %s for sm_%u, %zu kernels, %zu variables\n", path, r.code->kind == IMAGE_PTX ? "PTX" : "cubin",
		r.code->sm, r.code->nkernels, r.code->nglobals);
	read_code_finish(&r);
	image_blob_finish(&blob);
}

int main(int argc, char **argv)
{
	struct image_want want = {.kinds = IMAGE_WANT_CUBIN | IMAGE_WANT_PTX};
	CUcontext context;
	int major, minor;

	if (!resolve_driver() || init(0) != CUDA_SUCCESS || retain(&context, 0) != CUDA_SUCCESS) {
		printf("skipped: no driver, or no device\n");
		return 77;
	}
	attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
	attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
	want.major = major;
	want.minor = minor;
	CHECK(set_current(context) == CUDA_SUCCESS);
	for (int i = 1; i < argc; i++)
		compare_file(argv[i], &want);
	return failures != 0;
}
