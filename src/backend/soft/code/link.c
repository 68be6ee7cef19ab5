/*
 * cuLink*: code from several places becomes one image.
 *
 * Engines compile when they load, so an image that is "linked" here is a set (image_set_write) of what was
 * added, as it came.  It is loaded once when the link is completed, so that what is wrong with it is said
 * then, and thrown away.
 */
#include "backend/soft/code/module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

struct linker {
	struct driver_object object;
	pthread_mutex_t lock; /* all below */
	struct jit jit;
	struct image_span *parts; /* our own copies */
	unsigned nparts;
	void *image; /* the result, the application's until cuLinkDestroy */
	size_t size;
};

static void release_link(void *object)
{
	struct linker *l = object;

	for (unsigned i = 0; i < l->nparts; i++)
		free((void *)l->parts[i].data);
	free(l->parts);
	free(l->image);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static CUresult result_of(int err)
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
	if (!r && object_init(&l->object, KIND_LINK, NULL, release_link))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r)
		release_link(l);
	else
		*out = object_handle(CUlinkState, l);
	return r;
}

/* ---- adding ------------------------------------------------------------------------------------------- */

static int add_part(void *arg, const struct image_span *part)
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

/* Is there something in it that we can run? */
static int usable(struct linker *l, const struct image *image)
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

/* A fatbin, a cubin, or what an earlier link has made. */
static int add_image(struct linker *l, const void *data, size_t size)
{
	struct image image;
	int err = image_init(&image, data, size);

	if (err)
		return err;
	err = usable(l, &image);
	if (!err && image.nparts == 1)
		err = add_part(l, &image.parts[0]);
	for (unsigned i = 1; i < image.nparts && !err; i++)
		err = add_part(l, &image.parts[i]);
	image_finish(&image);
	return err;
}

static CUresult add_ptx(struct linker *l, const char *text, size_t size, const char *name)
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
	r = add_image(l, text, size);
	return r == -ENOENT || r == -EINVAL ? CUDA_ERROR_INVALID_PTX : result_of(r);
}

/* All or nothing. */
static int add_objects(struct linker *l, const void *data, size_t size)
{
	unsigned had = l->nparts;
	int err = image_objects(data, size, add_part, l);

	if (!err && l->nparts == had)
		err = -ENOENT;
	while (err && l->nparts > had)
		free((void *)l->parts[--l->nparts].data);
	if (err == -ENOENT)
		engine_log(&l->jit.error, "error: an object or library without device code\n");
	return err;
}

static CUresult add(struct linker *l, CUjitInputType type, const void *data, size_t size, const char *name)
{
	enum image_kind kind = image_sniff(data, size);

	switch (type) {
	case CU_JIT_INPUT_PTX:
		return add_ptx(l, data, size, name ? name : "<unnamed>");
	case CU_JIT_INPUT_CUBIN:
	case CU_JIT_INPUT_FATBINARY:
		if (kind != IMAGE_CUBIN && kind != IMAGE_FATBIN)
			return CUDA_ERROR_INVALID_IMAGE;
		return result_of(add_image(l, data, size));
	case CU_JIT_INPUT_OBJECT:
	case CU_JIT_INPUT_LIBRARY:
		return result_of(add_objects(l, data, size));
	case CU_JIT_INPUT_NVVM: /* NVIDIA's intermediate code, which only its compiler reads */
		engine_log(&l->jit.error, "error: LTO-IR cannot be read\n");
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult link_find(CUlinkState state, struct linker **l)
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
	CUresult r = data && size ? link_find(state, &l) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	pthread_mutex_lock(&l->lock);
	r = l->image ? CUDA_ERROR_INVALID_VALUE : jit_read(&own, n, options, values);
	if (!r)
		r = add(l, type, data, size, name);
	jit_answer(&l->jit);
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

static CUresult complete(struct linker *l)
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
		return result_of(err);
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
	CUresult r = image ? link_find(state, &l) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	pthread_mutex_lock(&l->lock);
	r = complete(l);
	jit_answer(&l->jit);
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
