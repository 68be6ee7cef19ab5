/* Graphs as a whole: instantiating, updating, launching, the state of a capture, and drawing. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <stdlib.h>
#include "server/code/code.h"

void serve_node_attribute(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_node_attribute a;
	CUlaunchAttribute one = {0};

	msg_args(m, &a, sizeof a);
	CUgraphNode node = msg_handle(m, HANDLE_CUgraphNode, a.node);
	CUkernelNodeAttrValue *out = msg_out(m, true, sizeof *out);
	if (a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || a.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT ||
		a.id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
		m->error = CUDA_ERROR_NOT_SUPPORTED; /* no node attribute, or its handle is for device code */
	one.id = a.id;
	one.value = a.value;
	if (!attributes_in(m, &one, a.set ? 1 : 0) || msg_bad(m))
		return;
	if (a.set)
		msg_result(m, ops->cuGraphKernelNodeSetAttribute(node, a.id, &one.value));
	else
		msg_result(m, ops->cuGraphKernelNodeGetAttribute(node, a.id, out));
}

/* Does the graph allocate or free memory?  Bodies of conditional nodes cannot. */
static bool graph_has_memory_nodes(const struct cuda_ops *ops, CUgraph graph, int depth)
{
	CUgraphNode *nodes;
	size_t n = 0;
	bool found = false;

	if (depth > WIRE_GRAPH_DEPTH || ops->cuGraphGetNodes(graph, NULL, &n) || !n)
		return false;
	nodes = calloc(n, sizeof *nodes);
	if (!nodes || ops->cuGraphGetNodes(graph, nodes, &n))
		n = 0;
	for (size_t i = 0; i < n && !found; i++) {
		CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
		CUgraph child;
		if (ops->cuGraphNodeGetType(nodes[i], &type))
			continue;
		found = type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE;
		if (type == CU_GRAPH_NODE_TYPE_GRAPH && !ops->cuGraphChildGraphNodeGetGraph(nodes[i], &child))
			found = graph_has_memory_nodes(ops, child, depth + 1);
	}
	free(nodes);
	return found;
}

static void graph_instantiate(const struct cuda_ops *ops, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p, uint32_t log,
	struct wire_instantiated *out, CUgraphExec *exec)
{
	char *text = (char *)(out + 1);

	if (log)
		out->result = ops->cuGraphInstantiate_v2(exec, graph, &p->hErrNode_out, text, log);
	else
		out->result = ops->cuGraphInstantiateWithParams(exec, graph, p);
}

void serve_instantiate(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_instantiate a;
	CUgraphExec exec = NULL;

	msg_args(m, &a, sizeof a);
	CUgraph graph = msg_handle(m, HANDLE_CUgraph, a.graph);
	CUDA_GRAPH_INSTANTIATE_PARAMS p = {.flags = a.flags, .hUploadStream = msg_handle(m, HANDLE_CUstream, a.stream)};
	if (a.log > WIRE_GRAPH_LOG)
		m->broken = true;
	struct wire_instantiated *out = msg_out(m, true, sizeof *out + a.log);
	if (msg_bad(m))
		return;
	graph_instantiate(ops, graph, &p, a.log, out, &exec);
	m->out_used = (uint8_t *)(out + 1) - m->out + wire_pad(strnlen((char *)(out + 1), a.log));
	out->memory = !out->result && graph_has_memory_nodes(ops, graph, 0);
	out->why = p.result_out;
	out->node = handles_give(m->session->handles, HANDLE_CUgraphNode, p.hErrNode_out);
	if (!out->result)
		out->exec = handles_give(m->session->handles, HANDLE_CUgraphExec, exec);
}

void serve_update(const struct cuda_ops *ops, struct msg *m)
{
	CUgraphExecUpdateResultInfo info = {0};
	struct wire_update a;

	msg_args(m, &a, sizeof a);
	CUgraphExec exec = msg_handle(m, HANDLE_CUgraphExec, a.exec);
	CUgraph graph = msg_handle(m, HANDLE_CUgraph, a.graph);
	struct wire_updated *out = msg_out(m, true, sizeof *out);
	if (msg_bad(m))
		return;
	out->result = ops->cuGraphExecUpdate_v2(exec, graph, &info);
	out->why = info.result;
	out->node = handles_give(m->session->handles, HANDLE_CUgraphNode, info.errorNode);
	out->from = handles_give(m->session->handles, HANDLE_CUgraphNode, info.errorFromNode);
}

