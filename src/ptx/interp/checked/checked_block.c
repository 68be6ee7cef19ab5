/* The shadow of a block's shared memory: creation, and the ends of epochs. */
#include "ptx/interp/checked/checked_core.h"

#include <stdlib.h>

void interp_set_checked(struct interp_program *p)
{
	p->checked = true;
}

bool checked_block_create(struct block *b)
{
	size_t n = b->grid->shared_size;

	if (!b->grid->kernel->program->checked)
		return true;
	if (!b->grid->launch->host->checks)
		return false;
	b->checked = calloc(1, sizeof(*b->checked) + n * sizeof(struct shadow_byte));
	if (b->checked)
		b->checked->epoch = b->checked->first_epoch = 1;
	return b->checked;
}

void checked_block_destroy(struct block *b)
{
	free(b->checked);
}

void checked_block_begin(struct block *b)
{
	if (b->checked)
		b->checked->first_epoch = ++b->checked->epoch;
}

void checked_barrier(struct block *b)
{
	if (b->checked)
		b->checked->epoch++;
}
