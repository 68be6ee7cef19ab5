/* The kernels and variables of parsed PTX modules as a struct image_code. */
#include "backend/soft/code/ptx_code.h"

#include <errno.h>
#include <string.h>

/* After ptx_link, a function or variable that gave way to another definition points to it. */
static bool kernel_is_listed(const struct ptx_function *f)
{
	return f->is_entry && f->is_defined && !f->alias_of;
}

static bool variable_is_listed(const struct ptx_var *v)
{
	return (v->space == PTX_GLOBAL || v->space == PTX_CONST || v->space == PTX_TEX) && !v->defined_by;
}

struct code_counts {
	size_t kernels, params, globals;
};

static struct code_counts count_module(const struct ptx_module *m)
{
	struct code_counts n = {0};

	for (const struct ptx_function *f = m->functions; f; f = f->next)
		if (kernel_is_listed(f)) {
			n.kernels++;
			n.params += f->nparams;
		}
	for (const struct ptx_var *v = m->vars; v; v = v->next)
		n.globals += variable_is_listed(v);
	return n;
}

static void describe_kernel(struct image_kernel *k, const struct ptx_function *f, struct image_param *params)
{
	*k = (struct image_kernel){
		.name = f->name,
		.params = params,
		.nparams = f->nparams,
		.param_bytes = (uint32_t)f->param_size,
		.min_blocks = f->minnctapersm,
		.max_regs = f->maxnreg,
		.max_cluster_rank = f->maxclusterrank,
		.explicit_cluster = f->explicitcluster,
		.blocks_are_clusters = f->blocksareclusters,
		.local = f->linkage == PTX_LINK_STATIC,
		.unmeasured = true,
	};
	memcpy(k->max_threads, f->maxntid, sizeof k->max_threads);
	memcpy(k->req_threads, f->reqntid, sizeof k->req_threads);
	memcpy(k->cluster, f->reqnctapercluster, sizeof k->cluster);
	for (uint32_t i = 0; i < f->nparams; i++)
		params[i] = (struct image_param){(uint32_t)f->params[i]->offset, (uint32_t)f->params[i]->size};
}

static struct image_global describe_variable(const struct ptx_var *v)
{
	return (struct image_global){
		.name = v->name,
		.size = v->size,
		.align = v->align,
		.space = v->space == PTX_CONST ? IMAGE_SPACE_CONST : IMAGE_SPACE_GLOBAL,
		.managed = v->managed,
		.external = v->linkage == PTX_LINK_EXTERN,
		.local = v->linkage == PTX_LINK_STATIC,
		.opaque = v->space == PTX_TEX || ptx_type_kind(v->type) == PTX_KIND_OPAQUE,
	};
}

/* Appends the module's declarations; the arrays of `code` and `params` have room for them. */
static void add_module(struct image_code *code, const struct ptx_module *m, unsigned piece, struct image_param **params)
{
	uint64_t const_bytes = 0;

	for (const struct ptx_function *f = m->functions; f; f = f->next)
		if (kernel_is_listed(f)) {
			struct image_kernel *k = &code->kernels[code->nkernels++];

			describe_kernel(k, f, *params);
			k->piece = piece;
			*params += f->nparams;
		}
	for (const struct ptx_var *v = m->vars; v; v = v->next)
		if (variable_is_listed(v)) {
			struct image_global *g = &code->globals[code->nglobals++];

			*g = describe_variable(v);
			g->piece = piece;
			if (g->space == IMAGE_SPACE_CONST && !g->external)
				const_bytes = (const_bytes + g->align - 1) / g->align * g->align + g->size;
		}
	code->const_bytes += const_bytes;
	if (m->sm > code->sm)
		code->sm = m->sm;
}

int ptx_code_create(struct image_code **out, struct ptx_module *const *modules, unsigned n)
{
	struct code_counts total = {0};
	struct image_code *code;
	struct image_param *params;

	for (unsigned i = 0; i < n; i++) {
		struct code_counts one = count_module(modules[i]);

		total.kernels += one.kernels;
		total.params += one.params;
		total.globals += one.globals;
	}
	*out = code = image_code_create(IMAGE_PTX, SIZE_MAX);
	if (!code)
		return -ENOMEM;
	params = image_code_alloc(code, total.params, sizeof *params);
	code->kernels = image_code_alloc(code, total.kernels, sizeof *code->kernels);
	code->globals = image_code_alloc(code, total.globals, sizeof *code->globals);
	if (!params || !code->kernels || !code->globals) {
		image_code_destroy(code);
		*out = NULL;
		return -ENOMEM;
	}
	for (unsigned i = 0; i < n; i++)
		add_module(code, modules[i], i, &params);
	image_code_sort(code);
	return 0;
}

int ptx_code_measure(struct image_kernel *k, struct ptx_function *f)
{
	int r = f ? ptx_kernel_layout(f) : -ENOENT;

	if (!r && f->shared_static > UINT32_MAX)
		r = -E2BIG;
	if (!r && k->unmeasured) {
		k->shared_bytes = (uint32_t)f->shared_static;
		k->local_bytes = (uint32_t)f->local_total;
	}
	/* Readers that see the flag cleared read the sizes without the lock of the modules. */
	__atomic_store_n(&k->unmeasured, false, __ATOMIC_RELEASE);
	return r;
}
