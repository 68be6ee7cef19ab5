/*
 * cpu.h - the engine that runs kernels on this machine's processors, by interpreting their PTX.
 *
 *	load	PTX texts -> modules, linked (ptx) -> kernels and variables (ptx_code.h), program (interp)
 *	launch	decode the kernel on its first launch, then run one grid on the driver's threads
 *
 * GANGWAY_CPU_CC (8.0 or 80, for example) sets the compute capability that the device reports.
 */
#pragma once

#include <pthread.h>

#include "backend/soft/engine.h"
#include "ptx/interp/interp.h"

extern const struct engine cpu_engine;

/* device.c: the compute capability; false: GANGWAY_CPU_CC is not a known one. */
bool cpu_capability(int *major, int *minor);
/* Formats an error message for an invalid GANGWAY_CPU_CC, with the valid values. */
void cpu_capability_explain(char *why, size_t size);
void cpu_describe(int ordinal, struct engine_device *dev);

/* load.c: from PTX texts to a program. */
struct cpu_code {
	struct code code;
	unsigned npieces;
	struct ptx_module **modules; /* one per text, linked */
	struct image_code *info;     /* kernels and variables; ptx_var.offset is an index into its globals */
	struct interp_program *program;
	pthread_mutex_t lock; /* protects modules and program while a kernel is parsed or decoded */
};

CUresult cpu_load(const struct engine_piece *pieces, unsigned n, const struct engine_device *dev,
	struct engine_log *log, struct code **code);
void cpu_unload(struct code *code);
void cpu_measure(struct code *code, const struct image_kernel *kernel);
CUresult cpu_init_globals(struct code *code, const uint64_t *addresses, bool managed);

/* blas.c: run the kernel of cuBLAS, which is not interpreted. */
CUresult cpu_launch_blas(const struct launch *l);
