/* Describes functions: their parameters, attributes and names. */
#include "server/code/code.h"

/* The handle of a function may be a kernel's: finds its function. */
static CUresult kernel_resolve(const struct cuda_ops *ops, struct msg *m, uint64_t id, CUfunction *f)
{
	void *kernel;

	if (!handles_find(m->session->handles, HANDLE_CUkernel, id, &kernel))
		return CUDA_SUCCESS;
	return ops->cuKernelGetFunction(f, kernel);
}

static void params_describe(
	const struct cuda_ops *ops, CUfunction f, struct wire_function *head, struct wire_param *out)
{
	size_t offset, size;

	for (; head->params < WIRE_PARAMS; head->params++) {
		if (ops->cuFuncGetParamInfo(f, head->params, &offset, &size))
			return;
		out[head->params] = (struct wire_param){offset, size};
		head->bytes = offset + size;
	}
}

void serve_function(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_function head = {0};
	uint64_t id;

	msg_args(m, &id, sizeof id);
	CUfunction f = msg_handle(m, HANDLE_CUfunction, id);
	uint8_t *out = msg_out(m, true, sizeof head + WIRE_PARAMS * sizeof(struct wire_param));
	if (msg_bad(m))
		return;
	msg_result(m, kernel_resolve(ops, m, id, &f));
	if (m->result)
		return;
	/* Every function has the first attribute.  Without it the function is gone, with its module. */
	msg_result(m, ops->cuFuncGetAttribute(&head.attribute[0], 0, f));
	if (m->result)
		return;
	params_describe(ops, f, &head, (struct wire_param *)(out + sizeof head));
	for (int a = 0; a < WIRE_FUNC_ATTRS; a++)
		head.known[a] = ops->cuFuncGetAttribute(&head.attribute[a], a, f) == CUDA_SUCCESS;
	memcpy(out, &head, sizeof head);
	m->out_used = (out - m->out) + wire_pad(sizeof head + head.params * sizeof(struct wire_param));
}

void serve_name(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_name a;
	const char *name = NULL;

	msg_args(m, &a, sizeof a);
	void *what = msg_handle(m, a.kernel ? HANDLE_CUkernel : HANDLE_CUfunction, a.id);
	char *out = msg_out(m, true, WIRE_NAME);
	if (msg_bad(m))
		return;
	msg_result(m, a.kernel ? ops->cuKernelGetName(&name, what) : ops->cuFuncGetName(&name, what));
	if (!m->result && (!name || strlen(name) >= WIRE_NAME))
		msg_result(m, CUDA_ERROR_NOT_SUPPORTED);
	if (!m->result)
		strcpy(out, name);
}

void serve_cluster(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cluster a;

	msg_args(m, &a, sizeof a);
	CUfunction f = msg_handle(m, HANDLE_CUfunction, a.function);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	CUlaunchAttribute *attributes = msg_in(m, a.attributes, wire_bytes(a.attributes, sizeof *attributes));
	int *out = msg_out(m, true, sizeof *out);
	if (!attributes_in(m, attributes, a.attributes) || msg_bad(m))
		return;
	CUlaunchConfig c = {
		.gridDimX = a.grid[0],
		.gridDimY = a.grid[1],
		.gridDimZ = a.grid[2],
		.blockDimX = a.block[0],
		.blockDimY = a.block[1],
		.blockDimZ = a.block[2],
		.sharedMemBytes = a.shared,
		.hStream = stream,
		.attrs = attributes,
		.numAttrs = a.attributes,
	};
	msg_result(m, a.potential ? ops->cuOccupancyMaxPotentialClusterSize(out, f, &c)
				  : ops->cuOccupancyMaxActiveClusters(out, f, &c));
}
