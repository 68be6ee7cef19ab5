/*
 * For any input, the image readers parse or refuse the bytes; they never read out of bounds, loop or leak.
 *
 * The whole input is one image: the target unpacks, reads, selects and describes its entries. A mutator cannot reach
 * the content of LZ4 or zstd data, so the target also reads the input directly as a cubin.
 */
#include <stdlib.h>
#include <string.h>

#include "image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Limit of entries to unpack: a small file may declare many large ones. */
#define ENTRIES 64

static volatile unsigned long sink; /* keeps the compiler from removing the reads */

static void touch(const void *data, size_t size)
{
	const unsigned char *p = data;

	if (size)
		sink += p[0] + p[size - 1];
}

static void read_code(const void *data, size_t size)
{
	struct image_code *code;
	struct image_error err;

	if (image_cubin_read(&code, data, size, &err)) {
		touch(err.text, strlen(err.text));
		return;
	}
	for (size_t i = 0; i < code->nkernels; i++) {
		const struct image_kernel *k = &code->kernels[i];

		touch(k->name, strlen(k->name));
		for (uint32_t j = 0; j < k->nparams; j++)
			if (k->params[j].offset + k->params[j].size > k->param_bytes)
				abort();
		if (!image_code_kernel(code, k->name))
			abort();
	}
	for (size_t i = 0; i < code->nglobals; i++) {
		const struct image_global *g = &code->globals[i];

		touch(g->name, strlen(g->name));
		if (g->init)
			touch(g->init, g->size);
		if (!image_code_global(code, g->name))
			abort();
	}
	image_code_destroy(code);
}

static void read_entry(const struct image_entry *e)
{
	struct image_blob blob;

	touch(e->payload, e->stored_size);
	touch(e->options.data, e->options.size);
	/* A large but possible size costs memory, and the fuzzer would only run out of memory. */
	if (e->raw_size > 1 << 24 || image_payload(e, &blob))
		return;
	touch(blob.data, blob.size);
	if (e->kind == IMAGE_ENTRY_PTX && strlen(blob.data) != blob.size)
		abort();
	if (e->kind == IMAGE_ENTRY_CUBIN)
		read_code(blob.data, blob.size);
	image_blob_finish(&blob);
}

static void read_image(const struct image *image)
{
	struct image_want want = {9, 0, IMAGE_WANT_CUBIN | IMAGE_WANT_PTX};
	struct image_iter it;
	struct image_entry e;
	unsigned n = 0;
	char text[64];

	for (image_iter_init(&it, image, 0); n < ENTRIES && image_next(&it, &e); n++)
		read_entry(&e);
	if (!image_select(image, 0, &want, &e))
		touch(e.payload, e.stored_size);
	touch(text, strlen(image_describe(image, text, sizeof text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image;

	if (!image_init(&image, data, size))
		read_image(&image);
	image_finish(&image);
	read_code(data, size);
	return 0;
}
