/*
 * The private table that nvidia-smi asks for: it is refused under any other id, every slot can be called, and the
 * known slots return what the public functions return.
 *
 *	private [served]	served: a fake NVML of a vendor is behind a server (fake_vendor.c)
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
#include "gen/nvml_ops.h"
#include "test/check.h"

struct entry {
	nvmlProcessDetail_v1_t detail;
	char name[4096];
};

typedef nvmlReturn_t (*any_fn)(uintptr_t, void *, void *, uintptr_t);

static struct nvml_ops f;
static const uintptr_t *table_word;
static nvmlDevice_t d;

static nvmlReturn_t call(unsigned slot, uintptr_t a, void *b, uintptr_t c)
{
	return ((any_fn)table_word[slot])(a, b, (void *)c, 0);
}

static void look_up(void *library)
{
#define LOOK_UP(name) *(void **)&f.name = dlsym(library, #name)
	LOOK_UP(nvmlInit_v2), LOOK_UP(nvmlInternalGetExportTable), LOOK_UP(nvmlDeviceGetHandleByIndex_v2);
	LOOK_UP(nvmlDeviceGetPciInfo_v3), LOOK_UP(nvmlDeviceGetEnforcedPowerLimit),
		LOOK_UP(nvmlDeviceGetDriverModel_v2);
	LOOK_UP(nvmlDeviceGetGpuOperationMode), LOOK_UP(nvmlDeviceValidateInforom),
		LOOK_UP(nvmlDeviceGetAccountingPids);
	LOOK_UP(nvmlDeviceGetSupportedGraphicsClocks);
}

static bool open_table(void)
{
	static const unsigned char id[16] = "\xc4\xfe\x3e\x6c\xc9\x8f\x6c\x4e\xa3\x27\xee\x69\x6e\x12\xf7\xc4";
	const void *table = &table;

	CHECK_EQ(f.nvmlInternalGetExportTable(&table, id), NVML_ERROR_UNINITIALIZED);
	CHECK_EQ(f.nvmlInit_v2(), 0);
	CHECK_EQ(f.nvmlInternalGetExportTable(&table, "0123456789abcdef"), NVML_ERROR_FUNCTION_NOT_FOUND);
	CHECK(!table);
	CHECK_EQ(f.nvmlInternalGetExportTable(NULL, id), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(f.nvmlInternalGetExportTable(&table, NULL), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(f.nvmlInternalGetExportTable(&table, id), 0);
	CHECK_EQ(f.nvmlDeviceGetHandleByIndex_v2(0, &d), 0);
	table_word = table;
	return table && d;
}

static void check_identity(void)
{
	char text[34];
	nvmlPciInfo_t pci;

	CHECK_EQ(f.nvmlDeviceGetPciInfo_v3(d, &pci), 0);
	memset(text, '#', sizeof text);
	CHECK_EQ(call(81, 0, text, sizeof text), 0);
	CHECK(!strcmp(text, pci.busIdLegacy));
	CHECK_EQ(strlen(text), 12);
	CHECK_EQ(text[13], '#');
	CHECK_EQ(call(81, 0, text, 12), NVML_ERROR_INSUFFICIENT_SIZE);
	CHECK_EQ(call(81, 0, NULL, 34), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(call(81, 77, text, 34), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(((nvmlReturn_t(*)(const char *, const char *, const char *, ...))table_word[26])(
			 "%s%s", "stdout", "a line", 7),
		0);
}

static void check_processes(struct entry *list)
{
	unsigned n;

	for (unsigned i = 213; i <= 215; i++) {
		bool ours = false;

		n = 500;
		CHECK_EQ(call(i, (uintptr_t)d, &n, (uintptr_t)list), 0);
		CHECK(n < 500);
		for (unsigned k = 0; k < n; k++)
			ours |= list[k].detail.pid == (unsigned)getpid() && strstr(list[k].name, "private");
		CHECK_EQ(ours, i == 213);
		CHECK_EQ(call(i, 1, &n, (uintptr_t)list), NVML_ERROR_INVALID_ARGUMENT);
		CHECK_EQ(call(i, (uintptr_t)d, NULL, (uintptr_t)list), NVML_ERROR_INVALID_ARGUMENT);
	}
}

/* Values that only a vendor's library has. */
static void check_hidden(void)
{
	static const unsigned numbers[] = {230, 232, 249}, texts[] = {231, 237};
	char text[80];
	unsigned value, same;

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(call(numbers[i], (uintptr_t)d, &value, 0), NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(call(numbers[i], (uintptr_t)d, NULL, 0), NVML_ERROR_INVALID_ARGUMENT);
	}
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(call(texts[i], (uintptr_t)d, text, sizeof text), NVML_ERROR_NOT_SUPPORTED);
		CHECK_EQ(call(texts[i], (uintptr_t)d, NULL, 80), NVML_ERROR_INVALID_ARGUMENT);
	}
	CHECK_EQ(call(108, (uintptr_t)d, &value, 0), f.nvmlDeviceGetEnforcedPowerLimit(d, &same));
}

