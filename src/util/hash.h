/*
 * hash.h - a name for content: 256 bits of BLAKE2b (RFC 7693), which nobody can make two contents share.
 *
 * Who knows the name of something has, or had, all of its bytes; so a name may be asked for by anybody.
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

/* `bytes` long, up to 64; HASH_BYTES unless a test wants otherwise. */
void hash_init(struct hash *s, unsigned bytes);
void hash_add(struct hash *s, const void *data, size_t size);
void hash_finish(struct hash *s, uint8_t *out);

void hash_of(const void *data, size_t size, uint8_t out[HASH_BYTES]);
