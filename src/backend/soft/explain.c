/*
 * Saying why an image cannot be loaded, or a kernel not be run: into the application's log, into the trace, and to
 * the user.  A program that gets CUDA_ERROR_NO_BINARY_FOR_GPU rarely tells its user what to do about it.
 */
#include "backend/soft/module.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/tell.h"

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

CUresult explain_no_binary(const struct image *image, struct jit *jit)
{
	const struct engine_device *d = &soft.devices[0].info;
	bool cubins = soft.engine->accepts & IMAGE_WANT_CUBIN;
	char names[512], text[1792];

	image_explain(image, d->name, d->major, d->minor, cubins ? "cubin or PTX" : "PTX",
		image_kernel_names(image, names, sizeof names), text, sizeof text);
	engine_log(&jit->error, "%s\n", text);
	tell(text);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}
