/* fetch.h - calls whose answer has no fixed size. */
#pragma once

#include "wire/call.h"

/*
 * Sends args and `in`; the answer begins with a head of head_size bytes, and what is behind it is
 * the caller's to free.  CUDA_SUCCESS, or the call's error.
 */
CUresult call_fetch(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin, void *head,
	size_t head_size, uint8_t **rest, size_t *rest_size);
