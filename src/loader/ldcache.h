/*
 * ldcache.h - /etc/ld.so.cache: the table in which the loader looks up the file for a library name.
 *
 *	(old header | old entries |)  header | entry | entry | ... | strings | extensions
 *
 * Read are glibc's present format, and the old format followed by the present one, as ldconfig -c compat writes it.
 * Offsets in entries count from the present format's header, offsets in extensions from the start of the file.
 *
 * File contents are untrusted: every access is checked against the size, and malformed entries are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LDCACHE_FILE "/etc/ld.so.cache"

struct ldcache {
	const char *data; /* from the present format's header on */
	const char *file; /* from the start of the file */
	size_t size, file_size;
	size_t strings; /* file offset behind the last NUL: a string that starts before it is terminated */
	uint32_t count;
	uint32_t hwcaps, nhwcaps; /* file offset and length of the list of hwcaps name offsets; 0 if absent */
	void *map;                /* set by ldcache_open */
	size_t map_size;
};

struct ldcache_entry {
	const char *name, *path;
	uint32_t flags;
	/* "x86-64-v3": for processors with this capability; "": a legacy hardware hint; NULL: for all processors */
	const char *hwcaps;
};

/* Read a cache from memory, which must outlive it. Returns 0, or -EINVAL if the format is unknown. */
int ldcache_init(struct ldcache *cache, const void *data, size_t size);

/* Map a cache file. Returns 0 or -errno. */
int ldcache_open(struct ldcache *cache, const char *path);
void ldcache_close(struct ldcache *cache);

/* Iterate over the entries; those of one name come in the loader's order of preference. *at starts as 0. */
bool ldcache_next(const struct ldcache *cache, uint32_t *at, struct ldcache_entry *entry);

/* Is the entry for programs of this architecture, and not for 32-bit programs? */
bool ldcache_native(const struct ldcache_entry *entry);
