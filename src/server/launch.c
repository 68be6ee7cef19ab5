/* Launches: the parameters come as the bytes the kernel will see. */
#include "server/msg.h"

#define ATTRIBUTES 16

void serve_launch(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_launch a;

	msg_args(m, &a, sizeof a);
	CUfunction f = msg_handle(m, HANDLE_CUfunction, a.function);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	CUlaunchAttribute *attributes = msg_in(m, a.attributes, wire_bytes(a.attributes, sizeof *attributes));
	void *params = msg_in(m, true, a.params);
	size_t size = a.params;
	if (a.attributes > ATTRIBUTES)
		m->broken = true;
	if (msg_bad(m))
		return;
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END,
	};
	if (!a.attributes && !a.cooperative) {
		msg_result(m, ops->cuLaunchKernel(f, a.grid[0], a.grid[1], a.grid[2], a.block[0], a.block[1], a.block[2],
				      a.shared, stream, NULL, extra));
		return;
	}
	CUlaunchAttribute all[ATTRIBUTES + 1];
	CUlaunchConfig c = {
		.gridDimX = a.grid[0], .gridDimY = a.grid[1], .gridDimZ = a.grid[2], .blockDimX = a.block[0],
		.blockDimY = a.block[1], .blockDimZ = a.block[2], .sharedMemBytes = a.shared, .hStream = stream, .attrs = all,
	};
	for (; c.numAttrs < a.attributes; c.numAttrs++)
		all[c.numAttrs] = attributes[c.numAttrs];
	if (a.cooperative) {
		all[c.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
		all[c.numAttrs++].value.cooperative = 1;
	}
	msg_result(m, ops->cuLaunchKernelEx(&c, f, NULL, extra));
}

/* What a launch needs to know, asked once a function. */
void serve_function(const struct cuda_ops *ops, struct msg *m)
{
	uint64_t id;

	msg_args(m, &id, sizeof id);
	CUfunction f = msg_handle(m, HANDLE_CUfunction, id);
	struct wire_function *out = msg_out(m, true, sizeof *out);
	void *kernel = NULL;
	if (msg_bad(m))
		return;
	if (handles_find(m->session->handles, HANDLE_CUkernel, id, &kernel)) {
		msg_result(m, ops->cuKernelGetFunction(&f, kernel));
		if (m->result)
			return;
	}
	for (unsigned i = 0; i <= WIRE_PARAMS; i++) {
		size_t offset, size;
		if (ops->cuFuncGetParamInfo(f, i, &offset, &size))
			break;
		out->params = i + 1;
		if (i == WIRE_PARAMS)
			break;
		out->param[i].offset = offset;
		out->param[i].size = size;
		out->bytes = offset + size;
	}
	for (int a = 0; a < WIRE_FUNC_ATTRS; a++)
		out->known[a] = ops->cuFuncGetAttribute(&out->attribute[a], a, f) == CUDA_SUCCESS;
	msg_result(m, CUDA_SUCCESS);
}
