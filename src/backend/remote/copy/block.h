/*
 * block.h - the shape of a copy: rows and slices of bytes between any two kinds of memory, and its parts.
 *
 * All of CUDA's copies other than a plain run of bytes come down to CUDA_MEMCPY3D_PEER, which block_init checks and
 * translates.  The bytes of a block that do not fit into one piece of an arena are copied in parts:
 *
 *	slice z	┌──────────────┐	a part is some slices,
 *		│ row y, x ... │	or some rows of one slice,
 *		└──────────────┘	or some bytes of one row
 */
#pragma once

#include "backend/remote/wait/wait.h"

enum { SIDE_PAGEABLE = 100 }; /* host memory that the worker cannot reach; never on the wire */

#define BLOCK_PART_MAX (4u << 20)

/* Width bytes of each of height rows of each of depth slices. */
struct block {
	struct wire_side src, dst;
	size_t width, height, depth;
	size_t part_max; /* bytes of a part, at most */
	bool linear;     /* one run of bytes between device and host memory: travels as struct wire_copy */
	bool peer;       /* the contexts of the sides count */
	bool unknown;    /* only the server can say whether there is memory everywhere: as in memory_check_range */
};

/* Place and extent of a part. */
struct part {
	size_t x, y, z;
	size_t width, height, depth;
};

CUresult block_init(struct block *b, const CUDA_MEMCPY3D_PEER *p, bool peer);
CUresult block_init_3d(struct block *b, const CUDA_MEMCPY3D *p);
void block_init_linear(struct block *b, bool up, CUdeviceptr device, const void *host, size_t size, size_t part_max);
bool block_empty(const struct block *b);

void block_cut_part(const struct block *b, struct part *p);  /* sets the extent of the part at p's place */
bool block_next_part(const struct block *b, struct part *p); /* moves p to the next place; false: there is none */
unsigned block_count_parts(const struct block *b);
size_t part_bytes(const struct part *p);

/* Host memory of one side. */
char *block_row(const struct wire_side *s, size_t x, size_t y, size_t z);
void block_pack(char *to, const struct wire_side *s, const struct part *p);
void block_unpack(const char *from, const struct wire_side *s, const struct part *p);
void block_move(const struct block *b); /* both sides are host memory */

/* A frame that copies a part; the caller replaces the side that is SIDE_PAGEABLE. */
struct wire_block block_frame(const struct block *b, const struct part *p, struct stream *s);
/* That side, packed at an offset of an arena: WIRE_SIDE_BULK or WIRE_SIDE_LATER. */
struct wire_side block_packed_side(enum wire_side_kind kind, const struct part *p, uint64_t offset, uint64_t context);
CUresult block_post(const struct wire_block *frame, struct stream *s);
