/* Modules, libraries, functions: images go over in pieces, names are asked once. */
#include <errno.h>
#include <stdlib.h>
#include "backend/remote/remote.h"
#include "image/image.h"

#define CHUNK (4u << 20)

static CUresult send_chunk(const uint8_t *bytes, uint32_t size, struct wire_load *a, uint64_t *id)
{
	struct lane *lane = call_lane();
	struct wire_load *room;
	struct piece piece;
	struct frame reply;
	size_t unused;
	CUresult r;
	int e;

	while ((e = bulk_alloc(call_link(), BULK_UP, size, &piece)) == -EAGAIN) {
		r = remote_cuCtxSynchronize();
		if (r)
			return r;
	}
	if (e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy((char *)bulk_base(call_link(), BULK_UP, &unused) + piece.offset, bytes, size);
	room = call_reserve(lane, sizeof *room);
	if (!room)
		return call_lost();
	*room = *a;
	r = call_ask(lane, WIRE_LOAD, sizeof *room, &piece, 1, &reply);
	if (!r && reply.size == sizeof(struct wire_reply) + sizeof *id)
		memcpy(id, (const char *)reply.payload + sizeof(struct wire_reply), sizeof *id);
	call_done(lane);
	bulk_free(call_link(), BULK_UP, piece);
	return r;
}

static CUresult load(const void *bytes, size_t size, bool library, uint64_t *id)
{
	static atomic_ullong uploads;
	struct wire_load a = {.size = size, .library = library, .upload = atomic_fetch_add(&uploads, 1) + 1};
	CUresult r = CUDA_SUCCESS;

	*id = 0;
	for (size_t done = 0; done < size && !r; done += CHUNK) {
		size_t n = size - done < CHUNK ? size - done : CHUNK;
		a.last = done + n == size;
		r = send_chunk((const uint8_t *)bytes + done, n, &a, id);
	}
	return r;
}

/*
 * The application's pointer says nothing about its length: the headers inside do.  A wrapper holds
 * addresses of this process, so what it points to is sent.
 */
static CUresult load_image(const void *image, bool library, uint64_t *id)
{
	struct image im;
	CUresult r;

	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	if (image_init_local(&im, image))
		return CUDA_ERROR_INVALID_IMAGE;
	r = load(im.parts[0].data, im.parts[0].size, library, id);
	image_finish(&im);
	return r;
}

CUresult remote_cuModuleLoadData(CUmodule *module, const void *image)
{
	uint64_t id;
	CUresult r = module ? load_image(image, false, &id) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*module = (CUmodule)(uintptr_t)id;
	return r;
}

CUresult remote_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return remote_cuModuleLoadData(module, image);
}

CUresult remote_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int n, CUjit_option *options,
	void **values)
{
	(void)n, (void)options, (void)values;
	return remote_cuModuleLoadData(module, image);
}

CUresult remote_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit, void **jit_values,
	unsigned int njit, CUlibraryOption *options, void **values, unsigned int n)
{
	uint64_t id;
	CUresult r = library ? load_image(code, true, &id) : CUDA_ERROR_INVALID_VALUE;

	(void)jit, (void)jit_values, (void)njit, (void)options, (void)values, (void)n;
	if (!r)
		*library = (CUlibrary)(uintptr_t)id;
	return r;
}

/* ---- functions ---- */

struct function *function_find(CUfunction handle, CUresult *why)
{
	uint64_t id = (uintptr_t)handle;
	struct function *f = record_find(id);

	if (f)
		return f;
	f = calloc(1, sizeof *f);
	if (!f) {
		*why = CUDA_ERROR_OUT_OF_MEMORY;
		return NULL;
	}
	f->id = id;
	*why = call_sync(WIRE_FUNCTION, &id, sizeof id, NULL, 0, &(struct wire_piece){&f->info, sizeof f->info}, 1);
	if (!*why && !record_put(id, f))
		*why = CUDA_ERROR_OUT_OF_MEMORY;
	if (*why) {
		free(f);
		return NULL;
	}
	return f;
}

CUresult remote_cuFuncGetParamInfo(CUfunction func, size_t index, size_t *offset, size_t *size)
{
	CUresult r;
	struct function *f = function_find(func, &r);

	if (!f)
		return r;
	if (!offset || index >= f->info.params)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = f->info.param[index].offset;
	if (size)
		*size = f->info.param[index].size;
	return CUDA_SUCCESS;
}
