/*
 * Memory that a context gets beside what is allocated: variables of code that is loaded, the heap from which kernels
 * allocate, and the buffer into which they print.
 */
#include "image/image.h"
#include "server/quota/account.h"
#include "server/quota/quota.h"

static const struct cuda_ops *real;
static struct stats *stats;

/* ---- variables ---- */

static uint64_t variables(const struct image_entry *entry)
{
	struct image_blob blob;
	struct image_code *code = NULL;
	uint64_t bytes = 0;

	if (image_payload(entry, &blob))
		return 0;
	if (image_code_read(&code, blob.data, blob.size, NULL))
		code = NULL;
	for (size_t i = 0; code && i < code->nglobals; i++) {
		const struct image_global *g = &code->globals[i];
		if (!g->external && !g->opaque && __builtin_add_overflow(bytes, g->size, &bytes))
			bytes = UINT64_MAX;
	}
	image_code_destroy(code);
	image_blob_finish(&blob);
	return bytes;
}

/* What the device would run of it.  What we cannot read is not counted. */
static uint64_t image_variables(const void *data)
{
	CUdevice device = (CUdevice)(account_device() - stats->device);
	struct image_want want = {.kinds = IMAGE_WANT_CUBIN | IMAGE_WANT_PTX};
	struct image_entry entry;
	struct image image;
	uint64_t bytes = 0;
	int major = 0, minor = 0;

	if (image_init_local(&image, data))
		return 0;
	real->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	real->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	want.major = (unsigned)major;
	want.minor = (unsigned)minor;
	if (!image_select(&image, 0, &want, &entry))
		bytes = variables(&entry);
	else
		for (unsigned i = 1; i < image.nparts; i++) /* it is linked as it is loaded */
			if (!image_select(&image, i, &want, &entry) &&
				__builtin_add_overflow(bytes, variables(&entry), &bytes))
				bytes = UINT64_MAX;
	image_finish(&image);
	return bytes;
}

static CUresult load(CUmodule *module, const void *image)
{
	uint64_t bytes = image_variables(image);
	CUresult r = quota_room(account_device(), bytes);

	if (!r)
		r = real->cuModuleLoadData(module, image);
	return r ? r : account_made(ACCOUNT_MODULE, (uintptr_t)*module, bytes);
}

static CUresult load_ex(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values)
{
	uint64_t bytes = image_variables(image);
	CUresult r = quota_room(account_device(), bytes);

	if (!r)
		r = real->cuModuleLoadDataEx(module, image, count, options, values);
	return r ? r : account_made(ACCOUNT_MODULE, (uintptr_t)*module, bytes);
}

/* Its variables are in each context that uses it; counted are those on the device that is current now. */
static CUresult load_library(CUlibrary *library, const void *code, CUjit_option *jit, void **jit_values, unsigned njit,
	CUlibraryOption *options, void **values, unsigned count)
{
	uint64_t bytes = image_variables(code);
	CUresult r = quota_room(account_device(), bytes);

	if (!r)
		r = real->cuLibraryLoadData(library, code, jit, jit_values, njit, options, values, count);
	return r ? r : account_made(ACCOUNT_LIBRARY, (uintptr_t)*library, bytes);
}

static CUresult unload(CUmodule module)
{
	return account_freed(real->cuModuleUnload(module), ACCOUNT_MODULE, (uintptr_t)module);
}

static CUresult unload_library(CUlibrary library)
{
	return account_freed(real->cuLibraryUnload(library), ACCOUNT_LIBRARY, (uintptr_t)library);
}

/* ---- limits ---- */

/* Counted is what is more than a context has by itself: what kernels may allocate and print. */
static const struct {
	CUlimit limit;
	size_t usual;
} counted[] = {{CU_LIMIT_PRINTF_FIFO_SIZE, 8u << 20}, {CU_LIMIT_MALLOC_HEAP_SIZE, 8u << 20}};

static CUresult set_limit(CUlimit limit, size_t value)
{
	CUcontext context = NULL;
	size_t before = 0, more;
	unsigned i = 0;
	CUresult r;

	while (i < sizeof counted / sizeof *counted && counted[i].limit != limit)
		i++;
	if (i == sizeof counted / sizeof *counted || real->cuCtxGetCurrent(&context) ||
		real->cuCtxGetLimit(&before, limit))
		return real->cuCtxSetLimit(limit, value);
	before = before > counted[i].usual ? before - counted[i].usual : 0;
	more = value > counted[i].usual ? value - counted[i].usual : 0;
	r = more > before ? quota_room(account_device(), more - before) : CUDA_SUCCESS;
	if (!r)
		r = real->cuCtxSetLimit(limit, value);
	return r ? r : account_made(ACCOUNT_LIMIT, (uintptr_t)context + i, more);
}

void quota_code_wrap(struct cuda_ops *table, const struct cuda_ops *ops, struct stats *s)
{
	real = ops;
	stats = s;
	table->cuModuleLoadData = load;
	table->cuModuleLoadDataEx = load_ex;
	table->cuModuleUnload = unload;
	table->cuLibraryLoadData = load_library;
	table->cuLibraryUnload = unload_library;
	table->cuCtxSetLimit = set_limit;
}
