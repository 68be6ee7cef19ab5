/*
 * driver.h - helpers for driver API tests that run on any device, in this process or behind a server.
 *
 * results() tells whether the device runs kernels; the null device only records them (environment variable NO_RESULTS).
 */
#pragma once

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test/check.h"
#include "abi/cuda.h"
#include "gen/cuda_protos.h"

static const char ptx[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 7;\n"
	".visible .entry fill(.param .u64 p, .param .u32 value, .param .u32 n)\n"
	"{ .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [value]; ld.param.u32 %r2, [n];\n"
	"  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.s32 %r6, %r3, %r4, %r5;\n"
	"  setp.ge.u32 %p, %r6, %r2; @%p ret;\n"
	"  mul.wide.u32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r1; ret; }\n"
	".visible .entry add(.param .u64 p, .param .u32 value)\n"
	"{ .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
	"  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [value]; atom.global.add.u32 %r2, [%rd1], %r1; ret; }\n"
	".visible .entry bounded() .maxntid 64, 1, 1 { ret; }\n";

static CUcontext context;
static CUmodule module;
static CUfunction fill, add;

static inline int results(void)
{
	return !getenv("NO_RESULTS");
}

static inline void start(void)
{
	CUdevice dev;

	OK(cuInit(0));
	OK(cuDeviceGet(&dev, 0));
	OK(cuDevicePrimaryCtxRetain(&context, dev));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&fill, module, "fill"));
	OK(cuModuleGetFunction(&add, module, "add"));
}

/* Allocates zeroed memory; the memset has completed on return. */
static inline CUdeviceptr memory(size_t bytes)
{
	CUdeviceptr p = 0;

	OK(cuMemAlloc_v2(&p, bytes));
	OK(cuMemsetD8_v2(p, 0, bytes));
	OK(cuStreamSynchronize(NULL));
	return p;
}

static inline unsigned word_at(CUdeviceptr p)
{
	unsigned v = 0;

	OK(cuMemcpyDtoH_v2(&v, p, sizeof v));
	return v;
}
