/*
 * Explains why an image cannot be loaded or a kernel cannot run: in the application's JIT log, in the trace, and to the
 * user.  Few programs that get CUDA_ERROR_NO_BINARY_FOR_GPU tell their user what to do.
 */
#include "backend/soft/code/module.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/explain.h"

static void explain_to_user(const char *text)
{
	if (soft.engine->note)
		soft.engine->note(text);
	explain_once(text);
}

void soft_explain(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	explain_to_user(text);
}

/* Lowest compute capability, in tenths, that accepts some PTX of the image; 0: none does. */
static unsigned lowest_ptx_capability(const struct image *image)
{
	unsigned oldest = 0;
	struct image_entry e;
	struct image_iter it;

	for (image_iter_init(&it, image, 0); image_next(&it, &e);)
		if (e.kind == IMAGE_ENTRY_PTX && !e.arch_specific && !e.family && (!oldest || e.sm < oldest))
			oldest = e.sm;
	return oldest;
}

CUresult explain_no_binary(const struct image *image, struct jit *jit)
{
	const struct engine_device *d = &soft.devices[0].info;
	bool cubins = soft.engine->accepts & IMAGE_WANT_CUBIN;
	char names[512], text[1792];

	image_explain(image, d->name, d->major, d->minor, cubins ? "cubin or PTX" : "PTX",
		image_kernel_names(image, names, sizeof names), text, sizeof text);
	unsigned sm = soft.engine->capability ? lowest_ptx_capability(image) : 0;
	size_t used = strlen(text);
	if (sm)
		snprintf(text + used, sizeof text - used,
			"; or set %s=%u.%u: the device then accepts the PTX of this image", soft.engine->capability,
			sm / 10, sm % 10);
	engine_log(&jit->error, "%s\n", text);
	explain_to_user(text);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}
