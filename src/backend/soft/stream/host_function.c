/* Host functions and callbacks, as commands. */
#include "backend/soft/stream/host_function.h"

static CUresult run_host(struct command *c)
{
	struct host_call *h = c->data;

	printf_buffer_flush(&c->ctx->printf_buffer);
	soft_in_callback = true;
	if (h->fn)
		h->fn(h->arg);
	else
		h->callback(h->handle, atomic_load(&c->ctx->error), h->arg);
	soft_in_callback = false;
	check_written_somewhere(); /* device memory is host memory here, which the function may write */
	return CUDA_SUCCESS;
}

const struct command_ops command_host = {COMMAND_HOST, run_host, NULL, false};
const struct command_ops command_callback = {COMMAND_HOST, run_host, NULL, true};

static CUresult submit_host_call(CUstream stream, const struct command_ops *ops, const struct host_call *h)
{
	struct stream *s;
	CUresult r = stream_enter(stream, &s);

	if (r)
		return r;
	struct command *c = command_create(ops, sizeof *h);
	r = CUDA_ERROR_OUT_OF_MEMORY;
	if (c) {
		*(struct host_call *)c->data = *h;
		c->blocks = true;
		r = stream_submit(s, c, NULL);
	}
	object_put(s);
	return r;
}

CUresult soft_cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *arg)
{
	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	return submit_host_call(stream, &command_host, &(struct host_call){.fn = fn, .arg = arg});
}

CUresult soft_cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *arg, unsigned int flags)
{
	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	return submit_host_call(
		stream, &command_callback, &(struct host_call){.callback = callback, .handle = stream, .arg = arg});
}
