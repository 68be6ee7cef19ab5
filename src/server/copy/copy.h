/*
 * copy.h - what all kinds of copies check.
 *
 * Trust: offsets and addresses come from the client.  A piece lies inside its arena or the message is bad;
 * an address is the device's, or shared host memory, or it is refused: never any other memory of ours.
 */
#pragma once

#include "server/session/message.h"

/* The frame's piece of the up arena, if it is as long as the copy; else the message is bad. */
void *copy_piece_up(struct msg *m, uint64_t size);
/* What the client names by its place. */
void *copy_piece(struct msg *m, enum bulk which, uint64_t offset, uint64_t size);

/* Memory by rows and slices.  pitch or height 0: without gaps. */
struct copy_rows {
	uint64_t x, y, z, pitch, height; /* where they start, and how they lie */
	uint64_t width, rows, slices;
};

/* The bytes that are touched, counted from the base: [first, first + size).  False: no memory is that large. */
bool copy_extent(const struct copy_rows *r, uint64_t *first, uint64_t *size);

/* All of it memory that this client may name? */
bool copy_reachable(struct msg *m, uint64_t address, uint64_t size);

/*
 * A copy from or to bulk memory must happen now, not whenever a graph is launched; and a word that is part
 * of a graph would tell nobody anything.
 */
void copy_not_captured(const struct cuda_ops *ops, struct msg *m, CUstream stream);

/* Told even if the copy was not made: its client must not wait for ever. */
void copy_tell(struct msg *m, CUstream stream, struct wire_tell done, const struct piece *piece);
