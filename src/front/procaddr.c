/* cuGetProcAddress: finds an exported function by base name, version and kind of default stream. */
#include <string.h>
#include "front/front.h"

/* cuda_procs: generated from api/cuda.api. */
#include "gen/cuda_procs.inc"

/* The first row of the name, or NULL. */
static const struct proc *find_first_row(const char *base)
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

/* If a name has per-thread twins, `twin` selects among those only. */
const struct proc *front_find_proc(const char *base, int version, bool twin, bool *known)
{
	const struct proc *first = find_first_row(base), *best = NULL;
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

static CUresult find_address(
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
	CUresult r = find_address(symbol, pfn, version, flags, &status);

	if (r == CUDA_SUCCESS && symbolStatus)
		*symbolStatus = status;
	return r;
}

/* Unlike version 2, which succeeds with NULL, this version returns CUDA_ERROR_NOT_FOUND. */
CUresult front_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	CUresult r = find_address(symbol, pfn, version, flags, &status);

	return r == CUDA_SUCCESS && !*pfn ? CUDA_ERROR_NOT_FOUND : r;
}

/* The vendor driver decides what the program gets.  If we export the same function, ours replaces it, for the trace. */
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
