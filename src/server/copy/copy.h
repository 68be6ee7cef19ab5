/*
 * copy.h - checks that all kinds of copies share.
 *
 * Trust: offsets and addresses come from the client.  A piece that is not inside its arena is a protocol error.  An
 * address must be the device's or shared host memory; no other memory of the worker is ever copied.
 */
#pragma once

#include "server/session/message.h"

/* The frame's piece of the up arena, which must hold at least `size` bytes. */
void *copy_piece_up(struct msg *m, uint64_t size);
/* A range of an arena that the client names by its offset. */
void *copy_piece(struct msg *m, enum bulk which, uint64_t offset, uint64_t size);

/* A box in memory, of rows and slices.  A pitch or height of 0: without gaps. */
struct copy_rows {
	uint64_t x, y, z, pitch, height; /* its origin, and the layout of the memory */
	uint64_t width, rows, slices;
};

/* The bytes that the box touches, relative to the base: [first, first + size).  False: overflow. */
bool copy_extent(const struct copy_rows *r, uint64_t *first, uint64_t *size);

/* Is all of the range memory that this client may name? */
bool copy_reachable(struct msg *m, uint64_t address, uint64_t size);

/*
 * An error if the stream is being captured: a copy through an arena must happen now, not when a graph is launched,
 * and a word set by a graph signals nobody.
 */
void copy_not_captured(const struct cuda_ops *ops, struct msg *m, CUstream stream);

/* The same if the address is in host memory that a graph must not name. */
void copy_pageable_not_captured(const struct cuda_ops *ops, struct msg *m, CUstream stream, uint64_t address);

/* Signals the end of a copy, even of one that failed: the client must not wait for ever. */
void copy_signal(struct msg *m, CUstream stream, struct wire_signal done, const struct piece *piece);
