/* cuGraphDebugDotPrint: a graph in the DOT language of Graphviz. */
#include "backend/soft/graph/graph.h"

#include <stdio.h>

#include "backend/soft/code/launch.h"

static const char *type_name(CUgraphNodeType type)
{
	static const char *const names[] = {
		"KERNEL",
		"MEMCPY",
		"MEMSET",
		"HOST",
		"GRAPH",
		"EMPTY",
		"WAIT_EVENT",
		"EVENT_RECORD",
		"EXT_SEMAS_SIGNAL",
		"EXT_SEMAS_WAIT",
		"MEM_ALLOC",
		"MEM_FREE",
		"BATCH_MEM_OP",
		"CONDITIONAL",
	};

	return type < sizeof names / sizeof *names ? names[type] : "?";
}

/* Escapes the name, which comes from the application's code. */
static void print_name(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc((unsigned char)*s < ' ' ? '?' : *s, f);
	}
}

static void print_kernel(FILE *f, const struct node *n, bool params)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *k = &n->content.params.kernel;
	const struct kernel_launch *l = n->content.work->command->data;

	fputs("\\n", f);
	print_name(f, l->function->kernel->name);
	if (params)
		fprintf(f, "\\ngrid %u,%u,%u\\nblock %u,%u,%u\\nshared %u", k->gridDimX, k->gridDimY, k->gridDimZ,
			k->blockDimX, k->blockDimY, k->blockDimZ, k->sharedMemBytes);
}

static void print_copy(FILE *f, const struct node *n)
{
	const CUDA_MEMCPY3D *m = &n->content.params.memcpy.copyParams;

	if (!n->content.opaque)
		fprintf(f, "\\n%zu x %zu x %zu bytes", m->WidthInBytes, m->Height, m->Depth);
}

static void print_memset(FILE *f, const struct node *n)
{
	const CUDA_MEMSET_NODE_PARAMS_v2 *m = &n->content.params.memset;

	fprintf(f, "\\n%#llx = %#x\\n%zu x %zu of %u bytes", (unsigned long long)m->dst, m->value, m->width, m->height,
		m->elementSize);
}

static void print_details(FILE *f, const struct node *n, unsigned flags)
{
	const CUgraphNodeParams *p = &n->content.params;
	unsigned all = flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE ? ~0u : flags;

	if (p->type == CU_GRAPH_NODE_TYPE_KERNEL)
		print_kernel(f, n, all & CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS);
	else if (p->type == CU_GRAPH_NODE_TYPE_MEMCPY && all & CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)
		print_copy(f, n);
	else if (p->type == CU_GRAPH_NODE_TYPE_MEMSET && all & CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)
		print_memset(f, n);
	else if (p->type == CU_GRAPH_NODE_TYPE_HOST && all & CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS)
		fprintf(f, "\\n%p(%p)", (void *)p->host.fn, p->host.userData);
	else if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && all & CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS)
		fprintf(f, "\\n%#llx, %zu bytes", (unsigned long long)p->alloc.dptr, p->alloc.bytesize);
	else if (p->type == CU_GRAPH_NODE_TYPE_MEM_FREE && all & CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS)
		fprintf(f, "\\n%#llx", (unsigned long long)p->free.dptr);
	else if ((p->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT || p->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) &&
		 all & CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS)
		fprintf(f, "\\n%p", (void *)p->eventRecord.event);
	if (all & CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES)
		fprintf(f, "\\nhandle %#llx", (unsigned long long)n->object.handle);
}

static void print_graph(FILE *f, const struct graph *g, unsigned flags)
{
	fprintf(f, "subgraph cluster_%llu {\nlabel=\"graph_%llu\" graph[style=\"dashed\"];\n", g->id, g->id);
	each_node(n, g)
	{
		fprintf(f, "\"graph_%llu_node_%u\"[style=\"solid\" shape=\"%s\" label=\"%u\\n%s", g->id, n->id,
			n->content.ngraphs ? "box" : "rectangle", n->id, type_name(node_type(n)));
		print_details(f, n, flags);
		fputs("\"];\n", f);
	}
	each_node(n, g)
	{
		for (unsigned i = 0; i < n->to.n; i++)
			fprintf(f, "\"graph_%llu_node_%u\" -> \"graph_%llu_node_%u\"%s;\n", g->id, n->id, g->id,
				n->to.at[i].node->id, n->to.at[i].data.type ? "[style=\"dotted\"]" : "");
	}
	fputs("}\n", f);
	each_node(n, g)
	{
		for (unsigned i = 0; i < n->content.ngraphs; i++)
			print_graph(f, n->content.graphs[i], flags);
	}
}

CUresult soft_cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned int flags)
{
	CUresult r = CUDA_SUCCESS;

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	struct graph *g = graph_find(handle);
	FILE *f = g ? fopen(path, "we") : NULL;
	if (f) {
		fputs("digraph dot {\n", f);
		print_graph(f, g, flags);
		fputs("}\n", f);
	}
	pthread_mutex_unlock(&graph_lock);
	if (!g)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f || ferror(f))
		r = CUDA_ERROR_OPERATING_SYSTEM;
	if (f && fclose(f))
		r = CUDA_ERROR_OPERATING_SYSTEM;
	return r;
}
