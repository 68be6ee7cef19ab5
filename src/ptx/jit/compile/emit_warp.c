/* Warp-wide instructions. */
#include "ptx/jit/compile/compile.h"

static bool emit_activemask(struct compiler *c)
{
	dst(c, 0, mask_bits(c, active_mask(c)));
	return true;
}

bool emit_warp(struct compiler *c, const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_activemask:
		return emit_activemask(c);
	case PTX_OP_membar:
	case PTX_OP_fence:
		LLVMBuildFence(c->b, LLVMAtomicOrderingSequentiallyConsistent, 0, "");
		return true;
	default:
		return false;
	}
}
