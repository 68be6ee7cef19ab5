/* diff.h - where two buffers differ, in runs that are worth sending; and what such a run is taken for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The next run of bytes at or behind *at in which a and b differ: *at and *length (at most `most`).  Bytes that are
 * the same are in it only where leaving them out would cost more than sending them.  False: no more.
 */
bool diff_next(const void *a, const void *b, size_t size, size_t *at, size_t *length, size_t most);

/*
 * What a run says, into `to` and `agreed`: only bytes that are not as agreed.  The others somebody here may have written
 * meanwhile.
 */
void diff_apply(void *to, void *agreed, const void *run, size_t size);
