/*
 * cache.h - compiled kernels on disk, shared by all processes of a user.
 *
 *	CUDA_CACHE_PATH/gangway/kernels, XDG_CACHE_HOME/gangway/kernels or ~/.cache/gangway/kernels
 *	KEY	64 hexadecimal digits: one object, with its code entries and a hash of the content
 *	KEY.RANDOM	a file that a process is writing; renamed when complete
 *
 * CUDA_CACHE_DISABLE=1 switches the cache off; CUDA_CACHE_MAXSIZE is its size in bytes (default 1 GiB).  When the files
 * exceed it, those that were not used for longest are removed.
 *
 * Trust: files in the folder run as code of this process.  So the folder and the file must belong to the user of the
 * process and be writable by nobody else, and the content must match its hash; the hash covers the key as well.  A file
 * that fails a check is treated as missing, and replaced when the kernel has been compiled again.
 */
#pragma once

#include <stdbool.h>

#include "ptx/jit/jit.h"
#include "util/hash.h"

struct jit_cache;

struct jit_cache *jit_cache_open(void); /* NULL: switched off, or no folder that may be used */
void jit_cache_close(struct jit_cache *c);

/* The object of a key; the caller frees it with jit_object_free. */
bool jit_cache_load(struct jit_cache *c, const uint8_t key[HASH_BYTES], struct jit_object *o);
/* Failure is not an error: the kernel is compiled again next time. */
void jit_cache_store(struct jit_cache *c, const uint8_t key[HASH_BYTES], const struct jit_object *o);

void jit_object_free(struct jit_object *o);

/* The key: everything on which the object of a request depends. identity: of the compiler's file. */
void jit_cache_key(const struct jit_request *r, const char *identity, uint8_t key[HASH_BYTES]);
