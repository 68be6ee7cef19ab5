/* Occupancy: the number of blocks that fit on a multiprocessor, and the calls derived from it. */
#include "backend/soft/code/launch.h"

static unsigned min_unsigned(unsigned a, uint64_t b)
{
	return b < a ? (unsigned)b : a;
}

unsigned launch_occupancy(const struct function *f, unsigned threads, size_t dynamic)
{
	const struct engine_device *d = &f->object.ctx->device->info;
	unsigned warps = (threads + 31) / 32;
	size_t shared = kernel_shared_bytes(f->module->program->code, f->kernel) + dynamic + d->shared_reserved;
	unsigned n = d->max_blocks_per_multiprocessor;

	if (!threads || threads > kernel_max_threads(f->kernel, f->object.ctx->device))
		return 0;
	n = min_unsigned(n, d->max_threads_per_multiprocessor / (warps * 32));
	if (shared)
		n = min_unsigned(n, (d->shared_optin + d->shared_reserved) / shared);
	if (f->kernel->regs) /* allocated to warps in units of 256 */
		n = min_unsigned(n, d->registers_per_block / (((f->kernel->regs * 32 + 255) & ~255u) * warps));
	return n;
}

CUresult soft_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, CUfunction handle, int threads, size_t dynamic, unsigned int flags)
{
	struct function *f;

	if (!blocks || threads <= 0 || flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = function_enter(handle, &f);
	if (r)
		return r;
	*blocks = launch_occupancy(f, threads, dynamic);
	object_put(f);
	return CUDA_SUCCESS;
}

CUresult soft_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads, size_t dynamic)
{
	return soft_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, dynamic, 0);
}

CUresult soft_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction handle,
	CUoccupancyB2DSize dynamic_of, size_t dynamic, int limit, unsigned int flags)
{
	struct function *f;
	unsigned best = 0, best_threads = 0;

	if (!grid || !block || flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = function_enter(handle, &f);
	if (r)
		return r;
	unsigned most = kernel_max_threads(f->kernel, f->object.ctx->device);
	if (limit > 0 && (unsigned)limit < most)
		most = limit;
	for (unsigned threads = most; threads; threads = (threads - 1) / 32 * 32) {
		unsigned n = launch_occupancy(f, threads, dynamic_of ? dynamic_of(threads) : dynamic);

		if (n * threads > best * best_threads) {
			best = n;
			best_threads = threads;
		}
	}
	*block = best_threads;
	*grid = best * f->object.ctx->device->info.multiprocessors;
	object_put(f);
	return CUDA_SUCCESS;
}

CUresult soft_cuOccupancyMaxPotentialBlockSize(
	int *grid, int *block, CUfunction handle, CUoccupancyB2DSize dynamic_of, size_t dynamic, int limit)
{
	return soft_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, dynamic_of, dynamic, limit, 0);
}

CUresult soft_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic, CUfunction handle, int blocks, int threads)
{
	struct function *f;

	if (!dynamic || blocks <= 0 || threads <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = function_enter(handle, &f);
	if (r)
		return r;
	const struct device *d = f->object.ctx->device;
	size_t each = (d->info.shared_optin + d->info.shared_reserved) / blocks;
	struct code *code = f->module->program->code;
	size_t taken = kernel_shared_bytes(code, f->kernel) + d->info.shared_reserved;
	size_t most = tuning_max_dynamic(f->kernel, code, f->tuning, d);

	if (launch_occupancy(f, threads, 0) < (unsigned)blocks)
		r = CUDA_ERROR_INVALID_VALUE;
	else
		*dynamic = each < taken ? 0 : each - taken < most ? each - taken : most;
	object_put(f);
	return r;
}

/* Number of blocks in a cluster of this configuration; 1: no clusters. */
static unsigned config_cluster_size(const CUlaunchConfig *c)
{
	unsigned n = 1;

	for (unsigned i = 0; c->attrs && i < c->numAttrs; i++)
		if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			n = c->attrs[i].value.clusterDim.x * c->attrs[i].value.clusterDim.y *
			    c->attrs[i].value.clusterDim.z;
	return n ? n : 1;
}

CUresult soft_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction handle, const CUlaunchConfig *c)
{
	struct function *f;

	if (!size || !c)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = function_enter(handle, &f);
	if (r)
		return r;
	*size = f->object.ctx->device->info.max_cluster_size;
	if (*size > 1 && atomic_load(&f->tuning->non_portable_cluster))
		*size *= 2;
	object_put(f);
	return CUDA_SUCCESS;
}

/*
 * Number of clusters that fit at once.  A cluster runs within one group of multiprocessors.  Groups are as on GPUs with
 * clusters: of up to 18 multiprocessors, in pairs, as equal as possible (132 are 2 x 18 + 6 x 16).  Libraries derive the
 * groups from these results and reject impossible ones.
 */
static unsigned count_fitting_clusters(unsigned multiprocessors, unsigned blocks_each, unsigned cluster)
{
	unsigned groups = (multiprocessors + 17) / 18, pairs = multiprocessors / 2, n = 0;

	if (groups <= 1)
		return multiprocessors * blocks_each / cluster;
	for (unsigned g = 0; g < groups; g++) {
		unsigned size = 2 * (pairs / groups + (g < pairs % groups));

		n += size * blocks_each / cluster;
	}
	return n;
}

CUresult soft_cuOccupancyMaxActiveClusters(int *clusters, CUfunction handle, const CUlaunchConfig *c)
{
	struct function *f;

	if (!clusters || !c)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = function_enter(handle, &f);
	if (r)
		return r;
	const struct engine_device *d = &f->object.ctx->device->info;
	uint64_t threads = (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ;
	unsigned n = config_cluster_size(c), blocks;

	blocks = threads > 1024 ? 0 : launch_occupancy(f, (unsigned)threads, c->sharedMemBytes);
	/* Sizes beyond the launch limit are valid here: libraries use them to find the size of the groups. */
	if (n > (unsigned)d->max_cluster_size * 4)
		r = CUDA_ERROR_INVALID_CLUSTER_SIZE;
	else
		*clusters = count_fitting_clusters(d->multiprocessors, blocks, n);
	object_put(f);
	return r;
}
