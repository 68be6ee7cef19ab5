/*
 * image.c - the kind of an image, and the bounds of its parts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/fatbin.h"
#include "image/private.h"

/* No program has this many pre-link fatbins; bounds the search for the end of a malformed list. */
#define PRELINK_MAX (1u << 20)

static bool starts_with(const unsigned char *data, size_t size, const char *magic, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (i >= size || data[i] != (unsigned char)magic[i])
			return false;
	return true;
}

enum image_kind image_sniff(const void *data, size_t size)
{
	if (starts_with(data, size, "\xb1\x43\x62\x46", 4))
		return IMAGE_WRAPPER;
	if (starts_with(data, size, "\x50\xed\x55\xba", 4))
		return IMAGE_FATBIN;
	if (starts_with(data, size,
		    "\x7f"
		    "ELF",
		    4))
		return IMAGE_CUBIN;
	if (starts_with(data, size, "!<arch>\n", 8))
		return IMAGE_ARCHIVE;
	return IMAGE_PTX;
}

int image_init(struct image *image, const void *data, size_t size)
{
	memset(image, 0, sizeof *image);
	image->kind = image_sniff(data, size);
	if (image->kind == IMAGE_WRAPPER || !size)
		return -EINVAL;
	if (image->kind == IMAGE_ARCHIVE)
		return -ENOTSUP;
	image->one = (struct image_span){data, size};
	image->parts = &image->one;
	image->nparts = 1;
	return image->kind == IMAGE_FATBIN ? image_set_open(image) : 0;
}

static int fatbin_span(struct image_span *span, const void *data)
{
	struct fatbin_header h;

	if (!data || image_sniff(data, SIZE_MAX) != IMAGE_FATBIN)
		return -EINVAL;
	memcpy(&h, data, sizeof h);
	if (h.size > PTRDIFF_MAX - UINT16_MAX)
		return -EINVAL;
	*span = (struct image_span){data, h.header_size + h.size};
	return 0;
}

static unsigned count_prelink_fatbins(const void *const *list)
{
	unsigned n = 0;

	while (list && list[n] && n < PRELINK_MAX)
		n++;
	return n;
}

static int image_init_wrapper(struct image *image, const void *data)
{
	struct fatbin_wrapper w;
	const void *const *prelink;
	unsigned n;
	int r;

	memcpy(&w, data, sizeof w);
	if (w.version != FATBIN_WRAPPER_PLAIN && w.version != FATBIN_WRAPPER_LINKED)
		return -ENOTSUP;
	prelink = w.version == FATBIN_WRAPPER_LINKED ? w.more : NULL;
	n = count_prelink_fatbins(prelink);
	if (n) {
		image->parts = calloc(n + 1, sizeof *image->parts);
		if (!image->parts)
			return -ENOMEM;
	}
	image->nparts = n + 1;
	r = fatbin_span(&image->parts[0], w.data);
	for (unsigned i = 0; i < n && !r; i++)
		r = fatbin_span(&image->parts[i + 1], prelink[i]);
	if (r)
		image_finish(image);
	return r;
}

int image_init_local(struct image *image, const void *data)
{
	int r;

	memset(image, 0, sizeof *image);
	if (!data)
		return -EINVAL;
	image->kind = image_sniff(data, SIZE_MAX);
	image->parts = &image->one;
	image->nparts = 1;
	image->one.data = data;
	switch (image->kind) {
	case IMAGE_WRAPPER:
		return image_init_wrapper(image, data);
	case IMAGE_FATBIN:
		r = fatbin_span(&image->one, data);
		return r ? r : image_set_open(image);
	case IMAGE_CUBIN:
		image->one.size = image_elf_extent(data, SIZE_MAX);
		return image->one.size ? 0 : -EINVAL;
	case IMAGE_PTX:
		image->one.size = strlen(data);
		return image->one.size ? 0 : -EINVAL;
	case IMAGE_ARCHIVE:
		break; /* an archive does not state its length */
	}
	return -ENOTSUP;
}

bool image_within(const void *data, size_t size)
{
	struct fatbin_header h;

	switch (image_sniff(data, size)) {
	case IMAGE_FATBIN:
		if (size < sizeof h)
			return false;
		memcpy(&h, data, sizeof h);
		return h.header_size <= size && h.size <= size - h.header_size;
	case IMAGE_CUBIN:
		return image_elf_extent(data, size) != 0;
	case IMAGE_PTX:
		return size != 0;
	default:
		return false;
	}
}

void image_finish(struct image *image)
{
	if (image->parts != &image->one)
		free(image->parts);
	memset(image, 0, sizeof *image);
}
