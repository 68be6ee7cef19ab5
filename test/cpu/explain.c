/* A kernel with an instruction that the device does not run: the launch fails, and it is said which one it is. */
#include "test/cpu/device.h"

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry k()\n{\n"
	".reg .b64 %d; .reg .b32 %r; multimem.red.relaxed.gpu.global.add.u32 [%d], %r;\n"
	"ret; }\n";

int main(void)
{
	CUfunction f;
	CUresult r;

	device_start();
	f = device_kernel(text, "k");
	r = device_launch(f, 1, 32, NULL, NULL);
	if (!r)
		r = cuCtxSynchronize();
	CHECK_EQ(r, CUDA_ERROR_NOT_SUPPORTED);
	return RESULT();
}
