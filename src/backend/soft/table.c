/* The ops table of the software driver: every soft_cuX that is defined, its older names and its per-thread twin. */
#include "backend/soft/ops.h"
#include "cuda/per_thread.h"

#include "gen/soft_table.inc"

static struct cuda_ops complete_ops;

#define BASE               (&complete_ops)
#define PER_THREAD(stream) ((stream) ? (stream) : CU_STREAM_PER_THREAD)

#include "gen/cuda_complete.inc"

const struct cuda_ops *soft_complete_ops(void)
{
	complete_ops = soft_ops;
	cuda_ops_complete(&complete_ops);
	return &complete_ops;
}
