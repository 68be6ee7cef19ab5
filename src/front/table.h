/* table.h - making a full table of functions out of what a backend has. */
#pragma once

#include "front/front.h"

/* A table is an array of function pointers in the order of api/cuda.api. */
union table {
	struct cuda_ops ops;
	proc_fn fn[cuda_OP_COUNT];
};

/* Entries of `from` that are there replace those of `t`; then `rest` fills what is still empty. */
void table_put(union table *t, const struct cuda_ops *from);
void table_fill(union table *t, proc_fn rest);
