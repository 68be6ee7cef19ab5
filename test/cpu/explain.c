/*
 * Messages for code that cannot run.  A kernel with an unsupported instruction: the launch fails, and the message names
 * the instruction.  An image without code for the device: loading fails, and the message says what the image contains
 * and what to do.  A kernel that leaves its memory: the message names the allocation, the distance and the line.
 */
#include "test/cpu/device.h"
#include "test/image/make.h"

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			   ".visible .entry k()\n{\n"
			   ".reg .b64 %d; .reg .b32 %r; multimem.red.relaxed.gpu.global.add.u32 [%d], %r;\n"
			   "ret; }\n";

static void no_binary(void)
{
	static struct bytes cubin, b;
	size_t fatbin = make_fatbin(&b);
	CUmodule m;

	make_cubin(&cubin, &(struct make_cubin){.sm = 90});
	make_entry(&b, &(struct make_entry){.kind = 2, .sm = 90, .data = cubin.data, .size = cubin.size});
	make_entry(&b, &(struct make_entry){.kind = 2, .sm = 100, .data = cubin.data, .size = cubin.size});
	make_end(&b, fatbin);
	CHECK_EQ(cuModuleLoadData(&m, b.data), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

/* Kernels that leave their memory, as nvcc -lineinfo compiles them. */
static const char faulty[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			     ".visible .entry past(.param .u64 p)\n{\n"
			     ".reg .b64 %a; ld.param.u64 %a, [p];\n"
			     ".loc 1 42 7\n"
			     "st.global.u32 [%a+4100], 1;\n"
			     "ret; }\n"
			     ".visible .entry before(.param .u64 p)\n{\n"
			     ".reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a+-8], 1; ret; }\n"
			     ".visible .entry shared(.param .u64 p)\n{\n"
			     ".shared .u32 s[4]; .reg .b32 %r; mov.u32 %r, s; st.shared.u32 [%r+4096], 1; ret; }\n"
			     ".visible .entry misaligned(.param .u64 p)\n{\n"
			     ".reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a+2], 1; ret; }\n"
			     ".file 1 \"rows.cu\"\n";

static void leave_memory(const char *name)
{
	CUfunction f = device_kernel(faulty, name);
	CUdeviceptr p = 0;
	void *args[] = {&p};

	OK(cuMemAlloc_v2(&p, 4096));
	OK(device_launch(f, 1, 1, NULL, args));
	CHECK_EQ(cuCtxSynchronize(),
		!strcmp(name, "misaligned") ? CUDA_ERROR_MISALIGNED_ADDRESS : CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* explain [image|past|before|shared|misaligned]: one failure per run. */
int main(int argc, char **argv)
{
	CUfunction f;
	CUresult r;

	device_start();
	if (argc > 1) {
		if (!strcmp(argv[1], "image"))
			no_binary();
		else
			leave_memory(argv[1]);
		return RESULT();
	}
	f = device_kernel(text, "k");
	r = device_launch(f, 1, 32, NULL, NULL);
	if (!r)
		r = cuCtxSynchronize();
	CHECK_EQ(r, CUDA_ERROR_NOT_SUPPORTED);
	return RESULT();
}
