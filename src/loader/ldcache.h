/*
 * ldcache.h - /etc/ld.so.cache: which file the loader knows for a library's name.
 *
 *	(old header | old entries |)  header | entry | entry | ... | strings | extensions
 *
 * glibc's own format of today, alone or behind the one before it, as ldconfig -c compat writes.  Entries'
 * offsets count from the header of the new one, those of extensions from the beginning of the file.
 *
 * Trust: none.  Each access is checked against the size given; an entry that makes no sense is passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LDCACHE_FILE "/etc/ld.so.cache"

struct ldcache {
	const char *data, *file; /* from the new header on; from the beginning */
	size_t size, file_size;
	size_t strings; /* of the file: what begins below this is a string that ends */
	uint32_t count;
	uint32_t hwcaps, nhwcaps; /* where a list of offsets of names begins; 0: there is none */
	void *map;                /* ldcache_open's */
	size_t map_size;
};

struct ldcache_entry {
	const char *name, *path;
	uint32_t flags;
	const char *hwcaps; /* "x86-64-v3": for processors that have it; "": a hint of an older kind; NULL: for all */
};

/* 0, or -EINVAL: no cache that we understand.  Borrows the bytes. */
int ldcache_init(struct ldcache *cache, const void *data, size_t size);

/* From a file: 0 or -errno. */
int ldcache_open(struct ldcache *cache, const char *path);
void ldcache_close(struct ldcache *cache);

/* Entries in the loader's order of preference for one name; *at starts as 0. */
bool ldcache_next(const struct ldcache *cache, uint32_t *at, struct ldcache_entry *entry);

/* Of the kind that a program like this one loads: not a 32-bit library. */
bool ldcache_native(const struct ldcache_entry *entry);
