/* The key of a compiled kernel: a hash of everything on which the object depends. */
#include <stdio.h>
#include <string.h>

#include "ptx/interp/core.h"
#include "ptx/jit/cache.h"
#include "ptx/jit/target.h"
#include "util/build_note.h"

static void add_number(struct hash *h, uint64_t n)
{
	hash_add(h, &n, sizeof n);
}

/* Adds the length, too, so that no two pairs of texts have the same hash. */
static void add_text(struct hash *h, const char *text, size_t size)
{
	add_number(h, size);
	hash_add(h, text, size);
}

static void add_string(struct hash *h, const char *text)
{
	add_text(h, text ? text : "", text ? strlen(text) : 0);
}

static void add_var(struct hash *h, const struct ptx_var *v)
{
	const uint64_t facts[] = {v->space, v->type, v->vec, v->linkage, v->unsized, v->ptr_space, v->align,
		v->ptr_align, v->reg, v->size, v->space == PTX_GLOBAL || v->space == PTX_CONST ? 0 : v->offset};

	add_string(h, v->name);
	hash_add(h, facts, sizeof facts);
}

/* The text between the braces, and what the declaration says. */
static void add_source(struct hash *h, const struct ptx_function *f)
{
	const uint64_t facts[] = {f->module->version, f->module->sm, f->module->address_size, f->is_entry, f->ninsts,
		f->nregs, f->param_size, f->param_frame_size, f->local_size, f->shared_static, f->local_total,
		f->nparams, f->nrets};

	add_string(h, f->name);
	add_string(h, f->module->target);
	hash_add(h, facts, sizeof facts);
	hash_add(h, f->maxntid, sizeof f->maxntid);
	hash_add(h, f->reqntid, sizeof f->reqntid);
	for (uint32_t i = 0; i < f->nparams; i++)
		add_var(h, f->params[i]);
	for (uint32_t i = 0; i < f->nrets; i++)
		add_var(h, f->rets[i]);
	add_text(h, f->module->text + f->body_start, f->body_end - f->body_start);
}

/* A variable at module scope has the same name in the text, whatever its declaration says. */
static void add_relocs(struct hash *h, const struct xfunc *x)
{
	for (uint32_t i = 0; i < x->nrelocs; i++) {
		add_number(h, x->relocs[i].slot);
		add_number(h, x->relocs[i].width);
		add_number(h, (uint64_t)x->relocs[i].addend);
		add_var(h, x->relocs[i].var);
	}
}

/*
 * The decoded form as far as the object depends on it: slots and displacements.  Constants that contain addresses of
 * this process, like those of functions, give a key that no other process computes.
 */
static void add_decoded(struct hash *h, const struct xfunc *x)
{
	add_number(h, x->frame_size);
	add_text(h, (const char *)x->consts, x->consts_size);
	add_number(h, x->ninsts);
	for (uint32_t i = 0; i < x->ninsts; i++) {
		const struct xinst *n = &x->insts[i];
		const uint64_t facts[] = {n->in ? (uint64_t)(n->in - x->fn->insts) : UINT64_MAX, n->guard, n->guard_xor,
			n->dst, n->dst_width, n->dst2, n->dst2_width, n->src_not, n->access, n->n, (uint64_t)n->imm,
			n->target, n->aux};

		hash_add(h, facts, sizeof facts);
		hash_add(h, n->src, sizeof n->src);
		hash_add(h, n->src_width, sizeof n->src_width);
	}
}

void jit_cache_key(const struct jit_request *r, const char *identity, uint8_t key[HASH_BYTES])
{
	struct hash h;

	hash_init(&h, HASH_BYTES);
	add_string(&h, build_note_text);
	add_string(&h, identity);
	add_string(&h, r->cpu);
	add_string(&h, r->features);
	add_number(&h, r->variant);
	add_number(&h, r->isa);
	hash_add(&h, r->block, sizeof r->block);
	for (uint32_t i = 0; i < r->k->nfuncs; i++) {
		add_source(&h, r->k->funcs[i]->fn);
		add_relocs(&h, r->k->funcs[i]);
		add_decoded(&h, r->k->funcs[i]);
	}
	hash_finish(&h, key);
}
