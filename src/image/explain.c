/* The error message for an image without code for a device. */
#include "image/private.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 4 }; /* at most this many kernels are named */

struct name_list {
	char *text;
	size_t size, count;
};

static void append_kernel_names(struct name_list *n, const struct image_code *code)
{
	for (size_t i = 0; i < code->nkernels; i++) {
		size_t used = strlen(n->text);

		if (n->count++ < NAMES)
			snprintf(n->text + used, n->size - used, "%s%s", used ? ", " : "", code->kernels[i].name);
	}
}

char *image_kernel_names(const struct image *image, char *text, size_t size)
{
	struct name_list names = {text, size, 0}, *n = &names;
	struct image_entry e;
	struct image_iter it;

	*text = 0;
	for (image_iter_init(&it, image, 0); !n->count && image_next(&it, &e);) {
		struct image_blob blob;
		struct image_code *code;

		if (e.kind != IMAGE_ENTRY_CUBIN || image_payload(&e, &blob))
			continue;
		if (!image_cubin_read(&code, blob.data, blob.size, NULL)) {
			append_kernel_names(n, code);
			image_code_destroy(code);
		}
		image_blob_finish(&blob);
	}
	size_t used = strlen(n->text);
	if (n->count > NAMES)
		snprintf(n->text + used, n->size - used, " and %zu more", n->count - NAMES);
	return text;
}

char *image_explain(const struct image *image, const char *device, int major, int minor, const char *needs,
	const char *kernels, char *text, size_t size)
{
	char has[512];

	snprintf(text, size,
		"no code for this device (%s, compute capability %d.%d), which needs %s; the image has: %s.  "
		"%s%s%sBuild with -gencode arch=compute_%d%d,code=compute_%d%d, or an older compute_",
		device, major, minor, needs, image_describe(image, has, sizeof has), kernels ? "Kernels: " : "",
		!kernels   ? ""
		: *kernels ? kernels
			   : "none that have names",
		kernels ? ".  " : "", major, minor, major, minor);
	return text;
}
