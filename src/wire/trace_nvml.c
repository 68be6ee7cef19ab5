/* The traced table of NVML: generated, one wrapper a call around trace_begin and trace_end. */
#include "cuda/nvml_errors.h"
#include "wire/names.h"
#include "wire/trace.h"
#include "wire/trace_nvml.h"

#define TRACED nvml_trace_behind

_Atomic(const struct nvml_ops *) nvml_trace_behind;

static uint64_t trace_enter(int op, const uint64_t *a);
static nvmlReturn_t trace_leave(int op, const uint64_t *a, nvmlReturn_t r, uint64_t start);

#include "gen/nvml_trace.inc"

static struct trace_entry entry(int op)
{
	const struct trace_call *c = &trace_calls[op];

	return (struct trace_entry){nvml_names[op], trace_names, trace_args + c->first, c->nargs, nvml_result_name};
}

static uint64_t trace_enter(int op, const uint64_t *a)
{
	struct trace_entry e = entry(op);

	return trace_begin(&e, a);
}

static nvmlReturn_t trace_leave(int op, const uint64_t *a, nvmlReturn_t r, uint64_t start)
{
	struct trace_entry e = entry(op);

	trace_end(&e, a, r, start);
	return r;
}
