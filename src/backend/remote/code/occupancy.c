/* How many blocks fit: asked once for each question, because libraries ask before every launch. */
#include <limits.h>
#include <stdlib.h>
#include "backend/remote/code/code.h"

#define MOST         128  /* answers kept a function */
#define MOST_THREADS 1024 /* of a block, on every device there is */

struct answer {
	struct answer *next;
	uint32_t generation, number;
	uint64_t value;
	uint8_t question[HASH_BYTES];
};

static bool lookup(struct function *f, const uint8_t *question, uint64_t *value)
{
	uint32_t now = f->generation;

	for (struct answer *a = atomic_load_explicit(&f->answers, memory_order_acquire); a; a = a->next)
		if (a->generation == now && !memcmp(a->question, question, HASH_BYTES)) {
			*value = a->value;
			return true;
		}
	return false;
}

void answers_free(struct answer *list)
{
	struct answer *next;

	for (; list; list = next) {
		next = list->next;
		free(list);
	}
}

/* Nothing is taken out while the function lives: others may be reading.  So there is a bound. */
static void remember(struct function *f, uint32_t generation, const uint8_t *question, uint64_t value)
{
	struct answer *first = f->answers, *a;

	if (first && first->number >= MOST)
		return;
	a = malloc(sizeof *a);
	if (!a)
		return;
	*a = (struct answer){first, generation, first ? first->number + 1 : 1, value, {0}};
	memcpy(a->question, question, HASH_BYTES);
	if (!atomic_compare_exchange_strong(&f->answers, &first, a))
		free(a);
}

/* A question of three numbers needs no hash. */
static void ask_as(uint8_t question[HASH_BYTES], uint64_t what, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t q[4] = {what, a, b, c};

	memcpy(question, q, sizeof q);
}

enum { BLOCKS, DYNAMIC };

CUresult remote_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, CUfunction handle, int threads, size_t dynamic, unsigned int flags)
{
	CUresult r;
	struct function *f = function_find(handle, &r);
	uint8_t question[HASH_BYTES];
	uint64_t value;
	uint32_t generation;

	if (!blocks)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f)
		return r;
	ask_as(question, BLOCKS, (unsigned)threads, dynamic, flags);
	if (lookup(f, question, &value)) {
		*blocks = (int)value;
		return CUDA_SUCCESS;
	}
	generation = f->generation;
	r = call_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, dynamic, flags);
	if (!r)
		remember(f, generation, question, (unsigned)*blocks);
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
	uint8_t question[HASH_BYTES];
	uint64_t value;
	uint32_t generation;

	if (!dynamic)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f)
		return r;
	ask_as(question, DYNAMIC, (unsigned)blocks, (unsigned)threads, 0);
	if (lookup(f, question, &value)) {
		*dynamic = value;
		return CUDA_SUCCESS;
	}
	generation = f->generation;
	r = call_cuOccupancyAvailableDynamicSMemPerBlock(dynamic, handle, blocks, threads);
	if (!r)
		remember(f, generation, question, *dynamic);
	return r;
}

/* The application's own function says how much shared memory a block size needs, so the search is here. */
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
	if (most > MOST_THREADS)
		most = MOST_THREADS;
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

static CUresult clusters(int *out, CUfunction handle, const CUlaunchConfig *c, bool potential)
{
	CUresult r;
	struct function *f = function_find(handle, &r);
	uint8_t question[HASH_BYTES];
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
	hash_finish(&h, question);
	if (lookup(f, question, &value)) {
		*out = (int)value;
		return CUDA_SUCCESS;
	}
	generation = f->generation;
	r = call_sync(WIRE_CLUSTER, &a, sizeof a, &in, 1, &(struct wire_piece){out, sizeof *out}, 1);
	if (!r)
		remember(f, generation, question, (unsigned)*out);
	return r;
}

CUresult remote_cuOccupancyMaxActiveClusters(int *out, CUfunction f, const CUlaunchConfig *c)
{
	return clusters(out, f, c, false);
}

CUresult remote_cuOccupancyMaxPotentialClusterSize(int *out, CUfunction f, const CUlaunchConfig *c)
{
	return clusters(out, f, c, true);
}
