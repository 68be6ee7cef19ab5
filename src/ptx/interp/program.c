/* Programs and kernels: a program's decoded functions, and for each kernel the set of functions it can reach. */
#include "ptx/interp/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHARED = 1 << 20, MAX_LOCAL_TOTAL = 1 << 20 };

struct interp_program *interp_create(struct ptx_module *m)
{
	struct interp_program *p = calloc(1, sizeof(*p));

	if (p)
		p->module = m;
	return p;
}

/* Frees the results of decoding; the function can be decoded again. */
static void func_clear(struct xfunc *x)
{
	struct call_site *next;

	for (uint32_t i = 0; i < x->ninsts; i++)
		if (x->insts[i].run == x_brx)
			free((void *)(uintptr_t)x->insts[i].data);
	for (struct call_site *s = x->calls; s; s = next) {
		next = s->next;
		free(s->args);
		free(s->rets);
		free(s);
	}
	free(x->insts);
	free(x->consts);
	free(x->relocs);
	free(x->lists);
	free(x->list_widths);
	free(x->params);
	free(x->rets);
	checked_sites_destroy(x->sites);
	free(x->slots);
	free(x->first);
	free(x->join_at);
	*x = (struct xfunc){.fn = x->fn, .index = x->index};
}

void interp_destroy(struct interp_program *p)
{
	struct interp_kernel *next;

	if (!p)
		return;
	jit_program_settle(p);
	for (struct interp_kernel *k = p->kernels; k; k = next) {
		next = k->next;
		jit_kernel_destroy(k->jit);
		free(k->funcs);
		free(k);
	}
	for (uint32_t i = 0; i < p->nfuncs; i++) {
		func_clear(p->funcs[i]);
		free(p->funcs[i]);
	}
	free(p->funcs);
	free(p);
}

bool interp_defer(struct interp_program *p, void (*then)(void *arg), void *arg)
{
	return p && jit_program_defer(p, then, arg);
}

struct xfunc *program_func(struct interp_program *p, struct ptx_function *f)
{
	struct xfunc **list, *x;

	for (uint32_t i = 0; i < p->nfuncs; i++)
		if (p->funcs[i]->fn == f)
			return p->funcs[i];
	list = realloc(p->funcs, (p->nfuncs + 1) * sizeof(*list));
	if (!list)
		return NULL;
	p->funcs = list;
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->fn = f;
	x->index = p->nfuncs;
	p->funcs[p->nfuncs++] = x;
	return x;
}

uint64_t interp_function_address(const struct ptx_function *f)
{
	return (uint64_t)(uintptr_t)ptx_function_definition((struct ptx_function *)f);
}

const struct xfunc *kernel_func_at(const struct interp_kernel *k, uint64_t address)
{
	for (uint32_t i = 0; i < k->nfuncs; i++)
		if ((uint64_t)(uintptr_t)k->funcs[i]->fn == address && !k->funcs[i]->fn->is_entry)
			return k->funcs[i];
	return NULL;
}

static bool has_allocas(const struct interp_kernel *k)
{
	for (uint32_t i = 0; i < k->nfuncs; i++)
		for (uint32_t n = 0; n < k->funcs[i]->ninsts; n++)
			if (k->funcs[i]->insts[n].in && k->funcs[i]->insts[n].in->op == PTX_OP_alloca)
				return true;
	return false;
}

size_t interp_kernel_local(const struct interp_kernel *k)
{
	return k->local_total;
}

/* ---- kernels ---------------------------------------------------------------------------------------- */

/* Adds the definition of f to the kernel's functions, unless it has no body (a builtin) or is there already. */

static int kernel_add_function(struct interp_kernel *k, struct ptx_function *f)
{
	struct xfunc **list, *x;

	f = ptx_function_definition(f);
	if (!f->is_defined)
		return 0;
	for (uint32_t i = 0; i < k->nfuncs; i++)
		if (k->funcs[i]->fn == f)
			return 0;
	x = program_func(k->program, f);
	list = realloc(k->funcs, (k->nfuncs + 1) * sizeof(*list));
	if (list)
		k->funcs = list;
	if (!x || !list)
		return -ENOMEM;
	k->funcs[k->nfuncs++] = x;
	return 0;
}

static int prepare_function(struct interp_program *p, struct xfunc *x, struct decode_error *e)
{
	int r = ptx_function_analyze(x->fn);

	if (r) {
		if (x->fn->error.line)
			ptx_error_format(&x->fn->error, e->why, e->size);
		else
			snprintf(e->why, e->size, "%s: %s", x->fn->name, r == -ENOMEM ? "out of memory" : "no body");
		return r;
	}
	if (x->insts)
		return 0;
	r = decode_function(p, x, e);
	if (r)
		func_clear(x);
	return r;
}

/* Adds every function that an indirect call may reach. */
static int kernel_add_pointer_targets(struct interp_kernel *k)
{
	struct ptx_module *m = k->program->module;
	int r = 0;

	for (m = m->head ? m->head : m; m; m = m->peer)
		for (struct ptx_function *t = m->functions; t && !r; t = t->next)
			if (t->address_taken && !t->is_entry)
				r = kernel_add_function(k, t);
	return r;
}

/* Decodes the kernel's functions; the list grows by the callees of each. */
static int kernel_add_reachable(struct interp_kernel *k, struct decode_error *e)
{
	for (uint32_t i = 0; i < k->nfuncs; i++) {
		struct ptx_function *f = k->funcs[i]->fn;
		int r = prepare_function(k->program, k->funcs[i], e);

		for (uint32_t n = 0; !r && n < f->ncallees; n++)
			r = kernel_add_function(k, f->callees[n]);
		if (!r && f->has_indirect_call)
			r = kernel_add_pointer_targets(k);
		if (r)
			return r;
	}
	return 0;
}

int interp_kernel(struct interp_program *p, struct ptx_function *f, struct interp_kernel **out, char *why, size_t size)
{
	struct decode_error e = {.why = why, .size = size};
	struct interp_kernel *k;
	int r;

	if (size)
		*why = 0;
	for (k = p->kernels; k; k = k->next) {
		if (k->entry->fn == f) {
			*out = k;
			return 0;
		}
	}
	r = ptx_kernel_layout(f);
	if (r) {
		if (f->error.line)
			ptx_error_format(&f->error, why, size);
		return r;
	}
	if (f->shared_static > MAX_SHARED || f->local_total > MAX_LOCAL_TOTAL) {
		snprintf(why, size, "%s needs %llu bytes of shared and %llu of local memory", f->name,
			(unsigned long long)f->shared_static, (unsigned long long)f->local_total);
		return -EINVAL;
	}
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->program = p;
	r = kernel_add_function(k, f);
	if (!r && !k->nfuncs)
		r = -ENOENT;
	if (!r)
		r = kernel_add_reachable(k, &e);
	if (r) {
		free(k->funcs);
		free(k);
		return r;
	}
	k->entry = k->funcs[0];
	k->local_total = f->local_total;
	k->has_alloca = has_allocas(k);
	k->jit = jit_kernel_create(k);
	k->next = p->kernels;
	p->kernels = k;
	*out = k;
	return 0;
}
