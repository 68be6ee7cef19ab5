/*
 * Functions that cuModuleEnumerateFunctions returns: they have the parameters of their own module, also if the driver
 * gives a new function the handle of one that was unloaded, as a GPU's driver does.
 */
#include "application.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

static const char *const texts[] = {
	HEAD ".visible .entry one(.param .u64 p) { .reg .b64 %rd; .reg .b32 %r; ld.param.u64 %rd, [p]; mov.u32 %r, 1;\n"
	     "  st.global.u32 [%rd], %r; ret; }\n",
	HEAD ".visible .entry two(.param .u32 v, .param .u64 p) { .reg .b64 %rd; .reg .b32 %r; ld.param.u64 %rd, [p];\n"
	     "  ld.param.u32 %r, [v]; st.global.u32 [%rd], %r; ret; }\n",
};

int main(void)
{
	CUdeviceptr word = 0;
	size_t offset, size;

	check_start();
	OK(cuMemAlloc_v2(&word, 4));
	for (unsigned i = 0; i < 60 && !failures; i++) {
		unsigned which = i % 2, value = 100 + i, got = 0;
		void *params[2][2] = {{&word}, {&value, &word}};
		CUfunction f = NULL;
		CUmodule module;

		OK(cuModuleLoadData(&module, texts[which]));
		OK(cuModuleEnumerateFunctions(&f, 1, module));
		OK(cuFuncLoad(f));
		CHECK_EQ(cuFuncGetParamInfo(f, 1, &offset, &size), which ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
		OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params[which], NULL));
		OK(cuMemcpyDtoH_v2(&got, word, 4));
		if (!getenv("NO_RESULTS"))
			CHECK_EQ(got, which ? value : 1);
		OK(cuModuleUnload(module));
	}
	OK(cuMemFree_v2(word));
	printf("enumerated functions: %s\n", failures ? "FAILED" : "passed");
	return RESULT();
}
