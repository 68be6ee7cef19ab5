/*
 * tex_exec.h - shared by the exec functions of texture and surface instructions.  Private to tex_*.c.
 */
#pragma once

#include "ptx/interp/texture/texture.h"
#include "ptx/interp/warp.h"

/* Operand numbers of tex and tld4, which have a second result and a sampler; surface instructions have neither. */
enum { TEX_OP_TEXTURE = 2, TEX_OP_COORDS = 4, TEX_SRC_COORDS = 2, TEX_SRC_EXTRA = 3 };

/* The coordinates of a geometry; of an array, the layer comes first. */
struct tex_geometry {
	uint8_t dims;
	bool layered, cube;
};
struct tex_geometry tex_geometry(unsigned geom); /* dims 0: not supported */

/* Lane i of element e of source n, which is operand op; 0 if the operand has fewer elements. */
uint32_t tex_word(const struct warp *w, const struct xinst *x, unsigned n, unsigned op, unsigned e, unsigned i);
/* Looks up the texture of a handle; *handle and *t cache the last one. NULL: no such handle, and a fault was raised. */
const struct texture *tex_lookup(struct warp *w, uint64_t want, uint64_t *handle, const struct texture **t);
/* Samples all active lanes from one texture; false if the texture or the instruction is not one of the plain cases. */
bool tex_plain(struct warp *w, const struct xinst *x, const struct texture *t, struct tex_geometry g, struct texel *r);
/* The value of a property: txq, suq. */
uint32_t tex_query(const struct texture *t, unsigned query, unsigned level);

exec_fn tex_choose(const struct ptx_inst *in);
exec_fn surf_choose(const struct ptx_inst *in);
