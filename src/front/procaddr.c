/* cuGetProcAddress: from a base name, a version and a kind of default stream to one of our exports. */
#include <string.h>
#include "front/front.h"

/* cuda_procs: generated from api/cuda.api. */
#include "gen/cuda_procs.inc"

/* First row of the name, or NULL. */
static const struct proc *find_base(const char *base)
{
	size_t low = 0, high = cuda_nprocs;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (strcmp(cuda_procs[mid].base, base) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < cuda_nprocs && !strcmp(cuda_procs[low].base, base) ? &cuda_procs[low] : NULL;
}

/* Where a name has per-thread twins, only those answer a per-thread question. */
const struct proc *front_find_proc(const char *base, int version, bool twin, bool *known)
{
	const struct proc *first = find_base(base), *best = NULL;
	bool has_twin = false;

	*known = first != NULL;
	if (!first)
		return NULL;
	const struct proc *end = cuda_procs + cuda_nprocs;
	for (const struct proc *p = first; p < end && !strcmp(p->base, base); p++)
		has_twin |= p->twin;
	for (const struct proc *p = first; p < end && !strcmp(p->base, base); p++)
		if (p->twin == (twin && has_twin) && p->since <= version)
			best = p;
	return best;
}

static CUresult lookup(
	const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	bool known;

	if (!symbol || !pfn || version > FRONT_CUDA_VERSION || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	const struct proc *p =
		front_find_proc(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &known);
	*pfn = p ? (void *)p->fn : NULL;
	*status = p       ? CU_GET_PROC_ADDRESS_SUCCESS
		  : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
			  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult front_cuGetProcAddress_v2(
	const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
	CUdriverProcAddressQueryResult status;
	CUresult r = lookup(symbol, pfn, version, flags, &status);

	if (r == CUDA_SUCCESS && symbolStatus)
		*symbolStatus = status;
	return r;
}

/* The first version says NOT_FOUND where the second says success and NULL. */
CUresult front_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	CUresult r = lookup(symbol, pfn, version, flags, &status);

	return r == CUDA_SUCCESS && !*pfn ? CUDA_ERROR_NOT_FOUND : r;
}

/*
 * A traced vendor's driver: it decides, and where the answer is a function we export too, the
 * program gets ours, so that the call is seen.
 */
CUresult front_traced_proc_address(
	const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	bool known;
	CUresult r = front_vendor_proc_address(symbol, pfn, version, flags, status);

	if (r != CUDA_SUCCESS || !pfn || !*pfn)
		return r;
	const struct proc *p =
		front_find_proc(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &known);
	if (p)
		*pfn = (void *)p->fn;
	return r;
}