static CUresult capture_query(const struct cuda_ops *ops, CUstream stream, struct wire_captured *c, CUgraph *graph,
	const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *n)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	cuuint64_t id = 0;
	CUresult r = ops->cuStreamGetCaptureInfo_v3(stream, &status, &id, graph, nodes, edges, n);

	if (r == CUDA_ERROR_NOT_SUPPORTED)
		r = ops->cuStreamGetCaptureInfo_v2(stream, &status, &id, graph, nodes, n);
	c->status = status;
	c->id = id;
	return r;
}

void serve_capture_info(const struct cuda_ops *ops, struct msg *m)
{
	const CUgraphEdgeData *edges = NULL;
	const CUgraphNode *nodes = NULL;
	struct wire_capture_info a;
	struct wire_captured head = {0};
	CUgraph graph = NULL;
	size_t n = 0;

	msg_args(m, &a, sizeof a);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.stream);
	uint8_t *out = msg_out(m, true, sizeof head + WIRE_DEPENDENCIES * 16);
	if (msg_bad(m))
		return;
	msg_result(m, capture_query(ops, stream, &head, &graph, &nodes, &edges, &n));
	if (!m->result && n > WIRE_DEPENDENCIES)
		msg_result(m, CUDA_ERROR_NOT_SUPPORTED);
	if (m->result)
		return;
	if (head.status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
		head.graph = handles_give(m->session->handles, HANDLE_CUgraph, graph);
		head.dependencies = n;
	}
	uint8_t *to = out + sizeof head;
	for (unsigned i = 0; i < head.dependencies; i++, to += 8)
		memcpy(to, &(uint64_t){handles_give(m->session->handles, HANDLE_CUgraphNode, nodes[i])}, 8);
	if (edges && head.dependencies) {
		head.edges = 1;
		memcpy(to, edges, head.dependencies * sizeof *edges);
		to += head.dependencies * sizeof *edges;
	}
	memcpy(out, &head, sizeof head);
	m->out_used = wire_pad(to - m->out);
}

/* Draws the graph into a memfd, which the client then reads in parts. */
static CUresult graph_draw(const struct cuda_ops *ops, CUgraph graph, unsigned flags, int *fd)
{
	char path[64];

	if (*fd >= 0)
		close(*fd);
	*fd = memfd_create("graph", MFD_CLOEXEC);
	if (*fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
	return ops->cuGraphDebugDotPrint(graph, path, flags);
}

void serve_dot(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_dotted head = {0};
	struct wire_dot a;
	struct stat st;
	ssize_t n;

	msg_args(m, &a, sizeof a);
	CUgraph graph = msg_handle(m, HANDLE_CUgraph, a.graph);
	uint8_t *out = msg_out(m, true, sizeof head + WIRE_DOT_BYTES);
	if (msg_bad(m))
		return;
	if (!a.offset)
		msg_result(m, graph_draw(ops, graph, a.flags, &m->session->dot_fd));
	if (m->result)
		return;
	n = a.offset >> 62 ? -1 : pread(m->session->dot_fd, out + sizeof head, WIRE_DOT_BYTES, a.offset);
	if (n < 0 || fstat(m->session->dot_fd, &st)) {
		msg_result(m, CUDA_ERROR_INVALID_VALUE);
		return;
	}
	head.size = st.st_size;
	head.bytes = n;
	memcpy(out, &head, sizeof head);
	m->out_used = (out - m->out) + wire_pad(sizeof head + n);
}

/* The session does not remember the kernels of a graph: if any loaded code prints, any graph may. */
void serve_cuGraphLaunch(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_cuGraphLaunch a;

	msg_args(m, &a, sizeof a);
	CUgraphExec exec = msg_handle(m, HANDLE_CUgraphExec, a.hGraph);
	CUstream stream = msg_handle(m, HANDLE_CUstream, a.hStream);
	if (msg_bad(m))
		return;
	if (m->session->output.kinds & WIRE_PRINTS)
		kernel_output_expect(m->session, stream);
	msg_result(m, ops->cuGraphLaunch(exec, stream));
}
