/*
 * cuLinkAddData on the CPU device links or refuses any input of any declared type. The linked image loads or is
 * refused, and nothing leaks.
 *
 *	input	part | part | ...	part: kind (1 byte: CUjitInputType), length (4 bytes), bytes
 *
 * A length beyond the end of the input means the rest of the input.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/soft/backend.h"
#include "backend/soft/ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARTS 8

/* A heap block of exactly this size, so that a sanitizer detects the first byte out of bounds. */
static void add(CUlinkState l, unsigned kind, const uint8_t *data, size_t size)
{
	void *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	soft_cuLinkAddData_v2(l, kind, copy, size, "part", 0, NULL, NULL);
	free(copy);
}

static void add_all(CUlinkState l, const uint8_t *data, size_t size)
{
	for (int i = 0; i < PARTS && size > 5; i++) {
		uint32_t n;
		unsigned kind = *data;

		memcpy(&n, data + 1, sizeof n);
		data += 5;
		size -= 5;
		if (n > size)
			n = (uint32_t)size;
		add(l, kind, data, n);
		data += n;
		size -= n;
	}
}

static void load(const void *image)
{
	CUfunction f[4];
	CUmodule m;
	unsigned n = 0;

	if (soft_cuModuleLoadData(&m, image))
		return;
	if (!soft_cuModuleGetFunctionCount(&n, m) && n)
		soft_cuModuleEnumerateFunctions(f, n < 4 ? n : 4, m);
	if (soft_cuModuleUnload(m))
		abort();
}

static void start(void)
{
	static const struct soft_config config = {.memory = 256 << 20};
	CUcontext ctx;

	if (soft_open(&cpu_engine, &config) || soft_cuCtxCreate_v2(&ctx, 0, 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char log[512];
	static bool started;
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof log}, *image;
	CUlinkState l;
	size_t length;

	if (!started)
		start();
	started = true;
	if (soft_cuLinkCreate_v2(2, options, values, &l))
		abort();
	add_all(l, data, size);
	if (!soft_cuLinkComplete(l, &image, &length))
		load(image);
	if (soft_cuLinkDestroy(l))
		abort();
	return 0;
}
