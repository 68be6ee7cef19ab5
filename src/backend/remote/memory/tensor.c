/*
 * Tensor maps.  Their format is private to the driver and its device, so the server's driver encodes them.  The same
 * parameters always give the same map, and libraries encode the same maps for every matrix: the latest ones are cached.
 */
#include <stdlib.h>
#include "backend/remote/session/remote.h"
#include "backend/remote/memory/state.h"

#define TENSOR_MAP_ALIGNMENT 64

struct cached_tensor_map {
	bool valid;
	struct wire_tensor parameters;
	CUtensorMap map;
};

static struct tensor_cache *tensor_cache(void)
{
	return &client->memory->tensors;
}

/* The place of a tensor map in the cache; NULL: no memory.  Lock held. */
static struct cached_tensor_map *tensor_cache_slot(const struct wire_tensor *a)
{
	const uint64_t *words = (const uint64_t *)a;
	uint64_t h = 0;

	_Static_assert(sizeof *a % sizeof *words == 0, "no padding at the end: every byte is set");
	for (size_t i = 0; i < sizeof *a / sizeof *words; i++)
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
	if (!tensor_cache()->maps)
		tensor_cache()->maps = calloc(TENSOR_MAPS, sizeof *tensor_cache()->maps);
	return tensor_cache()->maps ? &tensor_cache()->maps[h >> 32 & (TENSOR_MAPS - 1)] : NULL;
}

static bool tensor_cache_find(const struct wire_tensor *a, CUtensorMap *map)
{
	struct cached_tensor_map *k;
	bool same;

	pthread_mutex_lock(&tensor_cache()->lock);
	k = tensor_cache_slot(a);
	same = k && k->valid && !memcmp(&k->parameters, a, sizeof *a);
	if (same)
		*map = k->map;
	pthread_mutex_unlock(&tensor_cache()->lock);
	return same;
}

static void tensor_cache_add(const struct wire_tensor *a, const CUtensorMap *map)
{
	struct cached_tensor_map *k;

	pthread_mutex_lock(&tensor_cache()->lock);
	k = tensor_cache_slot(a);
	if (k)
		*k = (struct cached_tensor_map){true, *a, *map};
	pthread_mutex_unlock(&tensor_cache()->lock);
}

static CUresult tensor_map_encode(const struct wire_tensor *a, CUtensorMap *map)
{
	CUresult r;

	if (!map || (uintptr_t)map % TENSOR_MAP_ALIGNMENT)
		return CUDA_ERROR_INVALID_VALUE;
	if (tensor_cache_find(a, map))
		return CUDA_SUCCESS;
	r = call_sync(WIRE_TENSOR, a, sizeof *a, NULL, 0, &(struct wire_piece){map, sizeof *map}, 1);
	if (!r)
		tensor_cache_add(a, map);
	return r;
}

/* The parameters of all encodings: dimensions, strides of all but the innermost, steps.  False: invalid. */
static bool tensor_set_shape(struct wire_tensor *a, cuuint32_t rank, void *address, const cuuint64_t *dim,
	const cuuint64_t *strides, const cuuint32_t *step)
{
	if (!rank || rank > WIRE_TENSOR_RANK || !dim || !step || (rank > 1 && !strides))
		return false;
	a->rank = rank;
	a->address = (uintptr_t)address;
	a->has_strides = strides != NULL;
	for (cuuint32_t i = 0; i < rank; i++) {
		a->dim[i] = dim[i];
		a->step[i] = step[i];
		if (i + 1 < rank)
			a->stride[i] = strides[i];
	}
	return true;
}

CUresult remote_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
	const cuuint64_t *dim, const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *step,
	CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
	CUtensorMapFloatOOBfill fill)
{
	struct wire_tensor a = {.kind = WIRE_TENSOR_TILED,
		.type = type,
		.interleave = interleave,
		.swizzle = swizzle,
		.promotion = promotion,
		.fill = fill};

	if (!box || !tensor_set_shape(&a, rank, address, dim, strides, step))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(a.box, box, rank * sizeof *box);
	return tensor_map_encode(&a, map);
}

CUresult remote_cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
	const cuuint64_t *dim, const cuuint64_t *strides, const int *lower, const int *upper, cuuint32_t channels,
	cuuint32_t pixels, const cuuint32_t *step, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
	CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	struct wire_tensor a = {.kind = WIRE_TENSOR_IM2COL,
		.type = type,
		.channels = channels,
		.pixels = pixels,
		.interleave = interleave,
		.swizzle = swizzle,
		.promotion = promotion,
		.fill = fill};

	if (!lower || !upper || rank < 3 || !tensor_set_shape(&a, rank, address, dim, strides, step))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(a.lower, lower, (rank - 2) * sizeof *lower); /* of width, height, depth: not of channels and batch */
	memcpy(a.upper, upper, (rank - 2) * sizeof *upper);
	return tensor_map_encode(&a, map);
}

CUresult remote_cuTensorMapEncodeIm2colWide(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
	const cuuint64_t *dim, const cuuint64_t *strides, int lower, int upper, cuuint32_t channels, cuuint32_t pixels,
	const cuuint32_t *step, CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
	CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	struct wire_tensor a = {.kind = WIRE_TENSOR_WIDE,
		.type = type,
		.lower = {lower},
		.upper = {upper},
		.channels = channels,
		.pixels = pixels,
		.interleave = interleave,
		.mode = mode,
		.swizzle = swizzle,
		.promotion = promotion,
		.fill = fill};

	if (!tensor_set_shape(&a, rank, address, dim, strides, step))
		return CUDA_ERROR_INVALID_VALUE;
	return tensor_map_encode(&a, map);
}

CUresult remote_cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
	struct wire_tensor a = {.kind = WIRE_TENSOR_REPLACE, .address = (uintptr_t)address};

	if (!map)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(a.map, map, sizeof *map);
	return tensor_map_encode(&a, map);
}
