/*
 * Messages for code that cannot run.  A kernel with an unsupported instruction: the launch fails, and the message names
 * the instruction.  An image without code for the device: loading fails, and the message says what the image contains
 * and what to do.
 */
#include "test/cpu/device.h"
#include "test/image/make.h"

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			   ".visible .entry k()\n{\n"
			   ".reg .b64 %d; .reg .b32 %r; multimem.red.relaxed.gpu.global.add.u32 [%d], %r;\n"
			   "ret; }\n";

static void no_binary(void)
{
	static const char newer[] = ".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry axpy() { ret; }\n";
	static struct bytes cubin, b;
	size_t fatbin = make_fatbin(&b);
	CUmodule m;

	make_cubin(&cubin, &(struct make_cubin){.sm = 90});
	make_entry(&b, &(struct make_entry){.kind = 2, .sm = 90, .data = cubin.data, .size = cubin.size});
	make_entry(&b, &(struct make_entry){.kind = 1, .sm = 120, .data = newer, .size = sizeof newer});
	make_end(&b, fatbin);
	CHECK_EQ(cuModuleLoadData(&m, b.data), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

/* explain [image]: one failure per run, because only the first one is reported to the user. */
int main(int argc, char **argv)
{
	CUfunction f;
	CUresult r;

	(void)argv;
	device_start();
	if (argc > 1) {
		no_binary();
		return RESULT();
	}
	f = device_kernel(text, "k");
	r = device_launch(f, 1, 32, NULL, NULL);
	if (!r)
		r = cuCtxSynchronize();
	CHECK_EQ(r, CUDA_ERROR_NOT_SUPPORTED);
	return RESULT();
}
