/*
 * cuLink*: joins several pieces of code into one image.
 *
 * Engines compile when they load, so the linked image is a link set (image_set_write) of the unchanged inputs.
 * cuLinkComplete loads the set once and discards the result, which reports errors where the application expects them.
 */
#include "backend/soft/code/module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

struct linker {
	struct driver_object object;
	pthread_mutex_t lock; /* protects the fields below */
	struct jit jit;
	struct image_span *parts; /* copies of the inputs */
	unsigned nparts;
	void *image; /* the result, which the application uses until cuLinkDestroy */
	size_t size;
};

static void linker_release(void *object)
{
	struct linker *l = object;

	for (unsigned i = 0; i < l->nparts; i++)
		free((void *)l->parts[i].data);
	free(l->parts);
	free(l->image);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static CUresult linker_result(int err)
{
	switch (err) {
	case 0:
		return CUDA_SUCCESS;
	case -ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case -ENOENT:
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	case -ENOTSUP:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_IMAGE;
	}
}

CUresult soft_cuLinkCreate_v2(unsigned int n, CUjit_option *options, void **values, CUlinkState *out)
{
	struct context *ctx;
	struct linker *l;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	l = calloc(1, sizeof *l);
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&l->lock, NULL);
	r = jit_read(&l->jit, n, options, values);
	if (!r && object_init(&l->object, KIND_LINK, NULL, linker_release))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r)
		linker_release(l);
	else
		*out = object_handle(CUlinkState, l);
	return r;
}

/* ---- adding ------------------------------------------------------------------------------------------- */

static int linker_add_part(void *arg, const struct image_span *part)
{
	struct linker *l = arg;
	struct image_span *list = realloc(l->parts, (l->nparts + 1) * sizeof *list);
	char *copy = malloc(part->size + 1);

	if (list)
		l->parts = list;
	if (!list || !copy) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, part->data, part->size);
	copy[part->size] = 0;
	l->parts[l->nparts++] = (struct image_span){copy, part->size};
	return 0;
}

/* Checks that the image has code for the device; logs the error otherwise. */
static int check_image_usable(struct linker *l, const struct image *image)
{
	const struct engine_device *d = &soft.devices[0].info;
	struct image_want want = {d->major, d->minor, soft.engine->accepts};
	struct image_entry e;
	char has[256];
	int err = -ENOENT;

	for (unsigned i = 0; i < image->nparts && err == -ENOENT; i++)
		err = image_select(image, i, &want, &e);
	if (err == -ENOENT)
		engine_log(&l->jit.error, "error: an input has no code for compute capability %d.%d: %s\n", d->major,
			d->minor, image_describe(image, has, sizeof has));
	return err;
}

/* Adds a fatbin, a cubin, PTX, or the members of a link set. */
static int linker_add_image(struct linker *l, const void *data, size_t size)
{
	struct image image;
	int err = image_init(&image, data, size);

	if (err)
		return err;
	err = check_image_usable(l, &image);
	if (!err && image.nparts == 1)
		err = linker_add_part(l, &image.parts[0]);
	for (unsigned i = 1; i < image.nparts && !err; i++)
		err = linker_add_part(l, &image.parts[i]);
	image_finish(&image);
	return err;
}

static CUresult linker_add_ptx(struct linker *l, const char *text, size_t size, const char *name)
{
	struct ptx_module *m;
	bool valid;
	int r;

	size = strnlen(text, size);
	m = ptx_module_create(text, size);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	valid = !m->error.line;
	if (!valid)
		engine_log(&l->jit.error, "%s, line %u; error: %s\n", name, m->error.line, m->error.message);
	ptx_module_destroy(m);
	if (!valid)
		return CUDA_ERROR_INVALID_PTX;
	r = linker_add_image(l, text, size);
	return r == -ENOENT || r == -EINVAL ? CUDA_ERROR_INVALID_PTX : linker_result(r);
}

