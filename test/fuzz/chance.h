/* chance.h - reproducible random numbers for fuzzers, and values that have broken programs before. */
#pragma once

#include <stdint.h>
#include <stddef.h>
#include <string.h>

static _Thread_local uint64_t chance_state = 1; /* each thread seeds its own */

static inline uint64_t roll(void)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return chance_state;
}

/* Values seen in answers: handles, device addresses, counts. */
static uint64_t chance_seen[256];
static unsigned chance_nseen;

static inline void chance_remember(uint64_t v)
{
	if (v)
		chance_seen[chance_nseen++ % 256] = v;
}

/* Valid values, which remain selectable however many others are recorded. */
static uint64_t chance_right[64];
static unsigned chance_nright;

static inline void chance_keep(uint64_t v)
{
	if (v)
		chance_right[chance_nright++ % 64] = v;
}

static inline uint64_t odd_value(void)
{
	static const uint64_t odd[] = {0, 1, 2, 3, 4, 7, 8, 16, 64, 255, 256, 4096, 65535, 65536, 0x7fffffff,
		0x80000000, 0xffffffff, 1ull << 32, 1ull << 47, 1ull << 63, ~0ull, ~0ull - 7, 0x7fffffffffffffff};
	unsigned n = chance_nseen < 256 ? chance_nseen : 256;
	unsigned right = chance_nright < 64 ? chance_nright : 64;

	if (right && roll() % 2)
		return chance_right[roll() % right];
	switch (roll() % 8) {
	case 0:
		return odd[roll() % (sizeof odd / sizeof *odd)];
	case 1:
		return roll() >> roll() % 64;
	case 2:
	case 3:
		return roll() % 9;
	case 4:
		return n ? chance_seen[roll() % n] + (int64_t)(roll() % 33) - 16 : 0;
	default:
		return n ? chance_seen[roll() % n] : 0;
	}
}

/* Fills `size` bytes with 4- and 8-byte values, mostly of one of the two sizes. */
static inline void odd_bytes(uint8_t *p, size_t size)
{
	unsigned narrow = roll() % 2 ? 3 : 0;

	for (size_t at = 0; at < size;) {
		size_t width = at % 8 || roll() % 4 < narrow ? 4 : 8;
		uint64_t v = odd_value();
		if (width > size - at)
			width = size - at;
		memcpy(p + at, &v, width);
		at += width;
	}
}
