/*
 * cpu.h - the engine that runs kernels on this machine's processors: the software driver over the PTX
 *interpreter.
 *
 *	load	PTX text -> declarations (image), module (ptx), program (interp)
 *	launch	pre-decode the kernel if it is new, then one grid over soft's threads
 *
 * GANGWAY_CPU_CC (as in 8.0 or 80) sets the compute capability that the device claims.
 */
#ifndef BACKEND_CPU_CPU_H
#define BACKEND_CPU_CPU_H

#include "backend/soft/engine.h"

extern const struct engine cpu_engine;

/* heap.c: in-kernel malloc and free.  One heap for all kernels, of `limit` bytes as of the first allocation.
 */
uint64_t heap_alloc(uint64_t size, size_t limit);
void heap_free(uint64_t addr);
bool heap_holds(uint64_t addr, uint64_t *base, uint64_t *size);

#endif
