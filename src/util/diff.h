/* diff.h - the differences between two buffers, as runs of bytes to send to the other side. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Find the next run of differing bytes at or behind *at; sets *at and *length (at most `most`). A run contains short
 * stretches of equal bytes if a new run would cost more than sending them. Returns false if there are no more.
 */
bool diff_next(const void *a, const void *b, size_t size, size_t *at, size_t *length, size_t most);

/*
 * Copy a run to `to` and `agreed`, but only bytes that differ from `agreed`: this side may have written to the other
 * bytes of `to` meanwhile.
 */
void diff_apply(void *to, void *agreed, const void *run, size_t size);
