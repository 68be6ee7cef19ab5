/*
 * A driver-API program, linked to libcuda.so.1 or finding it by dlopen: loads PTX, adds two
 * vectors, checks every sum.  The same file runs natively, passed through, remotely and on the CPU.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "abi/cuda.h"
#include "gen/cuda_protos.h"

#define N 4096

static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"
	".reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<8>; .reg .f32 %f<4>;\n"
	"ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c]; ld.param.u32 %r1, [n];\n"
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;\n"
	"setp.ge.u32 %p, %r5, %r1; @%p bra done;\n"
	"mul.wide.u32 %d4, %r5, 4; add.u64 %d5, %d1, %d4; add.u64 %d6, %d2, %d4; add.u64 %d7, %d3, %d4;\n"
	"ld.global.f32 %f1, [%d5]; ld.global.f32 %f2, [%d6]; add.f32 %f3, %f1, %f2; st.global.f32 [%d7], %f3;\n"
	"done: ret;\n}\n";

static void must(CUresult r, const char *what)
{
	const char *name = "?";

	if (!r)
		return;
	cuGetErrorName(r, &name);
	printf("%s: %s\n", what, name);
	exit(1);
}
#define MUST(call) must(call, #call)

int main(void)
{
	static float a[N], b[N], c[N];
	CUdevice dev;
	CUcontext ctx;
	CUmodule mod;
	CUfunction f;
	CUdeviceptr da, db, dc;
	char name[128];
	int n = N, count = 0, version = 0;

	MUST(cuInit(0));
	MUST(cuDriverGetVersion(&version));
	MUST(cuDeviceGetCount(&count));
	MUST(cuDeviceGet(&dev, 0));
	MUST(cuDeviceGetName(name, sizeof name, dev));
	printf("%d device(s), CUDA %d.%d, the first is %s\n", count, version / 1000, version % 1000 / 10, name);
	MUST(cuCtxCreate_v2(&ctx, 0, dev));
	MUST(cuModuleLoadData(&mod, ptx));
	MUST(cuModuleGetFunction(&f, mod, "add"));
	for (int i = 0; i < N; i++) {
		a[i] = i;
		b[i] = 2 * i + 1;
	}
	MUST(cuMemAlloc_v2(&da, sizeof a));
	MUST(cuMemAlloc_v2(&db, sizeof b));
	MUST(cuMemAlloc_v2(&dc, sizeof c));
	MUST(cuMemcpyHtoD_v2(da, a, sizeof a));
	MUST(cuMemcpyHtoD_v2(db, b, sizeof b));
	MUST(cuMemsetD8_v2(dc, 0, sizeof c));
	void *args[] = {&da, &db, &dc, &n};
	MUST(cuLaunchKernel(f, N / 256, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
	MUST(cuCtxSynchronize());
	MUST(cuMemcpyDtoH_v2(c, dc, sizeof c));
	for (int i = 0; i < N && !getenv("NO_RESULTS"); i++) {
		if (c[i] != a[i] + b[i]) {
			printf("c[%d] is %g, not %g\n", i, c[i], a[i] + b[i]);
			return 1;
		}
	}
	MUST(cuMemFree_v2(da));
	MUST(cuMemFree_v2(db));
	MUST(cuMemFree_v2(dc));
	MUST(cuModuleUnload(mod));
	MUST(cuCtxDestroy_v2(ctx));
	puts(getenv("NO_RESULTS") ? "every call succeeded" : "4096 sums are correct");
	return 0;
}
