/*
 * Saying why an image cannot be loaded, or a kernel not be run: into the application's log, into the trace, and to
 * the user.  A program that gets CUDA_ERROR_NO_BINARY_FOR_GPU rarely tells its user what to do about it.
 */
#include "backend/soft/code/module.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/explain.h"

/* To those who trace, and to the user. */
static void tell(const char *text)
{
	if (soft.engine->note)
		soft.engine->note(text);
	tell_user(text);
}

void soft_explain(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	tell(text);
}

/* The oldest device that would take some PTX of the image, in tenths; 0: there is none. */
static unsigned wanted_capability(const struct image *image)
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
	unsigned sm = soft.engine->capability ? wanted_capability(image) : 0;
	size_t used = strlen(text);
	if (sm)
		snprintf(text + used, sizeof text - used,
			"; or set %s=%u.%u, and the device takes the PTX that there is", soft.engine->capability,
			sm / 10, sm % 10);
	engine_log(&jit->error, "%s\n", text);
	tell(text);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}
