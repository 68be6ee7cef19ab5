/*
 * payload.c - unpacks the payload of an entry: plain, LZ4 or zstd.
 */
#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

#include "image/bytes.h"
#include "image/private.h"

/* An LZ4 length byte stands for at most 255 bytes, so a larger ratio is malformed. */
static bool lz4_size_is_possible(const struct image_entry *e)
{
	return e->stored_size <= LZ4_MAX_INPUT_SIZE && e->raw_size / 255 <= e->stored_size;
}

static int unpack_lz4(const struct image_entry *e, char *out)
{
	int n = LZ4_decompress_safe(e->payload, out, (int)e->stored_size, (int)e->raw_size);

	return n >= 0 && (size_t)n == e->raw_size ? 0 : -EINVAL;
}

/* Most zstd frames state their size, which must agree with the header before memory is allocated for it. */
static bool zstd_size_is_possible(const struct image_entry *e)
{
	unsigned long long size = ZSTD_getFrameContentSize(e->payload, e->stored_size);

	if (size == ZSTD_CONTENTSIZE_ERROR)
		return false;
	if (size != ZSTD_CONTENTSIZE_UNKNOWN && size != e->raw_size)
		return false;
	/* A compressed block of 128 KiB takes at least 4 bytes. */
	return e->raw_size >> 17 <= e->stored_size / 4;
}

static int unpack_zstd(const struct image_entry *e, char *out)
{
	size_t frame = ZSTD_findFrameCompressedSize(e->payload, e->stored_size), n;

	if (ZSTD_isError(frame))
		return -EINVAL;
	n = ZSTD_decompress(out, e->raw_size, e->payload, frame);
	return !ZSTD_isError(n) && n == e->raw_size ? 0 : -EINVAL;
}

static int unpack_entry(const struct image_entry *e, char *out)
{
	switch (e->packing) {
	case IMAGE_PLAIN:
		memcpy(out, e->payload, e->raw_size);
		return 0;
	case IMAGE_LZ4:
		return unpack_lz4(e, out);
	case IMAGE_ZSTD:
		return unpack_zstd(e, out);
	case IMAGE_PACKING_UNKNOWN:
		break;
	}
	return -ENOTSUP;
}

static int check_entry_sizes(const struct image_entry *e)
{
	if (e->packing == IMAGE_PACKING_UNKNOWN)
		return -ENOTSUP;
	if (e->packing == IMAGE_PLAIN)
		return 0;
	if (e->raw_size > IMAGE_MAX)
		return -E2BIG;
	if (e->packing == IMAGE_LZ4 ? !lz4_size_is_possible(e) : !zstd_size_is_possible(e))
		return -EINVAL;
	return 0;
}

/* Cuts the text at its first NUL: padding may follow. */
static void trim_text(struct image_blob *blob)
{
	blob->size = strnlen(blob->data, blob->size);
}

int image_payload(const struct image_entry *e, struct image_blob *blob)
{
	bool text = e->kind == IMAGE_ENTRY_PTX;
	char *out;
	int r = check_entry_sizes(e);

	memset(blob, 0, sizeof *blob);
	if (r)
		return r;
	if (e->packing == IMAGE_PLAIN && (!text || memchr(e->payload, 0, e->raw_size))) {
		blob->data = e->payload;
		blob->size = e->raw_size;
	} else {
		if (e->raw_size > IMAGE_MAX)
			return -E2BIG;
		out = malloc(e->raw_size + 1);
		if (!out)
			return -ENOMEM;
		r = unpack_entry(e, out);
		if (r) {
			free(out);
			return r;
		}
		out[e->raw_size] = 0;
		blob->data = blob->owned = out;
		blob->size = e->raw_size;
	}
	if (text)
		trim_text(blob);
	return 0;
}

void image_blob_finish(struct image_blob *blob)
{
	free(blob->owned);
	memset(blob, 0, sizeof *blob);
}
