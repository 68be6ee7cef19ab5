/*
 * code_join.c - joins the kernels and variables of several pieces of code into those of one program.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/private.h"

/* The lists are sorted: definitions before declarations, visible names before static ones. */
static void drop_repeated_names(struct image_code *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nkernels; i++) {
		if (!n || c->kernels[i].local || strcmp(c->kernels[n - 1].name, c->kernels[i].name))
			c->kernels[n++] = c->kernels[i];
	}
	c->nkernels = n;
	n = 0;
	for (size_t i = 0; i < c->nglobals; i++) {
		bool local = c->globals[i].local && !c->globals[i].external;

		if (!n || local || strcmp(c->globals[n - 1].name, c->globals[i].name))
			c->globals[n++] = c->globals[i];
	}
	c->nglobals = n;
}

static void add_piece(struct image_code *to, const struct image_code *from, unsigned piece)
{
	for (size_t i = 0; i < from->nkernels; i++) {
		to->kernels[to->nkernels] = from->kernels[i];
		to->kernels[to->nkernels++].piece = piece;
	}
	for (size_t i = 0; i < from->nglobals; i++) {
		to->globals[to->nglobals] = from->globals[i];
		to->globals[to->nglobals++].piece = piece;
	}
	to->const_bytes += from->const_bytes;
	if (from->sm > to->sm)
		to->sm = from->sm;
}

int image_code_join(struct image_code **out, struct image_code *const *pieces, unsigned n)
{
	struct image_code *c = image_code_create(n ? pieces[0]->kind : IMAGE_PTX, SIZE_MAX);
	size_t kernels = 0, globals = 0;

	*out = NULL;
	if (!c)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		kernels += pieces[i]->nkernels;
		globals += pieces[i]->nglobals;
	}
	c->kernels = image_code_alloc(c, kernels, sizeof *c->kernels);
	c->globals = image_code_alloc(c, globals, sizeof *c->globals);
	if (!c->kernels || !c->globals) {
		image_code_destroy(c);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < n; i++)
		add_piece(c, pieces[i], i);
	image_code_sort(c);
	drop_repeated_names(c);
	*out = c;
	return 0;
}
