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

CUresult explain_no_binary(const struct image *image, struct jit *jit)
{
	const struct engine_device *d = &soft.devices[0].info;
	bool cubins = soft.engine->accepts & IMAGE_WANT_CUBIN;
	char names[512], text[1792];

	image_explain(image, d->name, d->major, d->minor, cubins ? "cubin or PTX" : "PTX",
		image_kernel_names(image, names, sizeof names), text, sizeof text);
	engine_log(&jit->error, "%s\n", text);
	explain_to_user(text);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}
