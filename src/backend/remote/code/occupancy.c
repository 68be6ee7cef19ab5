/* Occupancy queries.  Each query is asked once and its answer kept, because libraries ask before every launch. */
#include <limits.h>
#include <stdlib.h>
#include "backend/remote/code/code.h"

#define ANSWERS_MAX       128  /* kept for a function */
#define BLOCK_THREADS_MAX 1024 /* on every device */

struct occupancy_answer {
	struct occupancy_answer *next;
	uint32_t generation; /* of the function, when it was asked */
	uint32_t number;     /* length of the list from here on */
	uint64_t value;
	uint8_t query[HASH_BYTES];
};

static bool occupancy_answer_find(struct function *f, const uint8_t *query, uint64_t *value)
{
	uint32_t now = f->generation;

	for (struct occupancy_answer *a = atomic_load_explicit(&f->answers, memory_order_acquire); a; a = a->next)
		if (a->generation == now && !memcmp(a->query, query, HASH_BYTES)) {
			*value = a->value;
			return true;
		}
	return false;
}

void occupancy_answers_free(struct occupancy_answer *list)
{
	struct occupancy_answer *next;

	for (; list; list = next) {
		next = list->next;
		free(list);
	}
}

/* Answers stay while the function lives, since other threads may be reading: hence the limit. */
static void occupancy_answer_add(struct function *f, uint32_t generation, const uint8_t *query, uint64_t value)
{
	struct occupancy_answer *first = f->answers, *a;

	if (first && first->number >= ANSWERS_MAX)
		return;
	a = malloc(sizeof *a);
	if (!a)
		return;
	*a = (struct occupancy_answer){first, generation, first ? first->number + 1 : 1, value, {0}};
	memcpy(a->query, query, HASH_BYTES);
	if (!atomic_compare_exchange_strong(&f->answers, &first, a))
		free(a);
}

/* A query of three numbers needs no hash. */
static void occupancy_query_pack(uint8_t query[HASH_BYTES], uint64_t what, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t q[4] = {what, a, b, c};

	memcpy(query, q, sizeof q);
}

enum { QUERY_BLOCKS, QUERY_DYNAMIC_SHARED };

CUresult remote_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, CUfunction handle, int threads, size_t dynamic, unsigned int flags)
{
	CUresult r;
	struct function *f = function_find(handle, &r);
	uint8_t query[HASH_BYTES];
	uint64_t value;
	uint32_t generation;

	if (!blocks)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f)
		return r;
	occupancy_query_pack(query, QUERY_BLOCKS, (unsigned)threads, dynamic, flags);
	if (occupancy_answer_find(f, query, &value)) {
		*blocks = (int)value;
		return CUDA_SUCCESS;
	}
	generation = f->generation;
	r = call_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, dynamic, flags);
	if (!r)
		occupancy_answer_add(f, generation, query, (unsigned)*blocks);
	return r;
}

CUresult remote_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t dynamic)
{
	return remote_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, dynamic, 0);
}

CUresult remote_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic, CUfunction handle, int blocks, int threads)
{
	CUresult r;
	struct function *f = function_find(handle, &r);
	uint8_t query[HASH_BYTES];
	uint64_t value;
	uint32_t generation;

	if (!dynamic)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f)
		return r;
	occupancy_query_pack(query, QUERY_DYNAMIC_SHARED, (unsigned)blocks, (unsigned)threads, 0);
	if (occupancy_answer_find(f, query, &value)) {
		*dynamic = value;
		return CUDA_SUCCESS;
	}
	generation = f->generation;
	r = call_cuOccupancyAvailableDynamicSMemPerBlock(dynamic, handle, blocks, threads);
	if (!r)
		occupancy_answer_add(f, generation, query, *dynamic);
	return r;
}

/* A function of the application tells how much shared memory a block size needs, so the search is done here. */
CUresult remote_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction handle,
	CUoccupancyB2DSize dynamic_of, size_t dynamic, int limit, unsigned int flags)
{
	struct context *c = context_current();
	int64_t best = 0, all;
	int most, best_threads = 0, n;
	CUresult r;

	if (!grid || !block)
		return CUDA_ERROR_INVALID_VALUE;
	r = remote_cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle);
	if (r)
		return r;
	if (limit > 0 && limit < most)
		most = limit;
	if (most > BLOCK_THREADS_MAX)
		most = BLOCK_THREADS_MAX;
	for (int threads = most; threads > 0; threads = (threads - 1) / 32 * 32) {
		r = remote_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			&n, handle, threads, dynamic_of ? dynamic_of(threads) : dynamic, flags);
		if (r)
			return r;
		if ((int64_t)n * threads > best * best_threads) {
			best = n;
			best_threads = threads;
		}
	}
	*block = best_threads;
	all = c ? best * device_find(c->device)->attribute[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] : best;
	if (all < 0 || all > INT_MAX)
		return client_reject_reply();
	*grid = (int)all;
	return CUDA_SUCCESS;
}

CUresult remote_cuOccupancyMaxPotentialBlockSize(
	int *grid, int *block, CUfunction f, CUoccupancyB2DSize dynamic_of, size_t dynamic, int limit)
{
	return remote_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, f, dynamic_of, dynamic, limit, 0);
}

static CUresult occupancy_clusters(int *out, CUfunction handle, const CUlaunchConfig *c, bool potential)
{
	CUresult r;
	struct function *f = function_find(handle, &r);
	uint8_t query[HASH_BYTES];
	uint32_t generation;
	uint64_t value;
	struct hash h;

	if (!out || !c || (c->numAttrs && !c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	if (!f)
		return r;
	struct wire_cluster a = {
		.function = f->id,
		.stream = call_stream(c->hStream, false),
		.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
		.block = {c->blockDimX, c->blockDimY, c->blockDimZ},
		.shared = c->sharedMemBytes,
		.potential = potential,
		.attributes = c->numAttrs,
	};
	struct wire_piece in = {c->attrs, c->numAttrs * sizeof *c->attrs};
	hash_init(&h, HASH_BYTES);
	hash_add(&h, &a, sizeof a);
	if (in.size)
		hash_add(&h, in.data, in.size);
	hash_finish(&h, query);
	if (occupancy_answer_find(f, query, &value)) {
		*out = (int)value;
		return CUDA_SUCCESS;
	}
	generation = f->generation;
	r = call_sync(WIRE_CLUSTER, &a, sizeof a, &in, 1, &(struct wire_piece){out, sizeof *out}, 1);
	if (!r)
		occupancy_answer_add(f, generation, query, (unsigned)*out);
	return r;
}

CUresult remote_cuOccupancyMaxActiveClusters(int *out, CUfunction f, const CUlaunchConfig *c)
{
	return occupancy_clusters(out, f, c, false);
}

CUresult remote_cuOccupancyMaxPotentialClusterSize(int *out, CUfunction f, const CUlaunchConfig *c)
{
	return occupancy_clusters(out, f, c, true);
}