/* Adds all fatbins of an object or archive; after an error, none. */
static int linker_add_objects(struct linker *l, const void *data, size_t size)
{
	unsigned had = l->nparts;
	int err = image_objects(data, size, linker_add_part, l);

	if (!err && l->nparts == had)
		err = -ENOENT;
	while (err && l->nparts > had)
		free((void *)l->parts[--l->nparts].data);
	if (err == -ENOENT)
		engine_log(&l->jit.error, "error: an object or library has no device code\n");
	return err;
}

static CUresult linker_add(struct linker *l, CUjitInputType type, const void *data, size_t size, const char *name)
{
	enum image_kind kind = image_sniff(data, size);

	switch (type) {
	case CU_JIT_INPUT_PTX:
		return linker_add_ptx(l, data, size, name ? name : "<unnamed>");
	case CU_JIT_INPUT_CUBIN:
	case CU_JIT_INPUT_FATBINARY:
		if (kind != IMAGE_CUBIN && kind != IMAGE_FATBIN)
			return CUDA_ERROR_INVALID_IMAGE;
		return linker_result(linker_add_image(l, data, size));
	case CU_JIT_INPUT_OBJECT:
	case CU_JIT_INPUT_LIBRARY:
		return linker_result(linker_add_objects(l, data, size));
	case CU_JIT_INPUT_NVVM: /* NVIDIA's intermediate code (LTO-IR), which only NVIDIA's compiler reads */
		engine_log(&l->jit.error, "error: LTO-IR inputs are not supported; compile without -dlto\n");
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult linker_find(CUlinkState state, struct linker **l)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	*l = object_find(state, KIND_LINK);
	return *l ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult soft_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
	unsigned int n, CUjit_option *options, void **values)
{
	struct linker *l;
	struct jit own;
	CUresult r = data && size ? linker_find(state, &l) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	pthread_mutex_lock(&l->lock);
	r = l->image ? CUDA_ERROR_INVALID_VALUE : jit_read(&own, n, options, values);
	if (!r)
		r = linker_add(l, type, data, size, name);
	jit_write_outputs(&l->jit);
	pthread_mutex_unlock(&l->lock);
	object_put(l);
	return r;
}

CUresult soft_cuLinkAddFile_v2(
	CUlinkState state, CUjitInputType type, const char *path, unsigned int n, CUjit_option *options, void **values)
{
	void *data;
	size_t size;
	CUresult r;
	int err = path ? module_read_file(path, &data, &size) : -EFAULT;

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	if (err)
		return module_file_error(err);
	r = soft_cuLinkAddData_v2(state, type, data, size, path, n, options, values);
	free(data);
	return r;
}

/* ---- the result --------------------------------------------------------------------------------------- */

static CUresult linker_complete(struct linker *l)
{
	struct program *p;
	void *image;
	size_t size;
	CUresult r;
	int err;

	if (l->image || !l->nparts)
		return l->image ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
	err = image_set_write(l->parts, l->nparts, &image, &size);
	if (err)
		return linker_result(err);
	r = program_load_bytes(image, size, &l->jit, &p);
	if (r) {
		free(image);
		return r;
	}
	program_put(p);
	l->image = image;
	l->size = size;
	return CUDA_SUCCESS;
}

CUresult soft_cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
	struct linker *l;
	CUresult r = image ? linker_find(state, &l) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	pthread_mutex_lock(&l->lock);
	r = linker_complete(l);
	jit_write_outputs(&l->jit);
	if (!r) {
		*image = l->image;
		if (size)
			*size = l->size;
	}
	pthread_mutex_unlock(&l->lock);
	object_put(l);
	return r;
}

CUresult soft_cuLinkDestroy(CUlinkState state)
{
	struct linker *l = object_find(state, KIND_LINK);
	CUresult r = l && object_close(l) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;

	object_put(l);
	return r;
}
