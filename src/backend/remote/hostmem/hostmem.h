/*
 * hostmem.h - host memory that CUDA knows: pinned, managed, registered.
 *
 * On one host it is a memfd of the client, which the server maps at the same address, so that the device reaches it
 * without a copy.  Over TCP managed memory is mirrored, and so is pinned memory that kernels use; other pinned memory is
 * private to the client, and its copies go through an arena.
 */
#pragma once

#include "backend/remote/memory/extent.h"
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
	uint64_t id; /* CU_POINTER_ATTRIBUTE_BUFFER_ID: never reused */
};

/* The range that contains this address.  False: none does. */
bool hostmem_find(uint64_t address, struct host_info *info);
bool hostmem_set_sync(uint64_t address, bool on);

/* Allocates pinned or managed memory of the current context. */
CUresult hostmem_allocate(size_t size, unsigned flags, enum host_kind kind, uint64_t *out);
CUresult hostmem_release(uint64_t address, enum host_kind kind);

/*
 * Has the server map a memfd at `at`, where the client maps it, too, or will when this succeeds.  `fd` stays the caller's.
 */
CUresult hostmem_share(int fd, uint64_t at, size_t size);
CUresult hostmem_unshare(uint64_t at);
int hostmem_create_fd(size_t size); /* a memfd of fixed size; -1: no memory */

/* Enters registered memory (host_register.c), for copies only. */
CUresult hostmem_enter(uint64_t address, size_t size, unsigned flags);
/* From now on the device reaches the registered memory at this address. */
void hostmem_set_mapped(uint64_t address, const struct host_pages *pages);
/* Removes registered memory.  ended: its context has ended, so that nothing uses the memory. */
CUresult hostmem_leave(uint64_t address, bool ended, size_t *size, struct host_pages *pages);
CUresult host_register_map(uint64_t address);           /* host_register.c: has the device reach all of it */
CUresult host_unregister(uint64_t address, bool ended); /* host_register.c: as cuMemHostUnregister */

/* Whether the server maps all of it, too, and in one piece. */
bool hostmem_shared(const void *p, size_t size);
/* Whether it is pinned, managed or registered, shared or not: a synchronous copy of it is done when the call returns. */
bool hostmem_pinned(const void *p);
CUresult hostmem_free_managed(CUdeviceptr dptr);
void hostmem_gone(uint64_t context); /* the context has ended: frees or unregisters all that belongs to it */

/* The link is lost: registered memory becomes ordinary memory again. */
void hostmem_unregister_all(void);
/* The client takes over the pinned and managed memory of a former client: the application may use and free it. */
void hostmem_carry(struct client *former);

void managed_forget(uint64_t base); /* managed.c: drops the advice for freed memory */
