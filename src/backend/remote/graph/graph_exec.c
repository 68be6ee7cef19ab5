/* Executable graphs. */
#include <stdlib.h>
#include "backend/remote/code/code.h"
#include "backend/remote/graph/state.h"
#include "backend/remote/session/fetch.h"
#include "util/handle.h"

struct exec_record {
	struct recycled recycled;
	bool allocates; /* has nodes that allocate or free: only the server knows whether it can be launched now */
};

static struct exec_record *exec_find(CUgraphExec handle)
{
	return record_find((uintptr_t)handle, HANDLE_CUgraphExec);
}

static CUresult exec_add(CUgraphExec *exec, const struct wire_instantiated *done)
{
	struct exec_record *x = recycle_take(&client->graph->execs);
	CUresult r;

	if (!x)
		x = recycle_create(&client->graph->execs, sizeof *x);
	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->allocates = done->memory;
	r = record_add(done->exec, HANDLE_CUgraphExec, x);
	if (r)
		recycle_put(&client->graph->execs, &x->recycled);
	else
		*exec = (CUgraphExec)(uintptr_t)done->exec;
	return r;
}

/* `log` may be NULL; else it gets up to `size` bytes with a NUL at the end. */
static CUresult exec_instantiate(
	CUgraphExec *exec, struct wire_instantiate a, char *log, size_t size, struct wire_instantiated *done)
{
	uint8_t *rest;
	size_t got;
	CUresult r;

	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	if (log)
		a.log = size < WIRE_GRAPH_LOG ? size : WIRE_GRAPH_LOG;
	r = call_fetch(WIRE_INSTANTIATE, &a, sizeof a, NULL, 0, done, sizeof *done, &rest, &got);
	if (r)
		return r;
	if (log && a.log) {
		size_t n = got < a.log ? got : a.log - 1;
		memcpy(log, rest, n);
		log[n] = '\0';
	}
	free(rest);
	return done->result ? (CUresult)done->result : exec_add(exec, done);
}

CUresult remote_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	struct wire_instantiated done = {0};
	CUresult r;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	r = exec_instantiate(exec,
		(struct wire_instantiate){(uintptr_t)graph, p->flags, call_stream(p->hUploadStream, true)}, NULL, 0,
		&done);
	p->hErrNode_out = (CUgraphNode)(uintptr_t)done.node;
	p->result_out = done.why;
	return r;
}

CUresult remote_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct wire_instantiated done;

	return exec_instantiate(exec, (struct wire_instantiate){(uintptr_t)graph, flags}, NULL, 0, &done);
}

CUresult remote_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size)
{
	struct wire_instantiated done = {0};
	CUresult r = exec_instantiate(exec, (struct wire_instantiate){(uintptr_t)graph}, log, size, &done);

	if (node)
		*node = (CUgraphNode)(uintptr_t)done.node;
	return r;
}

CUresult remote_cuGraphExecDestroy(CUgraphExec exec)
{
	struct exec_record *x = exec_find(exec);

	if (!x || !record_remove((uintptr_t)exec))
		return CUDA_ERROR_INVALID_VALUE;
	recycle_put(&client->graph->execs, &x->recycled);
	graph_copy_exec_destroyed(exec);
	return call_cuGraphExecDestroy(exec);
}

CUresult remote_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct exec_record *x = exec_find(exec);
	CUresult r;

	if (!x)
		return CUDA_ERROR_INVALID_VALUE;
	r = async_error_take();
	if (!r)
		r = call_cuGraphLaunch(exec, stream);
	return r || !x->allocates ? r : call_flush();
}

CUresult remote_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	struct exec_record *x = exec_find(exec);
	CUresult r = x ? call_cuGraphUpload(exec, stream) : CUDA_ERROR_INVALID_VALUE;

	return r || !x->allocates ? r : call_flush();
}

/* ---- updates ---- */

CUresult remote_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	struct wire_update a = {(uintptr_t)exec, (uintptr_t)graph};
	struct wire_updated done;
	CUresult r = call_sync(WIRE_UPDATE, &a, sizeof a, NULL, 0, &(struct wire_piece){&done, sizeof done}, 1);

	if (r)
		return r;
	if (info) {
		info->result = done.why;
		info->errorNode = (CUgraphNode)(uintptr_t)done.node;
		info->errorFromNode = (CUgraphNode)(uintptr_t)done.from;
	}
	return done.result;
}

/* The variant before CUDA 12: fills its results even if it fails. */
CUresult remote_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *result)
{
	CUgraphExecUpdateResultInfo info = {0};
	CUresult r = remote_cuGraphExecUpdate_v2(exec, graph, &info);

	if (node)
		*node = info.errorNode;
	if (result)
		*result = info.result;
	return r;
}
