/*
 * tex.h - what the texture instructions share.  Private to tex_*.c.
 */
#pragma once

#include "ptx/interp/texture/texture.h"
#include "ptx/interp/warp.h"

/* Where the operands stand: tex has a second result and a sampler, surfaces have neither. */
enum { TEX_OP_TEXTURE = 2, TEX_OP_COORDS = 4, TEX_SRC_COORDS = 2, TEX_SRC_EXTRA = 3 };

/* Which coordinates a geometry has: an array's index comes first. */
struct tex_geometry {
	uint8_t dims;
	bool layered, cube;
};
struct tex_geometry tex_geometry(unsigned geom); /* dims 0: not supported */

/* The 32-bit word of lane i in element e of the vector operand that source n is; 0 if it has fewer. */
uint32_t tex_word(const struct warp *w, const struct xinst *x, unsigned n, unsigned op, unsigned e, unsigned i);
/* Looks a lane's handle up; the last answer is kept in *handle, *t. NULL: there is no such thing, and the
 * warp faults. */
const struct texture *tex_lookup(struct warp *w, uint64_t want, uint64_t *handle, const struct texture **t);
/* All active lanes from one texture, if it and the instruction are plain enough; else false. */
bool tex_plain(struct warp *w, const struct xinst *x, const struct texture *t, struct tex_geometry g, struct texel *r);
/* A value of the texture's properties. */
uint32_t tex_query(const struct texture *t, unsigned query, unsigned level);

exec_fn tex_choose(const struct ptx_inst *in);
exec_fn surf_choose(const struct ptx_inst *in);
