/* Runs one grid (interp_launch): prepares constants and memory sizes, starts the grid threads, returns the fault. */
#include "ptx/interp/core.h"
#include "ptx/interp/decode/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t reloc_value(const struct grid *g, const struct const_reloc *r)
{
	const struct interp_host *h = g->launch->host;

	if (r->var->space == PTX_SHARED)
		return g->shared_static + (uint64_t)r->addend; /* unsized variables lie after the static ones */
	return h->address(h->arg, r->var) + (uint64_t)r->addend;
}

/* The constants of a function with the addresses of this launch; x->consts itself if it has no addresses. */
static const uint8_t *make_consts(const struct grid *g, const struct xfunc *x)
{
	uint32_t start = x->frame_size - x->consts_size;
	uint8_t *c;

	if (!x->nrelocs)
		return x->consts;
	c = aligned_alloc(64, (x->consts_size + 63) & ~(size_t)63);
	if (!c)
		return NULL;
	memcpy(c, x->consts, x->consts_size);
	for (uint32_t i = 0; i < x->nrelocs; i++)
		slot_fill(c + (x->relocs[i].slot - start), x->relocs[i].width, reloc_value(g, &x->relocs[i]));
	return c;
}

static bool grid_init(struct grid *g, const struct interp_kernel *k, struct interp_launch *l)
{
	const struct ptx_function *f = k->entry->fn;
	uint64_t stack = l->stack_limit ? l->stack_limit : 1024;

	memset(g, 0, sizeof(*g));
	g->launch = l;
	g->kernel = k;
	pthread_mutex_init(&g->lock, NULL);
	g->nblocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	g->cluster_size = 1;
	for (int i = 0; i < 3; i++)
		g->cluster_size *= g->cluster[i] = l->cluster[i] ? l->cluster[i] : 1;
	g->nthreads = l->block[0] * l->block[1] * l->block[2];
	g->nwarps = (g->nthreads + LANES - 1) / LANES;
	g->shared_static = f->shared_static;
	g->shared_size = ((f->shared_static + l->shared + 15) & ~15ULL) + RESERVED_SHARED;
	g->local_size = (k->local_total + 15) & ~15ULL;
	g->stack_size = UINT32_MAX;
	if (f->local_unbounded) {
		g->local_size = (g->local_size + stack + 15) & ~15ULL;
		g->stack_size = k->local_total + stack;
	}
	g->calls_size = g->local_size;
	if (k->has_alloca)
		g->local_size += (stack + 15) & ~15ULL;
	g->params_size = f->param_size;
	g->params = aligned_alloc(64, (g->params_size + 127) & ~63ULL);
	g->consts = calloc(k->program->nfuncs, sizeof(*g->consts));
	if (!g->params || !g->consts)
		return false;
	memset(g->params, 0, (g->params_size + 127) & ~63ULL);
	memcpy(g->params, l->params, l->params_size < g->params_size ? l->params_size : g->params_size);
	for (uint32_t i = 0; i < k->nfuncs; i++) {
		g->consts[k->funcs[i]->index] = make_consts(g, k->funcs[i]);
		if (!g->consts[k->funcs[i]->index])
			return false;
	}
	return true;
}

static void grid_finish(struct grid *g)
{
	const struct interp_kernel *k = g->kernel;

	for (uint32_t i = 0; g->consts && i < k->nfuncs; i++)
		if (g->consts[k->funcs[i]->index] != k->funcs[i]->consts)
			free((void *)(uintptr_t)g->consts[k->funcs[i]->index]);
	free(g->consts);
	free(g->params);
	pthread_mutex_destroy(&g->lock);
}

static void run_grid(struct grid *g)
{
	const struct interp_host *h = g->launch->host;
	uint64_t clusters = g->nblocks / g->cluster_size, n = h->threads < clusters ? h->threads : clusters;

	if (n > 1 && h->parallel)
		h->parallel(h->arg, n, grid_thread_run, g);
	else
		grid_thread_run(g, 0);
}

static const char *fault_text(int fault)
{
	return fault == INTERP_TIMEOUT         ? "the kernel ran past its deadline"
	       : fault == INTERP_STOPPED       ? "the kernel was stopped"
	       : fault == INTERP_OUT_OF_MEMORY ? "out of memory"
					       : "the kernel failed";
}

enum interp_fault grid_launch(const struct interp_kernel *k, struct interp_launch *l, unsigned depth)
{
	int fault = INTERP_OUT_OF_MEMORY;
	struct grid *g = aligned_alloc(64, sizeof(*g));

	l->message[0] = 0;
	if (g && grid_init(g, k, l)) {
		g->depth = depth;
		jit_launch_begin(&g->jit, k->jit, l);
		if (jit_launch_allowed(&g->jit, l->message, sizeof(l->message)))
			run_grid(g);
		else
			atomic_store(&g->fault, INTERP_NOT_SUPPORTED);
		jit_launch_end(&g->jit);
		fault = atomic_load(&g->fault);
		if (!fault && (fault = atomic_load(&g->checked_fault)))
			snprintf(l->message, sizeof(l->message), "its invalid accesses were reported");
		if (!fault && atomic_load(&g->asserted))
			fault = INTERP_ASSERT;
		fault = nested_run(g, fault);
	}
	if (fault && !l->message[0])
		snprintf(l->message, sizeof(l->message), "%s", fault_text(fault));
	if (g)
		grid_finish(g);
	free(g);
	return (enum interp_fault)fault;
}

enum interp_fault interp_launch(const struct interp_kernel *k, struct interp_launch *l)
{
	return grid_launch(k, l, 0);
}
