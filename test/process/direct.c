/*
 * A driver API program without a runtime: initialise, allocate, copy, check the bytes and launch. CMake builds the program
 * three times: linked with libcuda.so.1; with dlopen and dlsym; with dlopen and cuGetProcAddress.
 */
#include <dlfcn.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"
#include "test/check.h"
#include "test/process/launches.h"

#define FUNCTIONS(X) \
	X(cuInit, cuInit, 2000) \
	X(cuDriverGetVersion, cuDriverGetVersion, 2020) \
	X(cuDeviceGetCount, cuDeviceGetCount, 2000) \
	X(cuDeviceGet, cuDeviceGet, 2000) \
	X(cuDeviceGetName, cuDeviceGetName, 2000) \
	X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000) \
	X(cuDeviceTotalMem_v2, cuDeviceTotalMem, 3020) \
	X(cuCtxCreate_v2, cuCtxCreate, 3020) \
	X(cuCtxDestroy_v2, cuCtxDestroy, 4000) \
	X(cuCtxSynchronize, cuCtxSynchronize, 2000) \
	X(cuCtxGetCurrent, cuCtxGetCurrent, 4000) \
	X(cuMemAlloc_v2, cuMemAlloc, 3020) \
	X(cuMemFree_v2, cuMemFree, 3020) \
	X(cuMemcpyHtoD_v2, cuMemcpyHtoD, 3020) \
	X(cuMemcpyDtoH_v2, cuMemcpyDtoH, 3020) \
	X(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, 3020) \
	X(cuMemsetD32_v2, cuMemsetD32, 3020) \
	X(cuStreamCreate, cuStreamCreate, 2000) \
	X(cuStreamSynchronize, cuStreamSynchronize, 2000) \
	X(cuStreamDestroy_v2, cuStreamDestroy, 4000) \
	X(cuModuleLoadData, cuModuleLoadData, 2000) \
	X(cuModuleUnload, cuModuleUnload, 2000) \
	X(cuModuleGetFunction, cuModuleGetFunction, 2000) \
	X(cuModuleGetGlobal_v2, cuModuleGetGlobal, 3020) \
	X(cuLaunchKernel, cuLaunchKernel, 4000) \
	X(cuGetErrorName, cuGetErrorName, 6000)

#define POINTER(symbol, base, version) __typeof__(symbol) *symbol;
static struct {
	FUNCTIONS(POINTER)
} api;

#if defined(LINKED)

static void find_all(void)
{
#define FIND(symbol, base, version) api.symbol = symbol;
	FUNCTIONS(FIND)
}

#elif defined(OPENED)

