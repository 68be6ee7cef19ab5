/*
 * store.h - memory that can be mapped more than once, also by other processes: files without a name (memfd).
 *
 *	the store	one file per process: | piece | hole | piece | ...	offsets are never reused
 *	a file of its own for each object that the application exports by descriptor
 *
 * Trust: a descriptor from another process may be of any file.  store_check accepts only files that store_create made,
 * of the right kind, that cannot shrink.  Their contents belong to the other process and are used only as data.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

int store_alloc(uint64_t size, uint64_t *offset); /* 0 or -errno; size is a multiple of the page size */
void store_free(uint64_t offset, uint64_t size);
int store_fd(void); /* for mmap and for handles; -1: nothing is allocated yet */

/* Create a file for one object, named after its kind ("pool", "physical") and device.  A descriptor or -errno. */
int store_create(const char *kind, int device, uint64_t size);

/* Check for such a file, and get its device and size.  -EBADF: not a descriptor; -EINVAL: another file. */
int store_check(int fd, const char *kind, int *device, uint64_t *size);

/*
 * Map the pages of a file that contain [offset, offset + size), shared and writable.  Returns the address of `offset`,
 * or 0; *base and *length are for munmap.
 */
uint64_t store_map(int fd, uint64_t offset, uint64_t size, void **base, size_t *length);
