/* The traced table: generated, one wrapper a call around trace_begin and trace_end. */
#include <string.h>
#include "abi/cuda.h"
#include "gen/cuda_ops.h"
#include "wire/trace.h"

#define TRACED trace_behind

extern const struct cuda_ops *trace_behind, cuda_trace_ops;

static inline uint64_t trace_float(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof bits);
	return bits;
}

#include "gen/cuda_trace.inc"