static void find_all(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

#define FIND(symbol, base, version) \
	api.symbol = (__typeof__(api.symbol))dlsym(library, #symbol); \
	CHECK(api.symbol != NULL);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	else
		FUNCTIONS(FIND)
}

#else

static void find_all(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	__typeof__(cuGetProcAddress_v2) *find;
	CUdriverProcAddressQueryResult status;
	void *p;

#define FIND(symbol, base, version) \
	CHECK_EQ(find(#base, &p, version, 0, &status), CUDA_SUCCESS); \
	CHECK_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS); \
	api.symbol = (__typeof__(api.symbol))p;
	find = library ? (__typeof__(find))dlsym(library, "cuGetProcAddress_v2") : NULL;
	if (!find)
		fprintf(stderr, "%s\n", dlerror());
	else
		FUNCTIONS(FIND)
}

#endif

#define N 1000

static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".global .align 4 .u32 answer = 42;\n"
	".visible .entry scale(.param .u64 out, .param .u64 in, .param .f32 by, .param .u32 n)\n"
	"{\n"
	"	.reg .pred %p;\n	.reg .f32 %f<3>;\n	.reg .b32 %r<5>;\n	.reg .b64 %rd<6>;\n"
	"	ld.param.u64 %rd1, [out];\n	ld.param.u64 %rd2, [in];\n"
	"	ld.param.f32 %f1, [by];\n	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, %ctaid.x;\n	mov.u32 %r3, %ntid.x;\n	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r4, %r2, %r3, %r4;\n"
	"	setp.ge.s32 %p, %r4, %r1;\n	@%p bra DONE;\n"
	"	cvta.to.global.u64 %rd1, %rd1;\n	cvta.to.global.u64 %rd2, %rd2;\n"
	"	mul.wide.s32 %rd3, %r4, 4;\n	add.s64 %rd4, %rd2, %rd3;\n	add.s64 %rd5, %rd1, %rd3;\n"
	"	ld.global.f32 %f2, [%rd4];\n	mul.f32 %f2, %f2, %f1;\n	st.global.f32 [%rd5], %f2;\n"
	"DONE:\n	ret;\n}\n"
	".visible .entry sizes(.param .u8 a, .param .u16 b, .param .u32 c, .param .u64 d, .param .f64 e,\n"
	"	.param .align 4 .b8 f[12], .param .u64 out)\n"
	"{\n"
	"	.reg .pred %p;\n	.reg .b32 %r<6>;\n	.reg .b64 %rd<2>;\n"
	"	mov.u32 %r4, %ctaid.y;\n	mov.u32 %r5, %ctaid.z;\n	or.b32 %r4, %r4, %r5;\n"
	"	setp.ne.u32 %p, %r4, 0;\n	@%p ret;\n" /* Only one block writes: several blocks would race. */
	"	ld.param.u8 %r1, [a];\n	ld.param.u16 %r2, [b];\n	ld.param.u32 %r3, [f+8];\n"
	"	ld.param.u64 %rd1, [out];\n	cvta.to.global.u64 %rd1, %rd1;\n"
	"	add.u32 %r1, %r1, %r2;\n	add.u32 %r1, %r1, %r3;\n	st.global.u32 [%rd1], "
	"%r1;\n	ret;\n}\n";

static float host[N], back[N];

static void about_device(CUdevice dev)
{
	char name[128] = "";
	int version = 0, warp = 0, threads = 0;
	size_t bytes = 0;

	CHECK_EQ(api.cuDriverGetVersion(&version), 0);
	CHECK_EQ(api.cuDeviceGetName(name, sizeof name, dev), 0);
	CHECK_EQ(api.cuDeviceTotalMem_v2(&bytes, dev), 0);
	CHECK_EQ(api.cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev), 0);
	CHECK_EQ(api.cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, dev), 0);
	CHECK(version >= 12000 && name[0] && bytes > 1 << 20);
	CHECK_EQ(warp, 32);
	CHECK_EQ(threads, 1024);
	printf("device: %s, %zu MiB, driver %d\n", name, bytes >> 20, version);
}

static void memory(CUdeviceptr a, CUdeviceptr b, CUstream stream)
{
	for (int i = 0; i < N; i++)
		host[i] = i * 0.5f;
	CHECK_EQ(api.cuMemcpyHtoD_v2(a, host, sizeof host), 0);
	CHECK_EQ(api.cuMemsetD32_v2(b, 0x3f800000, N), 0);
	CHECK_EQ(api.cuMemcpyDtoH_v2(back, b, sizeof back), 0);
	CHECK(back[0] == 1.0f && back[N - 1] == 1.0f);
	CHECK_EQ(api.cuMemcpyDtoDAsync_v2(b, a, sizeof host, stream), 0);
	CHECK_EQ(api.cuStreamSynchronize(stream), 0);
	CHECK_EQ(api.cuMemcpyDtoH_v2(back, b, sizeof back), 0);
	CHECK(!memcmp(host, back, sizeof host));
	printf("memory: %zu bytes copied to the device and back\n", sizeof host);
}

static void scale(CUmodule module, CUdeviceptr a, CUdeviceptr b, CUstream stream)
{
	CUfunction f = NULL;
	struct {
		CUdeviceptr out, in;
		float by;
		int n;
	} p = {b, a, 3.0f, N};
	void *args[] = {&p.out, &p.in, &p.by, &p.n};

	CHECK_EQ(api.cuModuleGetFunction(&f, module, "scale"), 0);
	CHECK_EQ(api.cuLaunchKernel(f, (N + 127) / 128, 1, 1, 128, 1, 1, 0, stream, args, NULL), 0);
	expect_launch("scale", (N + 127) / 128, 1, 1, 128, 1, 1, &p, 24);
	CHECK_EQ(api.cuStreamSynchronize(stream), 0);
	CHECK_EQ(api.cuMemcpyDtoH_v2(back, b, sizeof back), 0);
	for (int i = 0; i < N && expect_results(); i++)
		CHECK(back[i] == host[i] * 3.0f);
}

