/*
 * cpu.h - the engine that runs kernels on this machine's processors: the software driver over the PTX
 *interpreter.
 *
 *	load	PTX texts -> declarations (image), modules, linked (ptx), program (interp)
 *	launch	pre-decode the kernel if it is new, then one grid over soft's threads
 *
 * GANGWAY_CPU_CC (as in 8.0 or 80) sets the compute capability that the device claims.
 */
#pragma once

#include <pthread.h>

#include "backend/soft/engine.h"
#include "ptx/interp/interp.h"

extern const struct engine cpu_engine;

/* device.c: false if GANGWAY_CPU_CC names no device that there ever was. */
bool cpu_capability(int *major, int *minor);
void cpu_describe(int ordinal, struct engine_device *dev);

/* load.c: from texts to something that can be launched. */
struct cpu_code {
	struct code code;
	unsigned npieces;
	struct ptx_module **modules; /* one a text; linked if there are several */
	struct image_code **pieces;  /* likewise: what each declares */
	struct image_code *info;     /* and what the program does. A variable's offset is its index here. */
	struct interp_program *program;
	pthread_mutex_t lock; /* of modules and program while something is parsed or decoded */
};

CUresult cpu_load(const struct engine_piece *pieces, unsigned n, const struct engine_device *dev,
	struct engine_log *log, struct code **code);
void cpu_unload(struct code *code);
CUresult cpu_init_globals(struct code *code, const uint64_t *addresses, bool managed);
