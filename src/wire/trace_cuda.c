/* The traced table: generated, one wrapper a call around trace_begin and trace_end. */
#include "abi/cuda.h"
#include "cuda/errors.h"
#include "wire/names.h"
#include "wire/trace.h"
#include "wire/trace_cuda.h"

#define TRACED trace_behind

_Atomic(const struct cuda_ops *) trace_behind;

static uint64_t trace_enter(int op, const uint64_t *a);
static CUresult trace_leave(int op, const uint64_t *a, CUresult r, uint64_t start);

#include "gen/cuda_trace.inc"

static struct trace_entry entry(int op)
{
	const struct trace_call *c = &trace_calls[op];

	return (struct trace_entry){cuda_names[op], trace_names, trace_args + c->first, c->nargs, result_name};
}

static uint64_t trace_enter(int op, const uint64_t *a)
{
	struct trace_entry e = entry(op);

	return trace_begin(&e, a);
}

static CUresult trace_leave(int op, const uint64_t *a, CUresult r, uint64_t start)
{
	struct trace_entry e = entry(op);

	trace_end(&e, a, r, start);
	return r;
}