/* Launch the same kernel twice: with an array of parameter pointers, and with one parameter buffer. */
static void sizes(CUmodule module, CUdeviceptr out)
{
	CUfunction f = NULL;
	struct {
		unsigned char a;
		unsigned short b;
		unsigned c;
		unsigned long long d;
		double e;
		unsigned f[3];
		CUdeviceptr out;
	} p;
	size_t size = sizeof p;
	unsigned result = 0;

	memset(&p, 0, sizeof p);
	p.a = 0x11, p.b = 0x2222, p.c = 0x33333333, p.d = 0x4444444444444444, p.e = 0.5, p.f[2] = 7, p.out = out;
	void *args[] = {&p.a, &p.b, &p.c, &p.d, &p.e, &p.f, &p.out};
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
	CHECK_EQ(api.cuModuleGetFunction(&f, module, "sizes"), 0);
	CHECK_EQ(api.cuLaunchKernel(f, 1, 2, 3, 1, 1, 1, 0, NULL, args, NULL), 0);
	expect_launch("sizes", 1, 2, 3, 1, 1, 1, &p, sizeof p);
	CHECK_EQ(api.cuLaunchKernel(f, 1, 1, 1, 1, 2, 3, 16, NULL, NULL, extra), 0);
	expect_launch("sizes", 1, 1, 1, 1, 2, 3, &p, sizeof p);
	CHECK_EQ(api.cuCtxSynchronize(), 0);
	CHECK_EQ(api.cuMemcpyDtoH_v2(&result, out, sizeof result), 0);
	if (expect_results())
		CHECK_EQ(result, 0x11 + 0x2222 + 7);
}

static void variable(CUmodule module)
{
	CUdeviceptr at = 0;
	size_t size = 0;
	unsigned value = 0;

	CHECK_EQ(api.cuModuleGetGlobal_v2(&at, &size, module, "answer"), 0);
	CHECK_EQ(size, 4);
	CHECK_EQ(api.cuMemcpyDtoH_v2(&value, at, sizeof value), 0);
	if (expect_results())
		CHECK_EQ(value, 42);
	value = 43;
	CHECK_EQ(api.cuMemcpyHtoD_v2(at, &value, sizeof value), 0);
	value = 0;
	CHECK_EQ(api.cuMemcpyDtoH_v2(&value, at, sizeof value), 0);
	CHECK_EQ(value, 43);
	CHECK_EQ(api.cuModuleGetGlobal_v2(&at, &size, module, "question"), CUDA_ERROR_NOT_FOUND);
}

int main(void)
{
	CUdevice dev = -1;
	CUcontext ctx = NULL, current = NULL;
	CUstream stream = NULL;
	CUmodule module = NULL;
	CUdeviceptr a = 0, b = 0;
	int count = 0;

	find_all();
	if (failures || !api.cuInit)
		return 1;
	CHECK_EQ(api.cuInit(0), 0);
	CHECK_EQ(api.cuDeviceGetCount(&count), 0);
	CHECK(count > 0);
	CHECK_EQ(api.cuDeviceGet(&dev, 0), 0);
	about_device(dev);
	CHECK_EQ(api.cuCtxCreate_v2(&ctx, 0, dev), 0);
	CHECK_EQ(api.cuCtxGetCurrent(&current), 0);
	CHECK(ctx && current == ctx);
	CHECK_EQ(api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0);
	CHECK_EQ(api.cuMemAlloc_v2(&a, sizeof host), 0);
	CHECK_EQ(api.cuMemAlloc_v2(&b, sizeof host), 0);
	memory(a, b, stream);
	CHECK_EQ(api.cuModuleLoadData(&module, ptx), 0);
	scale(module, a, b, stream);
	sizes(module, b);
	variable(module);
	CHECK_EQ(api.cuModuleUnload(module), 0);
	CHECK_EQ(api.cuStreamDestroy_v2(stream), 0);
	CHECK_EQ(api.cuMemFree_v2(a), 0);
	CHECK_EQ(api.cuMemFree_v2(b), 0);
	CHECK_EQ(api.cuCtxDestroy_v2(ctx), 0);
	failures += check_launches();
	return RESULT();
}
