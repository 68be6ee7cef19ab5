/*
 * hostmem.h - host memory that CUDA knows: pinned, managed, registered.
 *
 * On one host it is a memfd of ours, mapped by the server at the same address, so that the device reaches it
 * without a copy.  Over TCP pinned memory is plain memory: copies go through bulk memory, and the device cannot
 * be given its address.
 */
#pragma once

#include "backend/remote/session/remote.h"

enum host_kind { HOST_PINNED, HOST_MANAGED, HOST_REGISTERED };

struct host_info {
	uint64_t base, size; /* as the application asked for it */
	enum host_kind kind;
	unsigned flags;
	bool shared; /* the device reaches it */
	bool sync_memops;
	uint64_t context;
	CUdevice device;
	uint64_t id; /* never the same twice */
};

/* Who owns this address? */
bool hostmem_find(uint64_t address, struct host_info *info);
bool hostmem_set_sync(uint64_t address, bool on);

/* Pinned or managed memory, of the current context. */
CUresult hostmem_allocate(size_t size, unsigned flags, enum host_kind kind, uint64_t *out);
CUresult hostmem_release(uint64_t address, enum host_kind kind);

/*
 * Pages from `at` are a memfd from now on: the server maps them at the same address.  They are ours already,
 * or will be when it has.  `fd` stays the caller's.
 */
CUresult hostmem_share(int fd, uint64_t at, size_t size);
CUresult hostmem_unshare(uint64_t at);
int hostmem_create_fd(size_t size); /* -1: no memory */

/* Registered memory, entered and taken out by register.c.  mapped 0: for copies only. */
CUresult hostmem_enter(uint64_t address, size_t size, uint64_t pages, size_t mapped, unsigned flags);
/* Where the pages are; CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED.  ended: its context has, and nothing uses it any more. */
CUresult hostmem_leave(uint64_t address, bool ended, uint64_t *pages, size_t *mapped);
CUresult register_end(uint64_t address, bool ended); /* register.c: as cuMemHostUnregister */

/* Whether the server maps all of it, too. */
bool hostmem_shared(const void *p, size_t size);
/* Whether it is pinned, managed or registered, shared or not: a synchronous copy of it is done when the call returns. */
bool hostmem_pinned(const void *p);
CUresult hostmem_free_managed(CUdeviceptr dptr);
void hostmem_gone(uint64_t context); /* the context has ended: frees or unregisters all that belongs to it */

void managed_forget(uint64_t base); /* managed.c: what was advised about it */
