/*
 * block.h - copies of blocks between any two kinds of memory.
 *
 * All of CUDA's ways to say "copy" other than a plain run of bytes come down to CUDA_MEMCPY3D_PEER.
 */
#pragma once

#include "backend/remote/session/remote.h"
#include "backend/remote/wait/wait.h"

enum { SIDE_PAGEABLE = 100 }; /* the application's own: never on the wire */

/* Width bytes of each of height rows of each of depth slices. */
struct block {
	struct wire_side src, dst;
	size_t width, height, depth;
	size_t piece; /* bytes of a part, at most: BLOCK_PIECE unless changed */
	bool peer;
	bool unknown; /* whether it lies where there is memory: the server has to say, as in memory_known */
};

/* A part of a block that fits into a piece. */
struct part {
	size_t x, y, z;
	size_t width, height, depth;
};

#define BLOCK_PIECE (4u << 20)

CUresult block_init(struct block *b, const CUDA_MEMCPY3D_PEER *p, bool peer);
void block_cut_part(const struct block *b, struct part *p);  /* the part that starts at p's place */
bool block_next_part(const struct block *b, struct part *p); /* to the place of the next one; false: there is none */
struct wire_block block_frame(const struct block *b, const struct part *p, struct stream *s);
/* A side of it in bulk memory: WIRE_SIDE_BULK, or WIRE_SIDE_LATER. */
struct wire_side block_packed_side(enum wire_side_kind kind, const struct part *p, uint64_t offset, uint64_t context);
/* Our rows of a part: up, one after another into the piece; down, from it; without one both sides are ours. */
void block_step(const struct block *b, const struct part *p, struct piece piece, bool up);

CUresult block_post(const struct wire_block *what, struct stream *s);

/* `peer`: the sides' contexts count.  `wait`: as the synchronous calls do. */
CUresult block_copy(const CUDA_MEMCPY3D_PEER *p, bool peer, CUstream stream, bool wait);
CUresult block_copy3d(const CUDA_MEMCPY3D *p, CUstream stream, bool wait);
