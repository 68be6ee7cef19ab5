/* Reports the parameters of a node to the client. */
#include "server/code/code.h"
#include "server/wait/callbacks.h"

/* A kernel may stand in place of a function: the client gets the handle that it used. */
static uint64_t function_handle(struct handles *h, void *func, void *kern)
{
	uint64_t id = handles_known(h, HANDLE_CUkernel, func ? func : kern);

	if (id)
		return id;
	return func ? handles_give(h, HANDLE_CUfunction, func) : handles_give(h, HANDLE_CUkernel, kern);
}

static uint32_t extra_params_copy(void **extra, uint8_t *to)
{
	const void *buffer = NULL;
	size_t size = 0;

	for (int i = 0; i < 8 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = *(size_t *)extra[i + 1];
	}
	if (!buffer || size > WIRE_NODE_EXTRA)
		return 0;
	memcpy(to, buffer, size);
	return size;
}

static uint32_t kernel_params_copy(const struct cuda_ops *ops, CUfunction f, void **params, uint8_t *to)
{
	size_t offset, size;
	uint32_t end = 0;

	for (unsigned i = 0; !ops->cuFuncGetParamInfo(f, i, &offset, &size); i++) {
		if (offset + size > WIRE_NODE_EXTRA || !params[i])
			return end;
		memcpy(to + offset, params[i], size);
		end = offset + size;
	}
	return end;
}

static CUresult kernel_params_get(
	const struct cuda_ops *ops, struct msg *m, CUgraphNode node, struct wire_kernel_node *w, uint8_t *to)
{
	struct handles *h = m->session->handles;
	CUDA_KERNEL_NODE_PARAMS k = {0};
	CUresult r = ops->cuGraphKernelNodeGetParams_v2(node, &k);
	CUfunction f = k.func;

	if (r)
		return r;
	*w = (struct wire_kernel_node){
		.function = function_handle(h, k.func, k.kern),
		.context = handles_known(h, HANDLE_CUcontext, k.ctx),
		.grid = {k.gridDimX, k.gridDimY, k.gridDimZ},
		.block = {k.blockDimX, k.blockDimY, k.blockDimZ},
		.shared = k.sharedMemBytes,
	};
	if (!f || handles_known(h, HANDLE_CUkernel, f))
		r = ops->cuKernelGetFunction(&f, f ? (CUkernel)f : k.kern);
	if (!r && k.kernelParams)
		w->params = kernel_params_copy(ops, f, k.kernelParams, to);
	else if (!r && k.extra)
		w->params = extra_params_copy(k.extra, to);
	return r;
}

static CUresult copy_params_get(const struct cuda_ops *ops, struct msg *m, CUgraphNode node, struct wire_copy_node *w)
{
	CUresult r = ops->cuGraphMemcpyNodeGetParams(node, &w->copy);

	if (r)
		return r;
	w->source = handles_give(m->session->handles, HANDLE_CUarray, w->copy.srcArray);
	w->target = handles_give(m->session->handles, HANDLE_CUarray, w->copy.dstArray);
	w->copy.srcArray = w->copy.dstArray = NULL;
	return CUDA_SUCCESS;
}

static CUresult host_params_get(const struct cuda_ops *ops, CUgraphNode node, uint64_t *id)
{
	CUDA_HOST_NODE_PARAMS p;
	CUresult r = ops->cuGraphHostNodeGetParams(node, &p);

	*id = r || p.fn != callback_host_function ? 0 : (uintptr_t)p.userData;
	return r;
}

static CUresult alloc_params_get(
	const struct cuda_ops *ops, CUgraphNode node, struct wire_node *w, uint8_t *to, size_t *extra)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = {0};
	CUresult r = ops->cuGraphMemAllocNodeGetParams(node, &p);

	if (r)
		return r;
	w->u.alloc = (struct wire_alloc_node){.pool = p.poolProps, .bytes = p.bytesize};
	w->u.alloc.pool.win32SecurityAttributes = NULL;
	w->node = p.dptr;
	if (p.accessDescs && p.accessDescCount <= WIRE_NODE_EXTRA / sizeof *p.accessDescs) {
		w->u.alloc.access = p.accessDescCount;
		*extra = p.accessDescCount * sizeof *p.accessDescs;
		memcpy(to, p.accessDescs, *extra);
	}
	return CUDA_SUCCESS;
}

static CUresult memop_params_get(const struct cuda_ops *ops, struct msg *m, CUgraphNode node, struct wire_memop_node *w,
	uint8_t *to, size_t *extra)
{
	CUDA_BATCH_MEM_OP_NODE_PARAMS p = {0};
	CUresult r = ops->cuGraphBatchMemOpNodeGetParams(node, &p);

	if (r)
		return r;
	if (p.count > WIRE_NODE_EXTRA / sizeof *p.paramArray)
		return CUDA_ERROR_NOT_SUPPORTED;
	*w = (struct wire_memop_node){handles_known(m->session->handles, HANDLE_CUcontext, p.ctx), p.count, p.flags};
	*extra = p.count * sizeof *p.paramArray;
	memcpy(to, p.paramArray, *extra);
	return CUDA_SUCCESS;
}

void serve_node_get(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_node_get a;
	size_t extra = 0;

	msg_args(m, &a, sizeof a);
	CUgraphNode node = msg_handle(m, HANDLE_CUgraphNode, a.node);
	struct wire_node *out = msg_out(m, true, sizeof *out + WIRE_NODE_EXTRA);
	if (!node)
		m->error = CUDA_ERROR_INVALID_VALUE;
	if (msg_bad(m))
		return;
	uint8_t *to = (uint8_t *)(out + 1);
	out->type = a.type;
	switch (a.type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		msg_result(m, kernel_params_get(ops, m, node, &out->u.kernel, to));
		extra = out->u.kernel.params;
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		msg_result(m, copy_params_get(ops, m, node, &out->u.copy));
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		msg_result(m, host_params_get(ops, node, &out->u.host.id));
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		msg_result(m, alloc_params_get(ops, node, out, to, &extra));
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		msg_result(m, memop_params_get(ops, m, node, &out->u.memop, to, &extra));
		break;
	default:
		msg_result(m, CUDA_ERROR_NOT_SUPPORTED);
	}
	m->out_used = ((uint8_t *)out - m->out) + wire_pad(sizeof *out + extra);
}
