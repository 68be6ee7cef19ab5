/* Copies of boxes: each side is checked by itself, then the driver gets one CUDA_MEMCPY3D. */
#include "server/copy/copy.h"
#include "server/memory/hostmem.h"
#include "server/session/live_ranges.h"

/* A side of the copy after its check. */
struct checked_side {
	CUmemorytype type;
	void *host;
	CUdeviceptr device;
	CUarray array;
	CUcontext context;
	uint64_t shared; /* first address in shared host memory; 0: not there */
};

/* The addresses from the first to the last byte that the copy touches.  False: overflow. */
static bool side_extent(const struct wire_side *s, const struct wire_block *a, uint64_t *from, uint64_t *size)
{
	struct copy_rows r = {s->x, s->y, s->z, s->pitch, s->height, a->width, a->height, a->depth};

	return copy_extent(&r, from, size) && !__builtin_add_overflow(*from, s->what, from) && *from + *size >= *from;
}

/* False: overflow. */
static bool block_size(const struct wire_block *a, uint64_t *size)
{
	return !__builtin_mul_overflow(a->width, a->height, size) && !__builtin_mul_overflow(*size, a->depth, size);
}

/* In an arena the box lies without gaps. */
static void *side_in_arena(struct msg *m, const struct wire_side *s, const struct wire_block *a, bool source)
{
	uint64_t size;

	if (s->x || s->y || s->z || s->pitch != a->width || s->height != a->height || !block_size(a, &size)) {
		m->broken = true;
		return NULL;
	}
	if (source && s->kind == WIRE_SIDE_BULK)
		return copy_piece_up(m, size);
	return copy_piece(m, source ? BULK_UP : BULK_DOWN, s->what, size);
}

static void side_in_memory(struct msg *m, const struct wire_side *s, const struct wire_block *a, struct checked_side *c)
{
	uint64_t from, size;
	bool fine = side_extent(s, a, &from, &size);

	if (s->kind == WIRE_SIDE_SHARED) {
		fine = fine && hostmem_holds(m->session, from, size);
		c->type = CU_MEMORYTYPE_HOST;
		c->host = (void *)(uintptr_t)s->what;
		c->shared = from;
	} else {
		fine = fine && copy_reachable(m, from, size);
		c->type = CU_MEMORYTYPE_DEVICE;
		c->device = s->what;
	}
	if (!fine)
		m->error = CUDA_ERROR_INVALID_VALUE;
	else if (!m->error)
		live_check(m->session, from, size, "a side of a block copy");
}

static struct checked_side side_check(struct msg *m, const struct wire_side *s, const struct wire_block *a, bool source)
{
	struct checked_side c = {0};

	switch (s->kind) {
	case WIRE_SIDE_DEVICE:
	case WIRE_SIDE_SHARED:
		side_in_memory(m, s, a, &c);
		break;
	case WIRE_SIDE_ARRAY:
		c.type = CU_MEMORYTYPE_ARRAY;
		c.array = msg_handle(m, HANDLE_CUarray, s->what);
		break;
	case WIRE_SIDE_BULK:
	case WIRE_SIDE_LATER:
		c.type = CU_MEMORYTYPE_HOST;
		c.host = side_in_arena(m, s, a, source);
		break;
	default:
		m->broken = true;
	}
	if (a->peer)
		c.context = msg_handle(m, HANDLE_CUcontext, s->context);
	return c;
}

static bool side_is_staged(const struct wire_side *s)
{
	return s->kind == WIRE_SIDE_BULK || s->kind == WIRE_SIDE_LATER;
}

static CUresult block_copy(const struct cuda_ops *ops, const struct wire_block *a, const struct checked_side *src,
	const struct checked_side *dst, CUstream stream)
{
	CUDA_MEMCPY3D_PEER p = {
		.srcXInBytes = a->src.x,
		.srcY = a->src.y,
		.srcZ = a->src.z,
		.srcLOD = a->src.lod,
		.srcMemoryType = src->type,
		.srcHost = src->host,
		.srcDevice = src->device,
		.srcArray = src->array,
		.srcContext = src->context,
		.srcPitch = a->src.pitch,
		.srcHeight = a->src.height,
		.dstXInBytes = a->dst.x,
		.dstY = a->dst.y,
		.dstZ = a->dst.z,
		.dstLOD = a->dst.lod,
		.dstMemoryType = dst->type,
		.dstHost = dst->host,
		.dstDevice = dst->device,
		.dstArray = dst->array,
		.dstContext = dst->context,
		.dstPitch = a->dst.pitch,
		.dstHeight = a->dst.height,
		.WidthInBytes = a->width,
		.Height = a->height,
		.Depth = a->depth,
	};
	CUDA_MEMCPY3D plain;

	if (a->peer)
		return ops->cuMemcpy3DPeerAsync(&p, stream);
	_Static_assert(
		sizeof plain == sizeof p, "the same layout: contexts are where CUDA_MEMCPY3D has reserved fields");
	memcpy(&plain, &p, sizeof plain);
	return ops->cuMemcpy3DAsync_v2(&plain, stream);
}

void serve_block(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_block a;
	struct checked_side src, dst;
	struct piece piece = {0};
	uint64_t size;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	if (!a.width || !a.height || !a.depth) {
		m->broken = true;
		return;
	}
	src = side_check(m, &a.src, &a, true);
	dst = side_check(m, &a.dst, &a, false);
	if (side_is_staged(&a.src) || side_is_staged(&a.dst) || a.done.word)
		copy_not_captured(ops, m, stream);
	copy_pageable_not_captured(ops, m, stream, src.shared);
	copy_pageable_not_captured(ops, m, stream, dst.shared);
	if (!msg_bad(m))
		msg_result(m, block_copy(ops, &a, &src, &dst, stream));
	if (a.dst.kind == WIRE_SIDE_BULK && !m->broken && block_size(&a, &size))
		piece = (struct piece){a.dst.what, size};
	copy_signal(m, stream, a.done, piece.size ? &piece : NULL);
}
