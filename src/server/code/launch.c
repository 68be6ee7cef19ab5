/* Launches kernels: parameters arrive as the bytes that the kernel reads. */
#include "server/code/code.h"

#define LAUNCH_ATTRIBUTES 32

/* Replaces the handle of an event in an attribute by the event. */
static bool attribute_in(struct msg *m, CUlaunchAttribute *a)
{
	void *event;

	if (a->id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE &&
		a->value.deviceUpdatableKernelNode.deviceUpdatable) {
		m->error = CUDA_ERROR_NOT_SUPPORTED; /* code on the device would use its handle */
		return false;
	}
	if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
		event = msg_handle(m, HANDLE_CUevent, (uintptr_t)a->value.programmaticEvent.event);
		a->value.programmaticEvent.event = event;
	} else if (a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
		event = msg_handle(m, HANDLE_CUevent, (uintptr_t)a->value.launchCompletionEvent.event);
		a->value.launchCompletionEvent.event = event;
	}
	return true;
}

bool attributes_in(struct msg *m, CUlaunchAttribute *a, unsigned count)
{
	if (count > LAUNCH_ATTRIBUTES)
		m->broken = true;
	for (unsigned i = 0; i < count && !m->broken && a; i++)
		if (!attribute_in(m, &a[i])) {
			msg_bad(m);
			return false;
		}
	return true;
}

static CUresult launch_with_attributes(const struct cuda_ops *ops, const struct wire_launch *a, CUfunction f,
	CUstream stream, const CUlaunchAttribute *attributes, void **extra)
{
	CUlaunchAttribute all[LAUNCH_ATTRIBUTES + 1];
	CUlaunchConfig c = {
		.gridDimX = a->grid[0],
		.gridDimY = a->grid[1],
		.gridDimZ = a->grid[2],
		.blockDimX = a->block[0],
		.blockDimY = a->block[1],
		.blockDimZ = a->block[2],
		.sharedMemBytes = a->shared,
		.hStream = stream,
		.attrs = all,
	};

	for (; c.numAttrs < a->attributes; c.numAttrs++)
		all[c.numAttrs] = attributes[c.numAttrs];
	if (a->cooperative) {
		all[c.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
		all[c.numAttrs++].value.cooperative = 1;
	}
	return ops->cuLaunchKernelEx(&c, f, NULL, extra);
}

void serve_launch(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_launch a;

	msg_args(m, &a, sizeof a);
	CUfunction f = msg_handle(m, HANDLE_CUfunction, a.function);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	CUlaunchAttribute *attributes = msg_in(m, a.attributes, wire_bytes(a.attributes, sizeof *attributes));
	void *params = msg_in(m, true, a.params);
	size_t size = a.params;
	if (!attributes_in(m, attributes, a.attributes) || msg_bad(m))
		return;
	if (a.prints)
		kernel_output_expect(m->session, stream);
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER,
		params,
		CU_LAUNCH_PARAM_BUFFER_SIZE,
		&size,
		CU_LAUNCH_PARAM_END,
	};
	if (a.attributes || a.cooperative)
		msg_result(m, launch_with_attributes(ops, &a, f, stream, attributes, extra));
	else
		msg_result(m, ops->cuLaunchKernel(f, a.grid[0], a.grid[1], a.grid[2], a.block[0], a.block[1],
				      a.block[2], a.shared, stream, NULL, extra));
}
