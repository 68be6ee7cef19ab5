/* BLAKE2b (RFC 7693). */
#include <string.h>
#include "util/hash.h"

static const uint64_t initial_state[8] = {
	0x6a09e667f3bcc908,
	0xbb67ae8584caa73b,
	0x3c6ef372fe94f82b,
	0xa54ff53a5f1d36f1,
	0x510e527fade682d1,
	0x9b05688c2b3e6c1f,
	0x1f83d9abfb41bd6b,
	0x5be0cd19137e2179,
};

static const uint8_t message_order[10][16] = {
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t rotate_right(uint64_t x, int n)
{
	return x >> n | x << (64 - n);
}

#define MIX(a, b, c, d, x, y) \
	do { \
		a += b + (x); \
		d = rotate_right(d ^ a, 32); \
		c += d; \
		b = rotate_right(b ^ c, 24); \
		a += b + (y); \
		d = rotate_right(d ^ a, 16); \
		c += d; \
		b = rotate_right(b ^ c, 63); \
	} while (0)

static void hash_compress(struct hash *s, const uint8_t *block, uint64_t last)
{
	uint64_t v[16], m[16];

	memcpy(m, block, sizeof m);
	memcpy(v, s->h, sizeof s->h);
	memcpy(v + 8, initial_state, sizeof initial_state);
	v[12] ^= s->count; /* the upper 64 bits of the count are always 0 */
	v[14] ^= last;
	for (int r = 0; r < 12; r++) {
		const uint8_t *o = message_order[r % 10];
		MIX(v[0], v[4], v[8], v[12], m[o[0]], m[o[1]]);
		MIX(v[1], v[5], v[9], v[13], m[o[2]], m[o[3]]);
		MIX(v[2], v[6], v[10], v[14], m[o[4]], m[o[5]]);
		MIX(v[3], v[7], v[11], v[15], m[o[6]], m[o[7]]);
		MIX(v[0], v[5], v[10], v[15], m[o[8]], m[o[9]]);
		MIX(v[1], v[6], v[11], v[12], m[o[10]], m[o[11]]);
		MIX(v[2], v[7], v[8], v[13], m[o[12]], m[o[13]]);
		MIX(v[3], v[4], v[9], v[14], m[o[14]], m[o[15]]);
	}
	for (int i = 0; i < 8; i++)
		s->h[i] ^= v[i] ^ v[i + 8];
}

void hash_init(struct hash *s, unsigned bytes)
{
	memset(s, 0, sizeof *s);
	memcpy(s->h, initial_state, sizeof initial_state);
	s->h[0] ^= 0x01010000 ^ bytes;
	s->bytes = bytes;
}

/* A full block is compressed only when more data comes, because the last block is marked. */
void hash_add(struct hash *s, const void *data, size_t size)
{
	const uint8_t *p = data;

	while (size) {
		size_t n = sizeof s->block - s->used;
		if (!n) {
			s->count += sizeof s->block;
			hash_compress(s, s->block, 0);
			s->used = 0;
			n = sizeof s->block;
		}
		n = n < size ? n : size;
		memcpy(s->block + s->used, p, n);
		s->used += n;
		p += n;
		size -= n;
	}
}

void hash_finish(struct hash *s, uint8_t *out)
{
	s->count += s->used;
	memset(s->block + s->used, 0, sizeof s->block - s->used);
	hash_compress(s, s->block, ~0ull);
	memcpy(out, s->h, s->bytes);
}

void hash_of(const void *data, size_t size, uint8_t out[HASH_BYTES])
{
	struct hash s;

	hash_init(&s, HASH_BYTES);
	hash_add(&s, data, size);
	hash_finish(&s, out);
}
