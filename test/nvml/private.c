/*
 * The private table that nvidia-smi asks for: refused under any other name, every place can be called, and those that
 * are known answer what the public calls do.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi/cuda.h"
#include "abi/nvml.h"
#include "gen/cuda_protos.h"
#include "test/check.h"

struct entry {
	nvmlProcessDetail_v1_t detail;
	char name[4096];
};

typedef nvmlReturn_t (*any_fn)(uintptr_t, void *, void *, uintptr_t);

int main(void)
{
	static const unsigned char id[16] = "\xc4\xfe\x3e\x6c\xc9\x8f\x6c\x4e\xa3\x27\xee\x69\x6e\x12\xf7\xc4";
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	nvmlReturn_t (*init)(void), (*get)(const void **, const void *), (*handle)(unsigned, nvmlDevice_t *);
	const void *table = &table;
	nvmlDevice_t d = NULL, e = NULL;
	CUcontext context;
	unsigned n, value;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	*(void **)&get = dlsym(library, "nvmlInternalGetExportTable");
	*(void **)&handle = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
	CHECK_EQ(get(&table, id), NVML_ERROR_UNINITIALIZED);
	CHECK_EQ(init(), 0);
	CHECK_EQ(get(&table, "0123456789abcdef"), NVML_ERROR_FUNCTION_NOT_FOUND);
	CHECK(!table);
	CHECK_EQ(get(NULL, id), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(get(&table, NULL), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(get(&table, id), 0);
	CHECK_EQ(handle(0, &d), 0);
	if (!table || !d)
		return 1;

	CHECK_EQ(cuInit(0), 0);
	CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), 0);
	const uintptr_t *word = table;
	CHECK(word[0] > 648);
	CHECK_EQ(((any_fn)word[81])(0, &e, (void *)0x22, 0), 0);
	CHECK(e == d);
	CHECK_EQ(((any_fn)word[81])(77, &e, (void *)0x22, 0), NVML_ERROR_INVALID_ARGUMENT);
	struct entry *list = calloc(250, sizeof *list);
	for (unsigned i = 213; i <= 215; i++) {
		bool ours = false;

		n = 250;
		CHECK_EQ(((any_fn)word[i])((uintptr_t)d, &n, list, 0), 0);
		CHECK(n < 250);
		for (unsigned k = 0; k < n; k++)
			ours |= list[k].detail.pid == (unsigned)getpid() && strstr(list[k].name, "private");
		CHECK_EQ(ours, i == 213);
		CHECK_EQ(((any_fn)word[i])(1, &n, list, 0), NVML_ERROR_INVALID_ARGUMENT);
		CHECK_EQ(((any_fn)word[i])((uintptr_t)d, NULL, list, 0), NVML_ERROR_INVALID_ARGUMENT);
	}
	CHECK_EQ(((any_fn)word[230])((uintptr_t)d, &value, NULL, 0), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(((any_fn)word[249])((uintptr_t)d, &value, NULL, 0), NVML_ERROR_NOT_SUPPORTED);
	for (size_t i = 1; i < word[0] / sizeof *word; i++)
		if (i != 81 && (i < 213 || i > 215) && i != 230 && i != 249)
			CHECK_EQ(((any_fn)word[i])((uintptr_t)d, &n, list, 0), NVML_ERROR_NOT_SUPPORTED);
	free(list);
	return RESULT();
}
