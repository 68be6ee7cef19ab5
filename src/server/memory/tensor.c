/* Tensor maps: the driver computes them from numbers alone and does not touch the memory that they name. */
#include "server/session/message.h"

static CUresult tensor_map_encode(const struct cuda_ops *ops, const struct wire_tensor *a, CUtensorMap *map)
{
	void *address = (void *)(uintptr_t)a->address;
	const cuuint64_t *strides = a->has_strides ? a->stride : NULL;

	switch (a->kind) {
	case WIRE_TENSOR_TILED:
		return ops->cuTensorMapEncodeTiled(map, a->type, a->rank, address, a->dim, strides, a->box, a->step,
			a->interleave, a->swizzle, a->promotion, a->fill);
	case WIRE_TENSOR_IM2COL:
		return ops->cuTensorMapEncodeIm2col(map, a->type, a->rank, address, a->dim, strides, a->lower, a->upper,
			a->channels, a->pixels, a->step, a->interleave, a->swizzle, a->promotion, a->fill);
	case WIRE_TENSOR_WIDE:
		return ops->cuTensorMapEncodeIm2colWide(map, a->type, a->rank, address, a->dim, strides, a->lower[0],
			a->upper[0], a->channels, a->pixels, a->step, a->interleave, a->mode, a->swizzle, a->promotion,
			a->fill);
	default:
		memcpy(map, a->map, sizeof *map);
		return ops->cuTensorMapReplaceAddress(map, address);
	}
}

void serve_tensor(const struct cuda_ops *ops, struct msg *m)
{
	_Alignas(128) CUtensorMap map = {0};
	struct wire_tensor a;

	msg_args(m, &a, sizeof a);
	m->error = CUDA_SUCCESS; /* needs no context */
	void *out = msg_out(m, true, sizeof map);
	if (a.kind > WIRE_TENSOR_REPLACE || a.rank > WIRE_TENSOR_RANK)
		m->broken = true;
	if (msg_bad(m))
		return;
	msg_result(m, tensor_map_encode(ops, &a, &map));
	if (!m->result)
		memcpy(out, &map, sizeof map);
}
