/*
 * Memory that a context gets beside what is allocated: variables of loaded code, the heap from which kernels
 * allocate, and the buffer into which they print.
 */
#include "image/image.h"
#include "ptx/ptx.h"
#include "server/code/code.h"
#include "server/quota/account.h"
#include "server/quota/quota.h"
#include "server/session/session.h"

/* ---- Variables ---- */

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t cubin_variable_bytes(const struct image_blob *cubin)
{
	struct image_code *code;
	uint64_t bytes = 0;

	if (image_cubin_read(&code, cubin->data, cubin->size, NULL))
		return 0;
	for (size_t i = 0; i < code->nglobals; i++)
		if (!code->globals[i].external)
			bytes = saturating_add(bytes, code->globals[i].size);
	image_code_destroy(code);
	return bytes;
}

/* Of a text with an error, the variables in front of the error count. */
static uint64_t ptx_variable_bytes(const struct image_blob *text)
{
	struct ptx_module *m = ptx_module_create(text->data, text->size);
	uint64_t bytes = 0;

	for (const struct ptx_var *v = m ? m->vars : NULL; v; v = v->next)
		if ((v->space == PTX_GLOBAL || v->space == PTX_CONST) && v->linkage != PTX_LINK_EXTERN &&
			ptx_type_kind(v->type) != PTX_KIND_OPAQUE)
			bytes = saturating_add(bytes, v->size);
	ptx_module_destroy(m);
	return bytes;
}

static uint64_t entry_variable_bytes(const struct image_entry *entry)
{
	struct image_blob blob;
	uint64_t bytes;

	if (image_payload(entry, &blob))
		return 0;
	bytes = entry->kind == IMAGE_ENTRY_PTX ? ptx_variable_bytes(&blob) : cubin_variable_bytes(&blob);
	image_blob_finish(&blob);
	return bytes;
}

/* Bytes of the variables in the code that the device would run.  An image that cannot be read counts as 0. */
static uint64_t image_variable_bytes(struct account *a, const void *data)
{
	CUdevice device = (CUdevice)account_device_number(a, a->device);
	struct image_want want = {.kinds = IMAGE_WANT_CUBIN | IMAGE_WANT_PTX};
	struct image_entry entry;
	struct image image;
	uint64_t bytes = 0;
	int major = 0, minor = 0;

	if (image_init_local(&image, data))
		return 0;
	a->real.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	a->real.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	want.major = (unsigned)major;
	want.minor = (unsigned)minor;
	if (!image_select(&image, 0, &want, &entry))
		bytes = entry_variable_bytes(&entry);
	else
		for (unsigned i = 1; i < image.nparts; i++) /* a program whose parts are linked when it is loaded */
			if (!image_select(&image, i, &want, &entry))
				bytes = saturating_add(bytes, entry_variable_bytes(&entry));
	image_finish(&image);
	return bytes;
}

static CUresult code_room(struct account *a, uint64_t bytes)
{
	CUresult r = account_item_ready(a);

	return r ? r : quota_room(a, a->device, bytes);
}

static CUresult module_load_data(CUmodule *module, const void *image)
{
	struct account *a = worker_account();
	uint64_t bytes = image_variable_bytes(a, image);
	CUresult r = code_room(a, bytes);

	if (!r)
		r = a->real.cuModuleLoadData(module, image);
	return r ? r : account_made(a, ACCOUNT_MODULE, (uintptr_t)*module, bytes);
}

static CUresult module_load_data_ex(
	CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values)
{
	struct account *a = worker_account();
	uint64_t bytes = image_variable_bytes(a, image);
	CUresult r = code_room(a, bytes);

	if (!r)
		r = a->real.cuModuleLoadDataEx(module, image, count, options, values);
	return r ? r : account_made(a, ACCOUNT_MODULE, (uintptr_t)*module, bytes);
}

/* A library has variables in each context that uses it; only those on the current device count. */
static CUresult library_load_data(CUlibrary *library, const void *code, CUjit_option *jit, void **jit_values,
	unsigned njit, CUlibraryOption *options, void **values, unsigned count)
{
	struct account *a = worker_account();
	uint64_t bytes = image_variable_bytes(a, code);
	CUresult r = code_room(a, bytes);

	if (!r)
		r = a->real.cuLibraryLoadData(library, code, jit, jit_values, njit, options, values, count);
	return r ? r : account_made(a, ACCOUNT_LIBRARY, (uintptr_t)*library, bytes);
}

static CUresult module_unload(CUmodule module)
{
	struct account *a = worker_account();

	mirrors_unloading(worker_session, (uintptr_t)module);
	return account_freed(a, code_unloaded(worker_session, a->real.cuModuleUnload(module), module), ACCOUNT_MODULE,
		(uintptr_t)module);
}

static CUresult library_unload(CUlibrary library)
{
	struct account *a = worker_account();

	mirrors_unloading(worker_session, (uintptr_t)library);
	return account_freed(a, code_unloaded(worker_session, a->real.cuLibraryUnload(library), library),
		ACCOUNT_LIBRARY, (uintptr_t)library);
}

/* ---- Limits ---- */

/* Only what exceeds the default of a context counts. */
static const struct {
	CUlimit limit;
	size_t by_default;
} counted_limits[] = {{CU_LIMIT_PRINTF_FIFO_SIZE, 8u << 20}, {CU_LIMIT_MALLOC_HEAP_SIZE, 8u << 20}};

static CUresult context_set_limit(CUlimit limit, size_t value)
{
	struct account *a = worker_account();
	CUcontext context = NULL;
	size_t before = 0, more;
	unsigned i = 0;
	CUresult r;

	while (i < sizeof counted_limits / sizeof *counted_limits && counted_limits[i].limit != limit)
		i++;
	if (i == sizeof counted_limits / sizeof *counted_limits || a->real.cuCtxGetCurrent(&context) ||
		a->real.cuCtxGetLimit(&before, limit))
		return a->real.cuCtxSetLimit(limit, value);
	before = before > counted_limits[i].by_default ? before - counted_limits[i].by_default : 0;
	more = value > counted_limits[i].by_default ? value - counted_limits[i].by_default : 0;
	r = code_room(a, more > before ? more - before : 0);
	if (!r)
		r = a->real.cuCtxSetLimit(limit, value);
	return r ? r : account_made(a, ACCOUNT_LIMIT, (uintptr_t)context + i, more);
}

void quota_code_wrap(struct cuda_ops *table)
{
	table->cuModuleLoadData = module_load_data;
	table->cuModuleLoadDataEx = module_load_data_ex;
	table->cuModuleUnload = module_unload;
	table->cuLibraryLoadData = library_load_data;
	table->cuLibraryUnload = library_unload;
	table->cuCtxSetLimit = context_set_limit;
}
