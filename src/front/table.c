#include "front/table.h"
#include "cuda/slots.h"

_Static_assert(sizeof(struct cuda_ops) == cuda_OP_COUNT * sizeof(proc_fn), "a table is nothing but functions");

void table_put(union table *t, const struct cuda_ops *from)
{
	slots_put(t, from, cuda_OP_COUNT);
}

void table_fill(union table *t, proc_fn rest)
{
	slots_fill(t, rest, cuda_OP_COUNT);
}
