/*
 * mirror.h - memory of which client and worker keep a copy each, at the same address (mirror.c).
 *
 * Managed memory and pinned memory that kernels use are mirrored over TCP; managed variables of modules always are.  Of
 * registered memory, the bytes on pages that hold other data, too, always are; on one host those have a shadow.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "backend/remote/client.h"

/*
 * Before work is posted: sends what the host has changed in mirrored memory.  kernel: the work is a kernel, and the host
 * leaves managed memory alone until it is done.
 */
void mirror_push(bool kernel);

static inline void mirror_before_work(bool kernel)
{
	if (__builtin_expect(atomic_load_explicit(&client->has_mirrors, memory_order_relaxed), 0))
		mirror_push(kernel);
}

/* After something was waited for: fetches what the device has changed. */
void mirror_pull(void);

/*
 * After a host function: sends what it has written, on the lane on which the server hears that it has run.  False: no
 * memory is mirrored.
 */
bool mirror_push_on(struct lane *lane);

/* Mirrors host memory that the server has mapped at the same address.  reused: it may hold old bytes there. */
CUresult mirror_add(uint64_t address, size_t size, bool at_any_time, bool reused);
/* The same where the client reaches the server's copy, at `shadow`: nothing is sent.  Writable at any time. */
CUresult mirror_add_shadow(uint64_t address, size_t size, uint8_t *shadow);
void mirror_remove(uint64_t address);
/* From now on the host may write to mirrored memory while a kernel runs. */
void mirror_at_any_time(void);

/* Mirrors a managed variable of a module.  CUDA_ERROR_NOT_SUPPORTED: its address is in use in this process. */
CUresult mirror_variable(uint64_t address, size_t size);
void mirror_variable_gone(uint64_t address);

/* The client takes over the pages of a former client's variables: the application may still use them. */
void mirror_carry_pages(struct client *former);
struct mirror_table;
void mirrors_finish(struct mirror_table *t); /* frees all mirrors, not the memory that they are of */

/* Whether the address is mirrored: the host may touch it here. */
bool mirror_holds(uint64_t address);
