/* Reports everything that the driver knows of an address: each attribute with its own result. */
#include "server/session/message.h"

_Static_assert(
	CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE < WIRE_POINTER_ATTRS, "an attribute without room on the wire");

/* Replaces the driver's objects among the values by handles. */
static void objects_to_handles(struct msg *m, struct wire_pointer *out)
{
	struct handles *h = m->session->handles;
	uint64_t *v = out->value;

	v[CU_POINTER_ATTRIBUTE_CONTEXT] =
		handles_give(h, HANDLE_CUcontext, (void *)(uintptr_t)v[CU_POINTER_ATTRIBUTE_CONTEXT]);
	v[CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE] =
		handles_give(h, HANDLE_CUmemoryPool, (void *)(uintptr_t)v[CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE]);
}

void serve_pointer(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_pointer_ask a;

	msg_args(m, &a, sizeof a);
	struct wire_pointer *out = msg_out(m, true, sizeof *out);
	m->error = m->error == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : m->error; /* needs none */
	if (msg_bad(m))
		return;
	if (a.set) {
		msg_result(m, ops->cuPointerSetAttribute(&a.value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a.address));
		return;
	}
	for (int i = CU_POINTER_ATTRIBUTE_CONTEXT; i <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE; i++)
		if (i != CU_POINTER_ATTRIBUTE_P2P_TOKENS) /* larger than a value */
			out->result[i] = ops->cuPointerGetAttribute(&out->value[i], i, a.address);
	objects_to_handles(m, out);
	msg_result(m, CUDA_SUCCESS);
}
