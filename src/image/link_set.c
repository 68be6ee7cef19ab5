/*
 * link_set.c - a link set: several fatbins in one, linked when the set is loaded.
 *
 *	header | entry, FATBIN_SET | fatbin (padded to 8) | fatbin | ...
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/fatbin.h"
#include "image/bytes.h"
#include "image/private.h"

enum { PARTS_MAX = 1 << 16 };

/* ---- reading ------------------------------------------------------------------------------------------ */

/* Takes the next fatbin off `left`. False: none is left, or its size exceeds the rest. */
static bool set_next_fatbin(struct image_span *left, struct image_span *fatbin)
{
	struct fatbin_header h;
	size_t size;

	if (left->size < sizeof h || image_sniff(left->data, left->size) != IMAGE_FATBIN)
		return false;
	memcpy(&h, left->data, sizeof h);
	if (!in_range(h.header_size, h.size, left->size))
		return false;
	*fatbin = (struct image_span){left->data, h.header_size + h.size};
	size = (fatbin->size + 7) & ~(size_t)7;
	if (size > left->size)
		size = left->size;
	*left = (struct image_span){(const char *)left->data + size, left->size - size};
	return true;
}

static unsigned set_split(struct image_span all, struct image_span *parts)
{
	struct image_span one;
	unsigned n = 0;

	while (n < PARTS_MAX && set_next_fatbin(&all, &one)) {
		if (parts)
			parts[n] = one;
		n++;
	}
	return all.size ? 0 : n;
}

int image_set_open(struct image *image)
{
	struct image_entry e;
	struct image_iter it;
	unsigned n;

	image_iter_init(&it, image, 0);
	if (!image_next(&it, &e) || e.kind != IMAGE_ENTRY_SET)
		return 0;
	if (e.packing != IMAGE_PLAIN)
		return -ENOTSUP;
	struct image_span all = {e.payload, e.stored_size};
	n = set_split(all, NULL);
	if (!n)
		return -EINVAL;
	image->parts = calloc(n + 1, sizeof *image->parts);
	if (!image->parts)
		return -ENOMEM;
	image->parts[0] = image->one;
	set_split(all, image->parts + 1);
	image->nparts = n + 1;
	return 0;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

static size_t align_to_8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static void *write_headers(char *at, unsigned kind, const struct image_entry *e, size_t payload)
{
	struct fatbin_header h = {.magic = FATBIN_MAGIC, .version = FATBIN_VERSION, .header_size = sizeof h};
	struct fatbin_entry entry = {.kind = kind,
		.version = FATBIN_ENTRY_VERSION,
		.header_size = sizeof entry,
		.payload_size = payload,
		.flags = FATBIN_64BIT | FATBIN_CUDA | FATBIN_LINUX};

	if (e) {
		entry.sm = e->sm;
		entry.major = e->version_major;
		entry.minor = e->version_minor;
		entry.flags |= e->arch_specific ? FATBIN_ARCH_SPECIFIC : e->family ? FATBIN_FAMILY : 0;
	}
	h.size = sizeof entry + payload;
	memcpy(at, &h, sizeof h);
	memcpy(at + sizeof h, &entry, sizeof entry);
	return at + sizeof h + sizeof entry;
}

enum { HEADERS = sizeof(struct fatbin_header) + sizeof(struct fatbin_entry) };

static int measure_part(const struct image_span *part, size_t *size)
{
	enum image_kind kind = image_sniff(part->data, part->size);

	if (part->size > IMAGE_MAX)
		return -E2BIG;
	if (kind == IMAGE_FATBIN)
		*size = align_to_8(part->size);
	else if (kind == IMAGE_CUBIN || kind == IMAGE_PTX)
		*size = HEADERS + align_to_8(part->size + 1);
	else
		return -EINVAL;
	return 0;
}

/* The buffer is zeroed, which provides padding and the NUL behind a text. */
static int write_part(char *at, const struct image_span *part)
{
	struct image one;
	struct image_iter it;
	struct image_entry e;

	if (image_sniff(part->data, part->size) == IMAGE_FATBIN) {
		memcpy(at, part->data, part->size);
		return 0;
	}
	int r = image_init(&one, part->data, part->size);
	if (r)
		return r;
	image_iter_init(&it, &one, 0);
	if (!image_next(&it, &e))
		return it.error ? it.error : -EINVAL;
	at = write_headers(at, e.kind == IMAGE_ENTRY_PTX ? FATBIN_PTX : FATBIN_ELF, &e, align_to_8(part->size + 1));
	memcpy(at, part->data, part->size);
	return 0;
}

int image_set_write(const struct image_span *parts, unsigned n, void **data, size_t *size)
{
	size_t total = 0, one;
	char *at;
	int r = n && n <= PARTS_MAX ? 0 : -EINVAL;

	for (unsigned i = 0; i < n && !r; i++) {
		r = measure_part(&parts[i], &one);
		total += r ? 0 : one;
	}
	if (!r && total > IMAGE_MAX)
		r = -E2BIG;
	if (r)
		return r;
	*data = calloc(1, HEADERS + total);
	if (!*data)
		return -ENOMEM;
	at = write_headers(*data, FATBIN_SET, NULL, total);
	for (unsigned i = 0; i < n && !r; i++) {
		r = write_part(at, &parts[i]);
		if (!r && !measure_part(&parts[i], &one))
			at += one;
	}
	*size = HEADERS + total;
	if (r)
		free(*data);
	return r;
}

int image_fatbin_write(const struct image_span *part, void **data, size_t *size)
{
	int r = image_sniff(part->data, part->size) == IMAGE_FATBIN ? -EINVAL : measure_part(part, size);

	if (r)
		return r;
	*data = calloc(1, *size);
	if (!*data)
		return -ENOMEM;
	r = write_part(*data, part);
	if (r)
		free(*data);
	return r;
}
