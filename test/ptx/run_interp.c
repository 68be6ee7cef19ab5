/* Runs a spec file in the interpreter. */
#include "ptx/interp/interp.h"
#include "ptx/interp/texture/texture.h"
#include "ptx/ptx.h"
#include "spec.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
	struct spec *spec;
	struct global {
		const struct ptx_var *var;
		uint8_t *mem;
	} globals[64];
	unsigned nglobals;
	struct texture images[MAX_ARGS]; /* by argument; their addresses are the handles */
};

static bool inside(uint64_t addr, const void *mem, uint64_t n, uint64_t *base, uint64_t *size)
{
	*base = (uint64_t)(uintptr_t)mem;
	*size = n;
	return mem && addr >= *base && addr - *base < n;
}

static bool accessible(void *arg, uint64_t addr, uint64_t *base, uint64_t *size)
{
	struct world *w = arg;

	for (unsigned i = 0; i < w->spec->nargs; i++)
		if (inside(addr, w->spec->args[i].host, w->spec->args[i].bytes, base, size))
			return true;
	for (unsigned i = 0; i < w->nglobals; i++)
		if (inside(addr, w->globals[i].mem, w->globals[i].var->size, base, size))
			return true;
	return false;
}

static uint64_t address(void *arg, const struct ptx_var *v)
{
	struct world *w = arg;

	for (unsigned i = 0; i < w->nglobals; i++)
		if (w->globals[i].var == v)
			return (uint64_t)(uintptr_t)w->globals[i].mem;
	return 0;
}

static bool make_globals(struct world *w, const struct ptx_module *m)
{
	for (const struct ptx_var *v = m->vars; v; v = v->next) {
		struct global *g = &w->globals[w->nglobals];

		if ((v->space != PTX_GLOBAL && v->space != PTX_CONST) || w->nglobals == 64)
			continue;
		g->var = v;
		g->mem = aligned_alloc(256, (v->size + 255) / 256 * 256 + 256);
		if (!g->mem)
			return false;
		memset(g->mem, 0, v->size);
		if (v->init)
			memcpy(g->mem, v->init, v->init_size);
		w->nglobals++;
	}
	return true;
}

static void make_image(const struct argument *a, struct texture *t)
{
	const struct image *i = &a->image;

	*t = (struct texture){.levels = i->levels, .layers = i->layers, .cube = i->cube, .max_lod = 99};
	t->format = (uint8_t)image_format(a);
	t->channels = (uint8_t)i->channels;
	t->filter = i->linear ? TEX_LINEAR : TEX_POINT;
	t->normalized = i->normalized;
	t->read_float = i->as_float;
	memset(t->address, (int)i->address, sizeof t->address);
	for (unsigned l = 0; l < i->levels; l++) {
		struct extent e = image_level(a, l);

		t->level[l] = (struct tex_level){(uint8_t *)a->host + e.offset, e.width, i->height ? e.height : 0,
			i->depth ? e.slices : 0, e.pitch, e.pitch * e.height};
	}
}

static const struct texture *image(void *arg, uint64_t handle)
{
	struct world *w = arg;

	for (unsigned i = 0; i < w->spec->nargs; i++)
		if (w->spec->args[i].image.dims && handle == (uint64_t)(uintptr_t)&w->images[i])
			return &w->images[i];
	return NULL;
}

/* Fills the kernel's argument block, each argument at its natural alignment. */
static size_t pack(struct world *w, uint8_t *params)
{
	const struct spec *s = w->spec;
	size_t at = 0;

	for (unsigned i = 0; i < s->nargs; i++) {
		const struct argument *a = &s->args[i];
		uint64_t v = a->scalar ? a->v.bits[0] : (uint64_t)(uintptr_t)a->host;
		size_t n = a->scalar ? a->v.size : 8;

		if (a->image.dims) {
			make_image(a, &w->images[i]);
			v = (uint64_t)(uintptr_t)&w->images[i];
		}
		at = (at + n - 1) / n * n;
		memcpy(params + at, &v, n);
		at += n;
	}
	return at;
}

static int launch(struct world *w, struct ptx_module *m, struct interp_program *p, char *message, size_t size)
{
	struct interp_host host = {.arg = w, .threads = 1, .accessible = accessible, .address = address};
	struct ptx_function *f = ptx_function_find(m, w->spec->kernel);
	struct interp_launch l = {.host = &host, .shared = w->spec->shared};
	_Alignas(16) uint8_t params[8 * MAX_ARGS];
	struct interp_kernel *k;
	int r;

	if (!f || interp_kernel(p, f, &k, message, size))
		return -1;
	host.texture = image;
	memcpy(l.grid, w->spec->grid, sizeof l.grid);
	memcpy(l.block, w->spec->block, sizeof l.block);
	l.params = params;
	l.params_size = pack(w, params);
	r = interp_launch(k, &l);
	if (r)
		snprintf(message, size, "%s", l.message);
	return r;
}

int run_interp(struct spec *s, char *message, size_t size)
{
	struct ptx_module *m = ptx_module_create(s->text, s->len);
	struct interp_program *p = m ? interp_create(m) : NULL;
	struct world w = {.spec = s};
	int r = -2;

	if (p && m->error.line) {
		ptx_error_format(&m->error, message, size);
		r = -1;
	} else if (p && make_globals(&w, m)) {
		r = launch(&w, m, p, message, size);
	}
	for (unsigned i = 0; i < w.nglobals; i++)
		free(w.globals[i].mem);
	interp_destroy(p);
	ptx_module_destroy(m);
	return r;
}
