/*
 * store.h - memory that can be mapped more than once, also by another process: files without a name.
 *
 *	the store	one file a process: | piece | hole | piece | ...	offsets are never used twice
 *	a file of its own for what the application exports by descriptor
 *
 * Trust: a descriptor from elsewhere may be anything.  store_check accepts only files made here, of the right
 * kind, that nobody can make shorter under our feet; what is in them is the peer's, and only ever data.
 */
#pragma once

#include <stdint.h>

int store_alloc(uint64_t size, uint64_t *offset); /* 0 or -errno; size in whole pages */
void store_free(uint64_t offset, uint64_t size);
int store_fd(void); /* for mmap and for handles; -1: nothing was taken yet */

/* A file for one thing: kind ("pool", "physical") and the device it is on are part of its name.  fd or
 * -errno. */
int store_create(const char *kind, int device, uint64_t size);

/* Is this such a file?  Its device and size.  -EBADF: not even a descriptor; -EINVAL: something else. */
int store_check(int fd, const char *kind, int *device, uint64_t *size);
