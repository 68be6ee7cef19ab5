/*
 * bytes.h - unaligned little-endian reads, and a range check that cannot overflow.
 *
 * The reads are unchecked: callers check with in_range first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t get16(const void *base, size_t offset)
{
	uint16_t v;

	memcpy(&v, (const char *)base + offset, sizeof v);
	return v;
}

static inline uint32_t get32(const void *base, size_t offset)
{
	uint32_t v;

	memcpy(&v, (const char *)base + offset, sizeof v);
	return v;
}

/* Whether [offset, offset + size) lies in [0, total). */
static inline bool in_range(uint64_t offset, uint64_t size, uint64_t total)
{
	return offset <= total && size <= total - offset;
}
