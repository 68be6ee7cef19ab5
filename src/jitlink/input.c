/* The inputs of a link: checking and copying. */
#include "jitlink/jitlink.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jitlink/vendor.h"
#include "ptx/ptx.h"

void jitlink_log(struct jitlink *l, const char *format, ...)
{
	size_t used = strlen(l->log);
	va_list ap;

	va_start(ap, format);
	vsnprintf(l->log + used, sizeof l->log - used, format, ap);
	va_end(ap);
}

static int add_part(struct jitlink *l, const void *data, size_t size)
{
	struct image_span *list = realloc(l->parts, (l->nparts + 1) * sizeof *list);
	char *copy = malloc(size + 1);

	if (list)
		l->parts = list;
	if (!list || !copy) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, data, size);
	copy[size] = 0;
	l->parts[l->nparts++] = (struct image_span){copy, size};
	return 0;
}

/* Whether all bodies of the text are right; logs the first error. */
static int check_ptx(struct jitlink *l, const char *text, size_t size, const char *name)
{
	struct ptx_module *m = ptx_module_create(text, size);
	const struct ptx_error *error = NULL;
	int r = m ? 0 : -ENOMEM;

	if (m && m->error.line)
		error = &m->error;
	for (struct ptx_function *f = m ? m->functions : NULL; f && !error && r != -ENOMEM; f = f->next) {
		r = ptx_function_body(f);
		error = r == -EINVAL ? &f->error : NULL;
	}
	if (error)
		jitlink_log(l, "ptxas %s, line %u; error   : %s\n", name, error->line, error->message);
	ptx_module_destroy(m);
	return error ? -EINVAL : r == -ENOMEM ? r : 0;
}

static nvJitLinkResult add_ptx(struct jitlink *l, const char *data, size_t size, const char *name)
{
	size_t length = strnlen(data, size);
	int r = check_ptx(l, data, length, name);

	if (!r)
		r = add_part(l, data, length);
	return !r ? NVJITLINK_SUCCESS : r == -EINVAL ? NVJITLINK_ERROR_PTX_COMPILE : NVJITLINK_ERROR_INTERNAL;
}

static bool has_ptx(const struct image *image)
{
	struct image_entry e;
	struct image_iter it;

	for (unsigned part = 0; part < image->nparts; part++)
		for (image_iter_init(&it, image, part); image_next(&it, &e);)
			if (e.kind == IMAGE_ENTRY_PTX)
				return true;
	return false;
}

/* A fatbin, or a link set, whose members are added one by one. */
static nvJitLinkResult add_fatbin(struct jitlink *l, const void *data, size_t size, const char *name)
{
	struct image image;
	char has[256];
	int r = image_init(&image, data, size);

	if (r)
		return r == -ENOMEM ? NVJITLINK_ERROR_INTERNAL : NVJITLINK_ERROR_UNRECOGNIZED_INPUT;
	if (!has_ptx(&image)) {
		jitlink_log(l, "error   : %s has %s; the CPU device can link PTX only\n", name,
			image_describe(&image, has, sizeof has));
		image_finish(&image);
		return NVJITLINK_ERROR_INVALID_INPUT;
	}
	if (image.nparts == 1)
		r = add_part(l, image.parts[0].data, image.parts[0].size);
	for (unsigned i = 1; i < image.nparts && !r; i++)
		r = add_part(l, image.parts[i].data, image.parts[i].size);
	image_finish(&image);
	return r ? NVJITLINK_ERROR_INTERNAL : NVJITLINK_SUCCESS;
}

static int add_found_fatbin(void *arg, const struct image_span *fatbin)
{
	struct image image;
	bool usable;

	if (image_init(&image, fatbin->data, fatbin->size))
		return 0;
	usable = has_ptx(&image);
	image_finish(&image);
	return usable ? add_part(arg, fatbin->data, fatbin->size) : 0;
}

static nvJitLinkResult add_host_objects(struct jitlink *l, const void *data, size_t size, const char *name)
{
	int r = image_objects(data, size, add_found_fatbin, l);

	if (r == -EINVAL)
		jitlink_log(l, "error   : %s is neither an object file nor a library\n", name);
	return !r ? NVJITLINK_SUCCESS : r == -EINVAL ? NVJITLINK_ERROR_INVALID_INPUT : NVJITLINK_ERROR_INTERNAL;
}

static nvJitLinkResult add_lto(struct jitlink *l, const void *data, size_t size, const char *name)
{
	if (!l->vendor)
		l->vendor = vendor_open(l, l->noptions, (const char *const *)l->options);
	return l->vendor ? vendor_add(l->vendor, l, data, size, name) : NVJITLINK_ERROR_LTO_NOT_ENABLED;
}

nvJitLinkResult jitlink_compile_lto(struct jitlink *l)
{
	size_t size;
	char *ptx;
	nvJitLinkResult r = l->vendor ? vendor_complete(l->vendor, l, &ptx, &size) : NVJITLINK_SUCCESS;

	if (r || !l->vendor)
		return r;
	r = add_ptx(l, ptx, size, "the PTX of the LTO-IR");
	free(ptx);
	return r;
}

nvJitLinkResult jitlink_add(struct jitlink *l, nvJitLinkInputType type, const void *data, size_t size, const char *name)
{
	enum image_kind kind = image_sniff(data, size);

	switch ((int)type) {
	case NVJITLINK_INPUT_PTX:
		return add_ptx(l, data, size, name);
	case NVJITLINK_INPUT_CUBIN: /* what this library and our ptxas write is a fatbin */
	case NVJITLINK_INPUT_FATBIN:
		return add_fatbin(l, data, size, name);
	case NVJITLINK_INPUT_OBJECT:
	case NVJITLINK_INPUT_LIBRARY:
		return add_host_objects(l, data, size, name);
	case NVJITLINK_INPUT_ANY:
		if (kind == IMAGE_FATBIN)
			return add_fatbin(l, data, size, name);
		return kind == IMAGE_PTX ? add_ptx(l, data, size, name) : add_host_objects(l, data, size, name);
	case NVJITLINK_INPUT_LTOIR:
		return add_lto(l, data, size, name);
	default:
		return NVJITLINK_ERROR_UNRECOGNIZED_INPUT;
	}
}
