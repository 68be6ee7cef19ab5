#include "backend/complete.h"
#include "cuda/per_thread.h"

#define BASE          base
#define PER_THREAD(s) ((s) ? (s) : CU_STREAM_PER_THREAD)

static const struct cuda_ops *base;

#include "gen/cuda_complete.inc"

void complete_table(struct cuda_ops *t)
{
	base = t;
	cuda_ops_complete(t);
}
