/*
 * wmma.h - the layout of a wmma fragment.  Private to matrix.c (loads and stores) and alu_wmma.c (products).
 *
 * PTX leaves open which lane holds which element and specifies only the number of registers.  Our fragments hold the
 * matrix row by row: register after register, in each from lane 0 to lane 31, in each lane from the low bits up.  The
 * concatenated slots of a fragment are thus the matrix as it would lie in memory.  For elements of less than a byte, B
 * (which exists only as .col) is stored column by column, so that dot products read consecutive elements.  If there are
 * more registers than the matrix fills, they repeat it.
 */
#pragma once

#include <string.h>

#include "ptx/interp/warp.h"

enum { WMMA_MAX_BYTES = 2048 }; /* the largest matrix: 16 x 16 of f64 */

/* A matrix of an instruction. A run is a row or, in a narrow B, a column. */
struct wmma_matrix {
	uint8_t type; /* enum ptx_type of an element */
	unsigned bits;
	unsigned runs, run; /* number of runs, and elements of one */
	bool columns;       /* runs are columns */
};

enum wmma_which { WMMA_A, WMMA_B, WMMA_C };

static inline struct wmma_matrix wmma_matrix(const struct ptx_mods *m, enum wmma_which which, unsigned type)
{
	struct wmma_matrix x = {.type = (uint8_t)type, .bits = ptx_type_bits(type)};

	if (type == PTX_TF32)
		x.bits = 32;
	x.runs = which == WMMA_B ? m->mma_k : m->mma_m;
	x.run = which == WMMA_A ? m->mma_k : m->mma_n;
	if (which == WMMA_B && x.bits < 8) {
		x.columns = true;
		x.runs = m->mma_n;
		x.run = m->mma_k;
	}
	return x;
}

static inline unsigned wmma_bytes(const struct wmma_matrix *x)
{
	return x->runs * x->run * x->bits / 8;
}

/* Bytes of a register's slot. */
static inline unsigned wmma_slot(const struct wmma_matrix *x)
{
	return x->bits == 64 ? 8 * LANES : 4 * LANES;
}

/* True if n registers hold the matrix a whole number of times. */
static inline bool wmma_fits(const struct wmma_matrix *x, unsigned n)
{
	unsigned bytes = wmma_bytes(x), room = n * wmma_slot(x);

	return bytes && bytes <= WMMA_MAX_BYTES && room >= bytes && room % bytes == 0 && bytes % wmma_slot(x) == 0;
}

/* Copy a matrix from and to the slots list[0], list[1] ... of a frame. */
static inline void wmma_gather(const uint8_t *regs, const uint32_t *list, const struct wmma_matrix *x, void *to)
{
	unsigned slot = wmma_slot(x);

	for (unsigned at = 0; at < wmma_bytes(x); at += slot)
		memcpy((uint8_t *)to + at, regs + list[at / slot], slot);
}

static inline void wmma_scatter(
	uint8_t *regs, const uint32_t *list, unsigned n, const struct wmma_matrix *x, const void *from)
{
	unsigned slot = wmma_slot(x);

	for (unsigned i = 0; i < n; i++)
		memcpy(regs + list[i], (const uint8_t *)from + i * slot % wmma_bytes(x), slot);
}
