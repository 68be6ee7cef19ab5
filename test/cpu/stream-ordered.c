/*
 * Stream-ordered memory: kernels may access an allocation until the stream reaches its free, whatever the host has
 * allocated since.  All rounds are enqueued behind a closed gate, so every freed block is pending when it is reused,
 * in one stream and several, with every reuse policy and release threshold.
 */
#include <semaphore.h>
#include "test/cpu/device.h"

/* fill(p, n, value): p[i] = value + i; check(p, n, value, bad): counts the others */
static const char text[] =
	PTX ".visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 v)\n"
	    "{ .reg .pred %q; .reg .b32 %r<8>; .reg .b64 %a, %o;\n"
	    "ld.param.u64 %a, [p]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [v];\n"
	    "mov.u32 %r3, %tid.x; mov.u32 %r4, %ntid.x;\n"
	    "L: setp.ge.u32 %q, %r3, %r1; @%q bra E; mul.wide.u32 %o, %r3, 4; add.u64 %o, %o, %a;\n"
	    "add.u32 %r5, %r2, %r3; st.global.u32 [%o], %r5; add.u32 %r3, %r3, %r4; bra L; E: ret; }\n"
	    ".visible .entry check(.param .u64 p, .param .u32 n, .param .u32 v, .param .u64 bad)\n"
	    "{ .reg .pred %q; .reg .b32 %r<8>; .reg .b64 %a, %o, %b;\n"
	    "ld.param.u64 %a, [p]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [v]; ld.param.u64 %b, [bad];\n"
	    "mov.u32 %r3, %tid.x; mov.u32 %r4, %ntid.x;\n"
	    "L: setp.ge.u32 %q, %r3, %r1; @%q bra E; mul.wide.u32 %o, %r3, 4; add.u64 %o, %o, %a;\n"
	    "add.u32 %r5, %r2, %r3; ld.global.u32 %r6, [%o]; setp.ne.u32 %q, %r5, %r6;\n"
	    "@%q red.global.add.u32 [%b], 1; add.u32 %r3, %r3, %r4; bra L; E: ret; }\n";

enum { ROUNDS = 200, STREAMS = 4 };

static sem_t gate;
static CUfunction fill, check;
static CUdeviceptr bad;

static void wait_at_gate(void *arg)
{
	(void)arg;
	sem_wait(&gate);
}

static void one_round(CUmemoryPool pool, CUstream s, unsigned n, unsigned value)
{
	CUdeviceptr p = 0;
	void *fill_args[] = {&p, &n, &value}, *check_args[] = {&p, &n, &value, &bad};

	if (pool)
		OK(cuMemAllocFromPoolAsync(&p, n * 4ul, pool, s));
	else
		OK(cuMemAllocAsync(&p, n * 4ul, s));
	OK(device_launch(fill, 1, 64, s, fill_args));
	OK(cuMemcpyDtoDAsync_v2(p, p, n * 4ul, s));
	OK(device_launch(check, 1, 64, s, check_args));
	OK(cuMemFreeAsync(p, s));
}

/* Sizes differ by a few bytes, so that many blocks have the same size and their allocations do not. */
static void many_rounds(CUmemoryPool pool, unsigned nstreams)
{
	CUstream streams[STREAMS];
	unsigned count = 1;

	for (unsigned i = 0; i < nstreams; i++) {
		OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		OK(cuLaunchHostFunc(streams[i], wait_at_gate, NULL));
	}
	for (unsigned r = 0; r < ROUNDS; r++)
		one_round(pool, streams[r % nstreams], 1 + r * 7919u % 700, r * 1000);
	for (unsigned i = 0; i < nstreams; i++)
		sem_post(&gate);
	for (unsigned i = 0; i < nstreams; i++) {
		OK(cuStreamSynchronize(streams[i]));
		OK(cuStreamDestroy_v2(streams[i]));
	}
	OK(cuMemcpyDtoH_v2(&count, bad, 4));
	CHECK_EQ(count, 0);
}

static CUmemoryPool pool_with(unsigned policies, unsigned long long threshold)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemoryPool p = NULL;

	OK(cuMemPoolCreate(&p, &props));
	for (int i = 0; i < 3; i++) {
		int on = policies >> i & 1;

		OK(cuMemPoolSetAttribute(
			p, (CUmemPool_attribute)(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES + i), &on));
	}
	OK(cuMemPoolSetAttribute(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	return p;
}

/* Once the stream has reached the free, the old size no longer counts: a kernel of the new owner may not exceed its own. */
static void bounds_are_kept(void)
{
	unsigned large = 250, small = 130, value = 0;
	CUdeviceptr a = 0, b = 0;
	CUstream s;
	void *args[] = {&b, &large, &value};

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(s, wait_at_gate, NULL));
	OK(cuMemAllocAsync(&a, large * 4, s));
	OK(cuMemFreeAsync(a, s));
	OK(cuMemAllocAsync(&b, small * 4, s));
	CHECK(a == b);
	sem_post(&gate);
	OK(cuStreamSynchronize(s));
	OK(device_launch(fill, 1, 64, s, args));
	CHECK_EQ(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
	device_start();
	sem_init(&gate, 0, 0);
	fill = device_kernel(text, "fill");
	check = device_kernel(text, "check");
	OK(cuMemAlloc_v2(&bad, 4));
	OK(cuMemsetD8_v2(bad, 0, 4));
	many_rounds(NULL, 1);
	many_rounds(NULL, STREAMS);
	for (unsigned policies = 0; policies < 8; policies++) {
		CUmemoryPool p = pool_with(policies, policies % 3 ? UINT64_MAX : 0);

		many_rounds(p, policies % 2 ? STREAMS : 1);
		OK(cuMemPoolDestroy(p));
	}
	bounds_are_kept();
	return RESULT();
}
