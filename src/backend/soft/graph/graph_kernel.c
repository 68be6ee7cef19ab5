/* Kernel nodes: parameters and attributes. */
#include "backend/soft/graph/graph.h"

#include <stdlib.h>

#include "backend/soft/code/launch.h"

static unsigned attributes_to_launch(const struct kernel_attributes *a, CUlaunchAttribute *to)
{
	unsigned n = 0;

	for (unsigned i = 0; a && i <= CU_LAUNCH_ATTRIBUTE_MAX; i++)
		if (a->set & 1u << i)
			to[n++] = (CUlaunchAttribute){.id = i, .value = a->value[i]};
	return n;
}

static CUresult call_launch(const CUDA_KERNEL_NODE_PARAMS_v3 *k, const struct kernel_attributes *a, CUstream stream)
{
	CUlaunchAttribute attrs[CU_LAUNCH_ATTRIBUTE_MAX + 1];
	CUlaunchConfig config = {k->gridDimX, k->gridDimY, k->gridDimZ, k->blockDimX, k->blockDimY, k->blockDimZ,
		k->sharedMemBytes, stream, attrs, attributes_to_launch(a, attrs)};

	return soft_cuLaunchKernelEx(&config, k->func ? k->func : (CUfunction)k->kern, k->kernelParams, k->extra);
}

/* The context of a CUfunction is fixed; a CUkernel runs in the context that the node names, or in the current one. */
static CUresult kernel_find_context(CUDA_KERNEL_NODE_PARAMS_v3 *k)
{
	struct function *f = k->func ? object_find(k->func, KIND_FUNCTION) : NULL;

	if (!k->func && !k->kern)
		return CUDA_ERROR_INVALID_VALUE;
	if (f)
		k->ctx = object_handle(CUcontext, f->object.ctx);
	object_put(f);
	return CUDA_SUCCESS;
}

CUresult content_kernel(struct node_content *c, const struct kernel_attributes *attributes)
{
	CUDA_KERNEL_NODE_PARAMS_v3 *k = &c->params.kernel;
	struct collector b;
	CUresult r = kernel_find_context(k);

	if (r)
		return r;
	r = collect_begin(&b, k->ctx);
	if (r)
		return r;
	k->ctx = object_handle(CUcontext, b.ctx);
	r = collect_end(&b, call_launch(k, attributes, b.handle), &c->work);
	if (r)
		return r;
	if (attributes && attributes->set) {
		c->attributes = malloc(sizeof *attributes);
		if (!c->attributes)
			return CUDA_ERROR_OUT_OF_MEMORY;
		*c->attributes = *attributes;
	}
	return content_show_kernel(c);
}

/* Sets kernelParams to pointers into the command's copy of the parameters. */
static CUresult content_show_params(struct node_content *c, struct kernel_launch *l)
{
	const struct image_kernel *k = l->function->kernel;
	void **params;

	c->params.kernel.kernelParams = NULL;
	c->params.kernel.extra = NULL;
	if (!k->nparams)
		return CUDA_SUCCESS;
	params = malloc(k->nparams * sizeof *params);
	if (!params)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < k->nparams; i++)
		params[i] = l->params + k->params[i].offset;
	c->params.kernel.kernelParams = c->work->owned = params;
	return CUDA_SUCCESS;
}

static CUresult show_attributes(struct node_content *c, const struct kernel_launch *l)
{
	bool cluster = l->cluster[0] > 1 || l->cluster[1] > 1 || l->cluster[2] > 1;

	if (c->attributes || (!cluster && !(l->flags & LAUNCH_COOPERATIVE)))
		return CUDA_SUCCESS;
	c->attributes = calloc(1, sizeof *c->attributes);
	if (!c->attributes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (l->flags & LAUNCH_COOPERATIVE) {
		c->attributes->set |= 1u << CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
		c->attributes->value[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative = 1;
	}
	if (cluster) {
		CUlaunchAttributeValue *v = &c->attributes->value[CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION];

		c->attributes->set |= 1u << CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
		v->clusterDim.x = l->cluster[0];
		v->clusterDim.y = l->cluster[1];
		v->clusterDim.z = l->cluster[2];
	}
	return CUDA_SUCCESS;
}

/* Sets function and shape of a captured launch. */
static void params_show_launch(CUDA_KERNEL_NODE_PARAMS_v3 *k, const struct kernel_launch *l)
{
	if (l->function->owner) /* launched as a CUkernel, the handle that the CUDA runtime uses */
		k->kern = object_handle(CUkernel, l->function->owner);
	else
		k->func = object_handle(CUfunction, l->function);
	k->ctx = object_handle(CUcontext, l->function->object.ctx);
	k->gridDimX = l->grid[0];
	k->gridDimY = l->grid[1];
	k->gridDimZ = l->grid[2];
	k->blockDimX = l->block[0];
	k->blockDimY = l->block[1];
	k->blockDimZ = l->block[2];
	k->sharedMemBytes = l->shared;
}

CUresult content_show_kernel(struct node_content *c)
{
	struct kernel_launch *l = c->work->command->data;

	if (!c->params.kernel.func && !c->params.kernel.kern)
		params_show_launch(&c->params.kernel, l);
	CUresult r = show_attributes(c, l);
	return r ? r : content_show_params(c, l);
}

/* ---- attributes ---- */

static bool attribute_is_known(CUkernelNodeAttrID id)
{
	switch (id) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return true;
	default:
		return false;
	}
}

static struct node *kernel_node_find(CUgraphNode handle)
{
	struct node *n = node_find(handle);

	return n && node_type(n) == CU_GRAPH_NODE_TYPE_KERNEL ? n : NULL;
}

CUresult soft_cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID id, CUkernelNodeAttrValue *out)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!out || !attribute_is_known(id))
		return r;
	pthread_mutex_lock(&graph_lock);
	struct node *n = kernel_node_find(handle);
	if (n) {
		const struct kernel_attributes *a = n->content.attributes;

		*out = a && a->set & 1u << id ? a->value[id] : (CUkernelNodeAttrValue){.pad = {0}};
		r = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

/* Remakes the node's work with other attributes; graph_lock held. */
static CUresult node_remake_kernel(struct node *n, const struct kernel_attributes *a)
{
	CUgraphNodeParams p = n->content.params;
	struct node_content content;
	struct user_object_list none = {NULL};
	CUresult r = content_make(&content, &p, a);

	if (r)
		return r;
	content_finish(&n->content, &none);
	n->content = content;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphKernelNodeSetAttribute(
	CUgraphNode handle, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value)
{
	struct kernel_attributes a = {0};
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!value || !attribute_is_known(id))
		return r;
	pthread_mutex_lock(&graph_lock);
	struct node *n = kernel_node_find(handle);
	if (n) {
		if (n->content.attributes)
			a = *n->content.attributes;
		a.set |= 1u << id;
		a.value[id] = *value;
		r = node_remake_kernel(n, &a);
	}
	pthread_mutex_unlock(&graph_lock);
	return r;
}

CUresult soft_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	static const struct kernel_attributes none;
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&graph_lock);
	struct node *to = kernel_node_find(dst), *from = kernel_node_find(src);
	if (to && from)
		r = to == from ? CUDA_SUCCESS
			       : node_remake_kernel(to, from->content.attributes ? from->content.attributes : &none);
	pthread_mutex_unlock(&graph_lock);
	return r;
}
