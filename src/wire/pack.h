/* pack.h - packs the arguments of a call into a frame, and unpacks the values of a reply. */
#pragma once

#include <stdbool.h>
#include "wire/wire.h"

/* Bytes that `size` bytes and the pieces after them take in a frame; SIZE_MAX: too large. */
static inline size_t pack_size(size_t size, const struct wire_piece *p, unsigned n)
{
	size = wire_pad(size);
	for (unsigned i = 0; i < n; i++) {
		if (p[i].size >= SIZE_MAX / 2 - size - 8)
			return SIZE_MAX;
		size += wire_pad(p[i].size);
	}
	return size;
}

static inline void pack_put(uint8_t *to, const void *args, size_t size, const struct wire_piece *p, unsigned n)
{
	if (size)
		memcpy(to, args, size);
	to += wire_pad(size);
	for (unsigned i = 0; i < n; i++) {
		if (p[i].size)
			memcpy(to, p[i].data, p[i].size);
		to += wire_pad(p[i].size);
	}
}

/*
 * The answer is copied out, so its length only has to be what we expect: all values, or after a failure none.
 * False: it makes no sense.
 */
static inline bool pack_take(
	const void *payload, size_t size, const struct wire_piece *p, unsigned n, struct wire_reply *head)
{
	const uint8_t *from = payload;

	if (size < sizeof *head)
		return false;
	memcpy(head, from, sizeof *head);
	if (head->result) /* of a call that failed the caller's values stay as they are */
		return size == sizeof *head;
	if (size != sizeof *head + pack_size(0, p, n))
		return false;
	from += sizeof *head;
	for (unsigned i = 0; i < n; i++) {
		if (p[i].size)
			memcpy(p[i].data, from, p[i].size);
		from += wire_pad(p[i].size);
	}
	return true;
}
