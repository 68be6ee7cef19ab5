/* fetch.h - calls whose reply has no fixed size. */
#pragma once

#include "backend/remote/session/call.h"

/*
 * Sends args and the data of `in`.  The reply starts with a head of head_size bytes; the bytes behind it are copied to
 * *rest, which the caller frees (rest NULL: they are dropped).
 */
CUresult call_fetch(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin, void *head,
	size_t head_size, uint8_t **rest, size_t *rest_size);
