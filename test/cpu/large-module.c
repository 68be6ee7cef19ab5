/*
 * A module too large to be parsed at load time: the static shared and local memory of a kernel, also what its callees
 * need, are known when the application asks for them, and count against the limit of dynamic shared memory.
 */
#include "test/cpu/device.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE = 3 << 19 };

static const char head[] = ".version 8.0\n.target sm_80\n.address_size 64\n";
static const char tail[] = ".shared .align 16 .b8 pool[1024];\n"
			   ".func helper() { .reg .u32 %r; mov.u32 %r, pool; st.shared.u32 [%r], 7; ret; }\n"
			   ".visible .entry calls(.param .u64 out) {\n"
			   ".shared .align 4 .b8 own[32]; .local .align 8 .b8 frame[64]; .reg .u32 %r; .reg .u64 %d;\n"
			   "st.local.u32 [frame], 1; st.shared.u32 [own], 2; call helper; ld.shared.u32 %r, [pool];\n"
			   "ld.param.u64 %d, [out]; st.global.u32 [%d], %r; ret; }\n"
			   ".visible .entry broken() { .shared .b8 own[32]; no.such.instruction; }\n";

/* Blanks fill the module up to its size. */
static char *large_text(void)
{
	char *text = malloc(LARGE + 1), *end = text + LARGE - strlen(tail);

	memset(text, ' ', LARGE);
	memcpy(text, head, strlen(head));
	memcpy(end, tail, strlen(tail) + 1);
	return text;
}

static int attribute(CUfunction f, CUfunction_attribute a)
{
	int value = -1;

	OK(cuFuncGetAttribute(&value, a, f));
	return value;
}

int main(void)
{
	char *text = large_text();
	CUfunction calls, broken;
	CUdeviceptr out;
	uint32_t result = 0;
	CUmodule m;
	int blocks = 0;

	device_start();
	OK(cuModuleLoadData(&m, text));
	free(text);
	OK(cuModuleGetFunction(&calls, m, "calls"));
	OK(cuModuleGetFunction(&broken, m, "broken"));
	CHECK_EQ(attribute(calls, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 1056);
	CHECK_EQ(attribute(calls, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 64);
	CHECK_EQ(attribute(calls, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152 - 1056);
	CHECK_EQ(attribute(broken, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, calls, 32, 0));
	CHECK_EQ(blocks > 0, 1);

	OK(cuMemAlloc_v2(&out, 4));
	void *params[] = {&out};
	CHECK_EQ(cuLaunchKernel(calls, 1, 1, 1, 1, 1, 1, 49152, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuLaunchKernel(calls, 1, 1, 1, 1, 1, 1, 1024, NULL, params, NULL));
	OK(cuMemcpyDtoH_v2(&result, out, 4));
	CHECK_EQ(result, 7);
	return RESULT();
}
