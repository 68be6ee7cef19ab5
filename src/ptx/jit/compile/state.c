/* Access to the interpreter's structures: fields, helpers, and values that do not change while compiled code runs. */
#include "ptx/jit/compile/compile.h"

#include <stdlib.h>

LLVMValueRef field_pointer(struct compiler *c, LLVMBuilderRef b, LLVMValueRef base, uint64_t offset)
{
	LLVMValueRef at = LLVMConstInt(c->i64, offset, 0);

	return offset ? LLVMBuildGEP2(b, c->i8, base, &at, 1, "") : base;
}

LLVMValueRef field_load(struct compiler *c, LLVMBuilderRef b, LLVMTypeRef t, LLVMValueRef base, uint64_t offset)
{
	return LLVMBuildLoad2(b, t, field_pointer(c, b, base, offset), "");
}

void field_store(struct compiler *c, LLVMValueRef v, LLVMValueRef base, uint64_t offset)
{
	LLVMBuildStore(c->b, v, field_pointer(c, c->b, base, offset));
}

static LLVMValueRef load_cached(struct compiler *c, enum cached_kind kind, uint32_t at)
{
	LLVMBuilderRef p = c->prologue;
	LLVMValueRef v;

	switch (kind) {
	case CACHED_BLOCK:
		return field_load(c, p, c->ptr, c->warp, offsetof(struct warp, block));
	case CACHED_GRID:
		return field_load(c, p, c->ptr, cached(c, CACHED_BLOCK, 0), offsetof(struct block, grid));
	case CACHED_LAUNCH:
		return field_load(c, p, c->ptr, c->warp, offsetof(struct warp, launch));
	case CACHED_PARAMS:
		return field_load(c, p, c->ptr, cached(c, CACHED_GRID, 0), offsetof(struct grid, params));
	case CACHED_SHARED:
		return field_load(c, p, c->ptr, cached(c, CACHED_BLOCK, 0), offsetof(struct block, shared));
	case CACHED_SHARED_SIZE:
		v = field_load(c, p, c->i64, cached(c, CACHED_GRID, 0), offsetof(struct grid, shared_size));
		return LLVMBuildTrunc(p, v, c->i32, "");
	case CACHED_LOCAL:
		return field_load(c, p, c->ptr, c->warp, offsetof(struct warp, local));
	case CACHED_LOCAL_SIZE:
		return field_load(c, p, c->i64, cached(c, CACHED_GRID, 0), offsetof(struct grid, local_size));
	case CACHED_TID:
		v = field_load(c, p, lanes_of(c->i32), c->warp, offsetof(struct warp, tid) + at * LANES * 4);
		LLVMSetAlignment(v, 64);
		return v;
	case CACHED_CTAID:
		return field_load(c, p, c->i32, cached(c, CACHED_BLOCK, 0), offsetof(struct block, ctaid) + at * 4);
	case CACHED_NTID:
		return field_load(
			c, p, c->i32, cached(c, CACHED_LAUNCH, 0), offsetof(struct interp_launch, block) + at * 4);
	case CACHED_NCTAID:
		return field_load(
			c, p, c->i32, cached(c, CACHED_LAUNCH, 0), offsetof(struct interp_launch, grid) + at * 4);
	case CACHED_CONST:
		return field_load(c, p, c->i64, c->regs, at);
	default:
		v = field_load(c, p, int_type(c, 8u << (kind - CACHED_PARAM8)), cached(c, CACHED_PARAMS, 0), at);
		LLVMSetAlignment(v, 1u << (kind - CACHED_PARAM8));
		return v;
	}
}

/* Loaded once: a value that is loaded again might have changed between a check and its use. */
LLVMValueRef cached(struct compiler *c, enum cached_kind kind, uint32_t at)
{
	struct cached_value *grown;
	LLVMValueRef v;

	for (uint32_t i = 0; i < c->ncached; i++)
		if (c->cached[i].kind == kind && c->cached[i].at == at)
			return c->cached[i].value;
	v = load_cached(c, kind, at);
	grown = realloc(c->cached, (c->ncached + 1) * sizeof(*grown));
	if (!grown) {
		compile_fail(c, -12, "out of memory");
		return v;
	}
	c->cached = grown;
	c->cached[c->ncached++] = (struct cached_value){kind, at, v};
	return v;
}

/*
 * The kernel's mode: most kernels flush either in all f32 arithmetic or in none.  Arithmetic that does not fit is
 * left to the interpreter.
 */
bool float_mode_fits(const struct compiler *c, unsigned type, bool ftz)
{
	return type == PTX_F32 ? ftz == c->flushes : !c->flushes;
}

void emit_float_mode(struct compiler *c, bool flush)
{
	if (c->flushes)
		intrinsic(c, "llvm.x86.sse.ldmxcsr", NULL, 0, &c->mxcsr[flush], 1);
}

LLVMValueRef call_helper(struct compiler *c, size_t field, LLVMTypeRef result, LLVMValueRef *args, unsigned nargs)
{
	LLVMTypeRef types[8];
	LLVMValueRef fn = field_load(c, c->b, c->ptr, c->helpers, field);

	for (unsigned i = 0; i < nargs; i++)
		types[i] = LLVMTypeOf(args[i]);
	emit_float_mode(c, false);
	fn = LLVMBuildCall2(c->b, LLVMFunctionType(result, types, nargs, 0), fn, args, nargs, "");
	emit_float_mode(c, true);
	return fn;
}

const struct xinst *decoded(const struct compiler *c, uint32_t index)
{
	return &c->x->insts[c->x->first[index + 1] - 1];
}