/* The same values through a server. */
static void check_served(void)
{
	char text[80];
	unsigned value = 0, other = 0;

	CHECK_EQ(call(230, (uintptr_t)d, &value, 0), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(call(232, (uintptr_t)d, &value, 0), 0);
	CHECK_EQ(value, 580);
	CHECK_EQ(call(249, (uintptr_t)d, &other, 0), 0);
	CHECK_EQ(other, 580);
	memset(text, '#', sizeof text);
	CHECK_EQ(call(231, (uintptr_t)d, text, sizeof text), 0);
	CHECK(!strcmp(text, "2335-895-A1"));
	CHECK_EQ(text[12], '#');
	CHECK_EQ(call(231, (uintptr_t)d, text, 11), NVML_ERROR_INSUFFICIENT_SIZE);
	CHECK_EQ(call(231, 1, text, sizeof text), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(call(237, (uintptr_t)d, text, sizeof text), 0); /* the vendor omits the NUL, the client adds it */
	CHECK_EQ(strlen(text), 20);
	CHECK_EQ(call(237, (uintptr_t)d, text, 20), NVML_ERROR_INSUFFICIENT_SIZE);
	CHECK_EQ(call(108, (uintptr_t)d, &value, 0), 0);
	CHECK_EQ(value, 700000);
	/* Public calls as nvidia-smi makes them: NULL for values that it does not want. */
	CHECK_EQ(f.nvmlDeviceGetDriverModel_v2(d, &value, NULL), NVML_ERROR_NOT_SUPPORTED);
	CHECK_EQ(f.nvmlDeviceGetDriverModel_v2(d, NULL, NULL), NVML_ERROR_INVALID_ARGUMENT);
	CHECK_EQ(f.nvmlDeviceGetGpuOperationMode(d, (void *)&value, NULL), 0);
	CHECK_EQ(value, 3);
	CHECK_EQ(f.nvmlDeviceGetGpuOperationMode(d, NULL, (void *)&value), 0);
	CHECK_EQ(value, 4);
	CHECK_EQ(f.nvmlDeviceValidateInforom(d), 0);
	value = 9;
	CHECK_EQ(f.nvmlDeviceGetAccountingPids(d, &value, NULL), 0);
	CHECK_EQ(value, 0);
}

/* Lists of every length that fits, and beyond. */
static void check_long_list(void)
{
	static unsigned clocks[65536];

	for (unsigned n = 0, room = 0; room <= 65536; room = room ? room * 2 : 1) {
		n = room;
		memset(clocks, 0xee, sizeof clocks);
		nvmlReturn_t r = f.nvmlDeviceGetSupportedGraphicsClocks(d, 3201, &n, room ? clocks : NULL);
		if (room <= 2048)
			CHECK_EQ(r, room < 110 ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
		if (r == NVML_SUCCESS)
			CHECK(n == 110 && clocks[0] == 1980 && clocks[109] == 345);
		else
			CHECK(r == NVML_ERROR_INSUFFICIENT_SIZE || r == NVML_ERROR_INVALID_ARGUMENT);
	}
	CHECK_EQ(f.nvmlDeviceValidateInforom(d), 0); /* the link still works */
}

int main(int argc, char **argv)
{
	bool served = argc > 1 && !strcmp(argv[1], "served");
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	CUcontext context;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	look_up(library);
	if (!open_table())
		return 1;
	struct entry *list = calloc(500, sizeof *list);
	CHECK_EQ(cuInit(0), 0);
	CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), 0);
	CHECK_EQ(table_word[0], 2160);
	check_identity();
	check_processes(list);
	if (served)
		check_served(), check_long_list();
	else
		check_hidden();
	for (unsigned i = 1; i < table_word[0] / sizeof *table_word; i++) {
		static const unsigned known[] = {26, 81, 108, 213, 214, 215, 230, 231, 232, 237, 249};
		bool is = false;

		for (size_t k = 0; k < sizeof known / sizeof *known; k++)
			is |= known[k] == i;
		if (!is)
			CHECK_EQ(call(i, (uintptr_t)d, &(unsigned){0}, (uintptr_t)list), NVML_ERROR_NOT_SUPPORTED);
	}
	free(list);
	return RESULT();
}
