/*
 * engine.h - an engine for tests: its kernels are C functions, so that a test can make a launch wait, fail or read its
 * parameters.  Code is PTX text.  With APPLICATION defined, the tests are applications on the CPU device instead
 * (public.h).
 */
#pragma once

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "test/check.h"
#ifdef APPLICATION
#include "public.h"
#else
#include "backend/soft/backend.h"
#include "backend/soft/code/ptx_code.h"
#include "backend/soft/ops.h"

struct test_code {
	struct code code;
	struct ptx_module *module;
	struct image_code *info;
};

/* The function that a launch calls, set by tests; NULL: none. */
static CUresult (*test_launch_fn)(const struct image_kernel *k, const struct launch *l);

static inline CUresult test_load(const struct engine_piece *pieces, unsigned n, const struct engine_device *dev,
	struct engine_log *log, struct code **code)
{
	struct test_code *t = calloc(1, sizeof *t);

	(void)dev;
	t->module = ptx_module_create(pieces->data, pieces->size);
	if (n != 1 || t->module->error.line || ptx_code_create(&t->info, &t->module, 1)) {
		engine_log(log, "%s", t->module->error.message);
		ptx_module_destroy(t->module);
		free(t);
		return CUDA_ERROR_INVALID_PTX;
	}
	for (size_t i = 0; i < t->info->nkernels; i++)
		ptx_code_measure(&t->info->kernels[i], ptx_function_find(t->module, t->info->kernels[i].name));
	t->code.kernels = t->info->kernels;
	t->code.nkernels = t->info->nkernels;
	t->code.globals = t->info->globals;
	t->code.nglobals = t->info->nglobals;
	*code = &t->code;
	return CUDA_SUCCESS;
}

static inline void test_unload(struct code *code)
{
	struct test_code *t = (struct test_code *)code;

	image_code_destroy(t->info);
	ptx_module_destroy(t->module);
	free(t);
}

static inline CUresult test_launch(struct code *code, const struct image_kernel *k, const struct launch *l)
{
	(void)code;
	return test_launch_fn ? test_launch_fn(k, l) : CUDA_SUCCESS;
}

/* Read a word of device memory, at any time. */
static inline uint32_t peek(CUdeviceptr p)
{
	return __atomic_load_n((uint32_t *)(uintptr_t)p, __ATOMIC_SEQ_CST);
}

static inline void poke(CUdeviceptr p, uint32_t value)
{
	__atomic_store_n((uint32_t *)(uintptr_t)p, value, __ATOMIC_SEQ_CST);
}

#define kernels_do(fn) (test_launch_fn = (fn))

static const struct engine test_engine = {
	.name = "test",
	.accepts = IMAGE_WANT_PTX,
	.load = test_load,
	.unload = test_unload,
	.launch = test_launch,
};

#endif

/* Whether the device is behind a server. */
static inline bool served(void)
{
	const char *device = getenv("GANGWAY_DEVICE");

	return device && (!strncmp(device, "unix:", 5) || !strncmp(device, "tcp:", 4));
}

/* Whether the device supports a feature: a device behind TCP lacks some. */
static inline bool device_has(CUdevice_attribute a)
{
	int v = 0;

	OK(soft_cuDeviceGetAttribute(&v, a, 0));
	return v;
}

#define HAS(name) device_has(CU_DEVICE_ATTRIBUTE_##name)
