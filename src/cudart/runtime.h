/*
 * runtime.h - the CUDA runtime, libcudart.so.12 and libcudart.so.13, for machines without NVIDIA's.
 *
 * The runtime is a layer over the public driver API: it keeps the registered code of the program, one primary context for
 * each device, and for each thread its device and its last error. Everything else is a call of the driver with other types.
 *
 *	cudaMalloc (generated) ─► context_enter ─► rt_cudaMalloc ─► cuMemAlloc_v2 ─► error_note
 *
 * api/cudart.api says what precedes each rt_ function. The same sources are compiled for both major versions;
 * CUDART_MAJOR is 12 or 13. Arguments come from the program itself and are trusted as far as the driver trusts them.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "abi/cudart.h"
#include "gen/cuda_protos.h"
#include "gen/cudart_runtime.h"

/* The runtime's numbers for errors are the driver's. */
static inline cudaError_t from_driver(CUresult r)
{
	return (cudaError_t)r;
}

/* ---- error.c ---- */

/* Remembers an error as the thread's last one, and returns it. */
cudaError_t error_note(cudaError_t e);

/* ---- context.c ---- */

/* Initialises the driver, once. A failure is not remembered: a device may appear later. */
cudaError_t runtime_start(void);
/* runtime_start, then makes the primary context of the thread's device current if the thread has no context. */
cudaError_t context_enter(void);
cudaError_t device_count(int *count);
cudaError_t device_check(int device); /* cudaErrorInvalidDevice if there is no such device */
/* The device of the thread's current context, or the one that the thread would use. */
cudaError_t device_current(int *device);
/* The primary context of a device, which the runtime retains until cudaDeviceReset. */
cudaError_t primary_context(int device, CUcontext *ctx);

/* ---- registration.c ---- */

/* The kernel behind a host function that the program registered, or behind a handle that is a kernel itself. */
cudaError_t symbol_kernel(const void *host, CUkernel *kernel);
/* The registered host function of a kernel, or the kernel if it was not registered. */
void *symbol_of_kernel(CUkernel kernel);
/* The address of a registered variable in the current context. size may be NULL. */
cudaError_t symbol_variable(const void *host, CUdeviceptr *address, size_t *size);
/* The registered name of a host function, or NULL. */
const char *symbol_name(const void *host);
/* Loads the code of images with managed variables, whose addresses the program reads without a call of the runtime. */
cudaError_t managed_load(void);
extern _Atomic bool managed_waits; /* set while managed_load has work */

/* ---- memory/symbol.c ---- */

/* The bytes of a variable that a copy of this kind writes or reads. */
cudaError_t symbol_target(const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind, void **dst);
cudaError_t symbol_source(const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind, void **src);

/* ---- memory/format.c ---- */

cudaError_t format_to_driver(const cudaChannelFormatDesc *desc, CUarray_format *format, unsigned *channels);
void format_from_driver(CUarray_format format, unsigned channels, cudaChannelFormatDesc *desc);
cudaError_t format_element_size(CUarray_format format, unsigned channels, size_t *size);

/* ---- memory/copy_shape.c: copies that are more than one run of bytes, as the driver describes them ---- */

struct copy_place { /* one side of a copy: an array, or memory with a pitch */
	cudaArray_t array;
	const void *memory;
	size_t pitch, height;
	cudaPos pos; /* x in bytes */
};
bool copy_kind_is_valid(cudaMemcpyKind kind);
/* cudaErrorInvalidMemcpyDirection if `kind` does not fit what the sides are. width in bytes. */
cudaError_t copy_shape(CUDA_MEMCPY3D *c, const struct copy_place *from, const struct copy_place *to, size_t width,
	size_t height, size_t depth, cudaMemcpyKind kind);
cudaError_t copy_shape_3d(CUDA_MEMCPY3D *c, const cudaMemcpy3DParms *p);
void copy_shape_to_3d(const CUDA_MEMCPY3D *c, cudaMemcpy3DParms *p);
/* Runs the copy: waits for it, or queues it. */
cudaError_t copy_wait(const CUDA_MEMCPY3D *c, bool per_thread);
cudaError_t copy_queue(const CUDA_MEMCPY3D *c, cudaStream_t stream);
