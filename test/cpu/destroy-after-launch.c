/*
 * Objects destroyed right after the launch call still exist when the kernel runs: a texture object, the module, the
 * stream.  New objects do not take their place meanwhile.
 */
#include <semaphore.h>
#include "test/cpu/device.h"

static const char text[] =
	PTX ".visible .entry fetch(.param .u64 to, .param .u64 tex)\n"
	    "{ .reg .u64 %a, %t; .reg .u32 %x, %r, %g, %b, %c; ld.param.u64 %a, [to]; ld.param.u64 %t, [tex];\n"
	    "mov.u32 %x, 3; tex.1d.v4.u32.s32 {%r, %g, %b, %c}, [%t, {%x}]; st.global.u32 [%a], %r; ret; }\n";

static sem_t gate;

static void wait_at_gate(void *arg)
{
	(void)arg;
	sem_wait(&gate);
}

static CUtexObject texture_of(CUdeviceptr data, size_t size)
{
	CUDA_RESOURCE_DESC res = {.resType = CU_RESOURCE_TYPE_LINEAR};
	CUDA_TEXTURE_DESC desc = {.flags = CU_TRSF_READ_AS_INTEGER};
	CUtexObject t = 0;

	res.res.linear.devPtr = data;
	res.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
	res.res.linear.numChannels = 1;
	res.res.linear.sizeInBytes = size;
	OK(cuTexObjectCreate(&t, &res, &desc, NULL));
	return t;
}

int main(void)
{
	CUcontext ctx = device_start();
	unsigned numbers[4] = {10, 20, 30, 40}, others[4] = {1, 2, 3, 4}, value = 0;
	CUDA_RESOURCE_DESC res;
	CUdeviceptr out, a, b;
	CUstream s;
	CUmodule m;
	CUfunction fetch;

	sem_init(&gate, 0, 0);
	OK(cuMemAlloc_v2(&out, 4));
	OK(cuMemAlloc_v2(&a, sizeof numbers));
	OK(cuMemAlloc_v2(&b, sizeof others));
	OK(cuMemcpyHtoD_v2(a, numbers, sizeof numbers));
	OK(cuMemcpyHtoD_v2(b, others, sizeof others));
	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetFunction(&fetch, m, "fetch"));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));

	CUtexObject t = texture_of(a, sizeof numbers);
	void *fetch_args[] = {&out, &t};
	OK(cuLaunchHostFunc(s, wait_at_gate, NULL));
	OK(device_launch(fetch, 1, 1, s, fetch_args));
	OK(cuTexObjectDestroy(t));
	CHECK_EQ(cuTexObjectDestroy(t), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuTexObjectGetResourceDesc(&res, t), CUDA_ERROR_INVALID_VALUE);
	CUtexObject u = texture_of(b, sizeof others);
	CHECK(u != t);
	OK(cuModuleUnload(m));
	OK(cuStreamDestroy_v2(s));
	sem_post(&gate);
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(&value, out, 4));
	CHECK_EQ(value, 40);

	/* Now the texture is gone: a kernel that uses its handle fails. */
	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetFunction(&fetch, m, "fetch"));
	OK(device_launch(fetch, 1, 1, NULL, fetch_args));
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(cuCtxDestroy_v2(ctx));
	return RESULT();
}
