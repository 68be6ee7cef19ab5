/* CUDA_LAUNCH_BLOCKING=1: a launch call returns when the kernel is complete, with its error; captures still work. */
#include "test/cpu/device.h"

static const char text[] =
	PTX ".visible .entry slow(.param .u64 to)\n"
	    "{ .reg .u64 %a; .reg .u32 %i; .reg .pred %p; ld.param.u64 %a, [to]; mov.u32 %i, 200000;\n"
	    "again: sub.u32 %i, %i, 1; setp.ne.u32 %p, %i, 0; @%p bra again; st.global.u32 [%a], 7; ret; }\n"
	    ".visible .entry bad(.param .u64 to)\n{ trap; ret; }\n";

int main(void)
{
	CUfunction slow, bad;
	CUstreamCaptureStatus status;
	CUgraphExec exec;
	CUgraph graph;
	CUdeviceptr cell = 0;
	unsigned value = 0;
	void *args[] = {&cell};
	CUstream s;

	device_start();
	slow = device_kernel(text, "slow");
	bad = device_kernel(text, "bad");
	OK(cuMemAlloc_v2(&cell, 4));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 5; i++) {
		OK(device_launch(slow, 1, 1, s, args));
		OK(cuStreamQuery(s));
	}
	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(device_launch(slow, 1, 1, s, args));
	OK(cuStreamIsCapturing(s, &status));
	CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(cuStreamEndCapture(s, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuMemsetD32Async(cell, 0, 1, s));
	OK(cuGraphLaunch(exec, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH_v2(&value, cell, 4));
	CHECK_EQ(value, 7);
	CHECK(device_launch(bad, 1, 1, s, args) != CUDA_SUCCESS);
	return RESULT();
}
