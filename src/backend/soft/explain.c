/*
 * Saying why an image cannot be loaded: into the application's log, into the trace, and, where `gangway run`
 * has asked for it (GANGWAY_EXPLAIN), once to standard error.  A program that gets
 * CUDA_ERROR_NO_BINARY_FOR_GPU rarely tells its user what to do about it.
 */
#include "backend/soft/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 4 }; /* so many kernels are named */

struct names {
	char text[512];
	size_t count;
};

static void add_names(struct names *n, const struct image_code *code)
{
	for (size_t i = 0; i < code->nkernels; i++) {
		size_t used = strlen(n->text);

		if (n->count++ < NAMES)
			snprintf(n->text + used, sizeof n->text - used, "%s%s", used ? ", " : "",
				 code->kernels[i].name);
	}
}

/* Kernels of the first cubin that has any: the others are the same for other devices. */
static void find_names(const struct image *image, struct names *n)
{
	struct image_entry e;
	struct image_iter it;

	for (image_iter_init(&it, image, 0); !n->count && image_next(&it, &e);) {
		struct image_blob blob;
		struct image_code *code;

		if (e.kind != IMAGE_ENTRY_CUBIN || image_payload(&e, &blob))
			continue;
		if (!image_code_read(&code, blob.data, blob.size, NULL)) {
			add_names(n, code);
			image_code_destroy(code);
		}
		image_blob_finish(&blob);
	}
	size_t used = strlen(n->text);
	if (n->count > NAMES)
		snprintf(n->text + used, sizeof n->text - used, " and %zu more", n->count - NAMES);
}

static void tell(const char *text)
{
	static atomic_bool told;
	const char *wanted = getenv("GANGWAY_EXPLAIN");
	char line[2048];

	if (soft.engine->note)
		soft.engine->note(text);
	if (!wanted || strcmp(wanted, "1") || atomic_exchange(&told, true))
		return;
	int n = snprintf(line, sizeof line, "gangway: %s\n", text);
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0)
		return; /* nobody listens */
}

CUresult explain_no_binary(const struct image *image, struct jit *jit)
{
	const struct engine_device *d = &soft.devices[0].info;
	bool cubins = soft.engine->accepts & IMAGE_WANT_CUBIN;
	struct names names = {.count = 0};
	char has[512], text[1792];

	find_names(image, &names);
	snprintf(text, sizeof text,
		 "no code for this device (%s, compute capability %d.%d), which needs %s; the image has: %s.  "
		 "Kernels: %s.  Build with -gencode arch=compute_%d%d,code=compute_%d%d, or an older compute_",
		 d->name, d->major, d->minor, cubins ? "cubin or PTX" : "PTX",
		 image_describe(image, has, sizeof has), names.count ? names.text : "none that have names",
		 d->major, d->minor, d->major, d->minor);
	engine_log(&jit->error, "%s\n", text);
	tell(text);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}
