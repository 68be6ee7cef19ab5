/* Counts CUDA arrays: as many bytes as their shape needs. */
#include "server/quota/account.h"
#include "cuda/format.h"

/* A format that is not made of channels counts like the widest one. */
static unsigned format_bytes(CUarray_format f)
{
	unsigned bytes = format_channel(f);

	return bytes ? bytes : 4;
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	uint64_t row = account_times(d->Width, (uint64_t)d->NumChannels * format_bytes(d->Format));

	if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return 0; /* the array has no memory of its own: the client maps some later */
	return account_times(account_times(row, at_least_one(d->Height)), at_least_one(d->Depth));
}

/* The descriptor comes from the client and may be NULL: the driver then reports the error. */
static CUresult array_create(CUarray *a, const CUDA_ARRAY_DESCRIPTOR *d)
{
	struct account *account = worker_account();
	CUDA_ARRAY3D_DESCRIPTOR as3d = {0};
	CUresult r;

	if (d)
		as3d = (CUDA_ARRAY3D_DESCRIPTOR){
			.Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};
	r = account_room(account, array_bytes(&as3d));
	if (!r)
		r = account->real.cuArrayCreate_v2(a, d);
	return r ? r : account_made(account, ACCOUNT_ARRAY, (uintptr_t)*a, array_bytes(&as3d));
}

static CUresult array3d_create(CUarray *a, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct account *account = worker_account();
	CUresult r = d ? account_room(account, array_bytes(d)) : CUDA_SUCCESS;

	if (!r)
		r = account->real.cuArray3DCreate_v2(a, d);
	return r ? r : account_made(account, ACCOUNT_ARRAY, (uintptr_t)*a, array_bytes(d));
}

/* Each level has half the extent of the one before it, at least 1. */
static uint64_t mipmap_bytes(CUDA_ARRAY3D_DESCRIPTOR d, unsigned levels)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < levels && i < 64; i++) {
		uint64_t level = array_bytes(&d);
		if (__builtin_add_overflow(bytes, level, &bytes))
			return UINT64_MAX;
		d.Width = at_least_one(d.Width / 2);
		d.Height /= 2;
		if (!(d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
			d.Depth /= 2;
	}
	return bytes;
}

static CUresult mipmap_create(CUmipmappedArray *a, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
	struct account *account = worker_account();
	CUresult r = d ? account_room(account, mipmap_bytes(*d, levels)) : CUDA_SUCCESS;

	if (!r)
		r = account->real.cuMipmappedArrayCreate(a, d, levels);
	return r ? r : account_made(account, ACCOUNT_ARRAY, (uintptr_t)*a, mipmap_bytes(*d, levels));
}

static CUresult array_destroy(CUarray a)
{
	struct account *account = worker_account();

	return account_freed(account, account->real.cuArrayDestroy(a), ACCOUNT_ARRAY, (uintptr_t)a);
}

static CUresult mipmap_destroy(CUmipmappedArray a)
{
	struct account *account = worker_account();

	return account_freed(account, account->real.cuMipmappedArrayDestroy(a), ACCOUNT_ARRAY, (uintptr_t)a);
}

void account_arrays_wrap(struct cuda_ops *t)
{
	t->cuArrayCreate_v2 = array_create;
	t->cuArray3DCreate_v2 = array3d_create;
	t->cuArrayDestroy = array_destroy;
	t->cuMipmappedArrayCreate = mipmap_create;
	t->cuMipmappedArrayDestroy = mipmap_destroy;
}
