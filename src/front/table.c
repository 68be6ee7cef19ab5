#include "front/table.h"

_Static_assert(sizeof(struct cuda_ops) == cuda_OP_COUNT * sizeof(proc_fn), "a table is nothing but functions");

void table_put(union table *t, const struct cuda_ops *from)
{
	const union table *f = (const union table *)from;

	for (int i = 0; i < cuda_OP_COUNT; i++)
		if (f->fn[i])
			t->fn[i] = f->fn[i];
}

void table_fill(union table *t, proc_fn rest)
{
	for (int i = 0; i < cuda_OP_COUNT; i++)
		if (!t->fn[i])
			t->fn[i] = rest;
}
