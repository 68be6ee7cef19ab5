/* The client's ops table, generated from the classes in api/cuda.api, with older names and per-thread twins. */
#include "backend/remote/guard.h"
#include "cuda/per_thread.h"
#include "cuda/slots.h"
#include "gen/cuda_client.h"

#define PER_THREAD(stream) ((stream) ? (stream) : CU_STREAM_PER_THREAD)

#include "gen/cuda_client_table.inc"

#define ENTER  client_enter
#define LEAVE  client_leave
#define BEHIND cuda_remote_ops

#include "gen/cuda_guard.inc"

/* The entries of the client's table, each behind its guard. */
void guard_table(struct cuda_ops *table)
{
	slot_fn *to = (slot_fn *)table;
	slot_fn const *guards = (slot_fn const *)&guard_ops, *behind = (slot_fn const *)&cuda_remote_ops;

	for (int i = 0; i < cuda_OP_COUNT; i++)
		to[i] = behind[i] ? guards[i] : NULL;
}
