/*
 * rig.h - runs kernels from PTX text in a test, with memory, threads and the captured output of printf.
 *
 *	struct rig r;
 *	rig_open(&r, "...ptx...");
 *	uint32_t *out = rig_alloc(&r, 4096);
 *	CHECK_EQ(RUN(&r, "kernel", DIM(2, 1, 1), DIM(64, 1, 1), 0, out, 17), INTERP_OK);
 *	rig_close(&r);
 *
 * Arguments of RUN are passed as 64-bit values, so kernels declare their parameters .u64.
 */
#pragma once

#include <pthread.h>

#include "ptx/interp/interp.h"

#define PTX_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

enum { RIG_AREAS = 256, RIG_THREADS = 4 };

struct rig_area {
	uint64_t base, size;
	void *memory;
	const struct ptx_var *var;
};

struct rig {
	struct ptx_module *module;
	struct interp_program *program;
	struct interp_host host;
	struct rig_area areas[RIG_AREAS];
	unsigned nareas;
	pthread_mutex_t lock;
	char text[65536]; /* output of printf and of assertions */
	size_t len;
	/* For the next launch. */
	bool cooperative;
	unsigned cluster[3];
	size_t stack_limit;
	const atomic_bool *stop;
	uint64_t timeout_ms;
	char message[512];
};

void rig_open(struct rig *r, const char *ptx);
void rig_close(struct rig *r);
void *rig_alloc(struct rig *r, size_t size); /* zeroed */
enum interp_fault rig_run(struct rig *r, const char *name, const unsigned grid[3], const unsigned block[3],
	size_t shared, const uint64_t *args, size_t nargs);

#define DIM(x, y, z) ((const unsigned[3]){x, y, z})
#define ARG(a)       ((uint64_t)(a))
#define RUN(r, name, grid, block, shared, ...) \
	rig_run(r, name, grid, block, shared, (const uint64_t[]){__VA_ARGS__}, \
		sizeof((const uint64_t[]){__VA_ARGS__}) / 8)
#define P(p) ((uint64_t)(uintptr_t)(p))
