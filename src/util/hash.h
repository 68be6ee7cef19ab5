/*
 * hash.h - BLAKE2b (RFC 7693) with 256 bits, to name content. The hash is collision-resistant: a client that knows the
 * hash of some content has, or had, all of its bytes, so the server may answer queries by hash.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HASH_BYTES 32

struct hash {
	uint64_t h[8], count;
	uint8_t block[128];
	size_t used;
	unsigned bytes;
};

/* `bytes` is the length of the hash, up to 64; HASH_BYTES except in tests. */
void hash_init(struct hash *s, unsigned bytes);
void hash_add(struct hash *s, const void *data, size_t size);
void hash_finish(struct hash *s, uint8_t *out);

void hash_of(const void *data, size_t size, uint8_t out[HASH_BYTES]);
