/*
 * fatbin.c - walks the entries of an image without unpacking them.
 */
#include <errno.h>

#include "abi/fatbin.h"
#include "image/bytes.h"
#include "image/private.h"

static void span_advance(struct image_span *span, size_t n)
{
	span->data = (const char *)span->data + n;
	span->size -= n;
}

void image_iter_init(struct image_iter *it, const struct image *image, unsigned part)
{
	memset(it, 0, sizeof *it);
	if (part < image->nparts)
		it->left = image->parts[part];
}

static bool iter_fail(struct image_iter *it, int error)
{
	memset(it, 0, sizeof *it);
	it->error = error;
	return false;
}

/* A bare cubin or text is a part with one entry. */
static bool iter_bare_entry(struct image_iter *it, struct image_entry *entry, enum image_kind kind)
{
	int r;

	entry->payload = it->left.data;
	entry->stored_size = entry->raw_size = it->left.size;
	if (kind == IMAGE_CUBIN) {
		entry->kind = IMAGE_ENTRY_CUBIN;
		r = image_cubin_target(it->left.data, it->left.size, &entry->sm);
	} else {
		entry->kind = IMAGE_ENTRY_PTX;
		r = image_ptx_target(it->left.data, it->left.size, entry);
	}
	span_advance(&it->left, it->left.size);
	return r ? iter_fail(it, r) : true;
}

static bool span_is_zero(const struct image_span *span)
{
	const char *p = span->data;

	for (size_t i = 0; i < span->size; i++)
		if (p[i])
			return false;
	return true;
}

/* Steps into the next fatbin of this part. False: none is left, or it->error is set. */
static bool iter_enter_fatbin(struct image_iter *it)
{
	struct fatbin_header h;
	size_t pad;

	if (it->left.size < sizeof h || image_sniff(it->left.data, it->left.size) != IMAGE_FATBIN)
		return span_is_zero(&it->left) ? false : iter_fail(it, -EINVAL);
	memcpy(&h, it->left.data, sizeof h);
	if (h.version != FATBIN_VERSION)
		return iter_fail(it, -ENOTSUP);
	if (h.header_size < sizeof h || !in_range(h.header_size, h.size, it->left.size))
		return iter_fail(it, -EINVAL);
	it->fatbin = (struct image_span){(const char *)it->left.data + h.header_size, h.size};
	span_advance(&it->left, h.header_size + h.size);
	/* Fatbins of a part are aligned to 8 bytes relative to the first one. */
	pad = -(h.header_size + h.size) & 7;
	span_advance(&it->left, pad < it->left.size ? pad : it->left.size);
	return true;
}

static enum image_entry_kind entry_kind(unsigned kind)
{
	switch (kind) {
	case FATBIN_PTX:
		return IMAGE_ENTRY_PTX;
	case FATBIN_ELF:
		return IMAGE_ENTRY_CUBIN;
	case FATBIN_LTOIR:
		return IMAGE_ENTRY_LTO;
	case FATBIN_SET:
		return IMAGE_ENTRY_SET;
	}
	return IMAGE_ENTRY_OTHER;
}

static enum image_packing entry_packing(uint64_t flags, uint32_t packed)
{
	if (flags & FATBIN_ZSTD)
		return IMAGE_ZSTD;
	if (flags & FATBIN_LZ4)
		return IMAGE_LZ4;
	return packed || flags & FATBIN_OLD_COMPRESSION ? IMAGE_PACKING_UNKNOWN : IMAGE_PLAIN;
}

/* Options lie between the fixed header and the payload; a span that points elsewhere is ignored. */
static struct image_span entry_options(const char *at, const struct fatbin_entry *h)
{
	struct fatbin_span s;

	if (!h->options || !in_range(h->options, sizeof s, h->header_size))
		return (struct image_span){0};
	memcpy(&s, at + h->options, sizeof s);
	if (!in_range(s.offset, s.size, h->header_size))
		return (struct image_span){0};
	while (s.size && !at[s.offset + s.size - 1])
		s.size--;
	return (struct image_span){at + s.offset, s.size};
}

/* Moves to the next entry header, into the next fatbin if necessary. False: no entry is left, or it->error is set. */
static bool iter_find_entry(struct image_iter *it)
{
	while (it->fatbin.size < sizeof(struct fatbin_entry)) {
		if (!span_is_zero(&it->fatbin))
			return iter_fail(it, -EINVAL);
		it->fatbin.size = 0;
		if (!it->left.size || !iter_enter_fatbin(it))
			return false;
	}
	return true;
}

bool image_next(struct image_iter *it, struct image_entry *entry)
{
	static const char relocatable_option[] = "--compile-only";
	struct fatbin_entry h;
	const char *at;

	memset(entry, 0, sizeof *entry);
	if (it->left.size && !it->fatbin.data && image_sniff(it->left.data, it->left.size) != IMAGE_FATBIN)
		return iter_bare_entry(it, entry, image_sniff(it->left.data, it->left.size));
	if (!iter_find_entry(it))
		return false;
	at = it->fatbin.data;
	memcpy(&h, at, sizeof h);
	if (h.header_size < sizeof h || !in_range(h.header_size, h.payload_size, it->fatbin.size) ||
		h.compressed_size > h.payload_size)
		return iter_fail(it, -EINVAL);
	entry->kind = entry_kind(h.kind);
	entry->packing = entry_packing(h.flags, h.compressed_size);
	entry->sm = h.sm;
	entry->arch_specific = h.flags & FATBIN_ARCH_SPECIFIC;
	entry->family = h.flags & FATBIN_FAMILY;
	entry->debug = h.flags & FATBIN_DEBUG;
	entry->version_major = h.major;
	entry->version_minor = h.minor;
	entry->flags = h.flags;
	entry->payload = at + h.header_size;
	entry->stored_size = h.compressed_size ? h.compressed_size : h.payload_size;
	entry->raw_size = entry->packing == IMAGE_PLAIN ? h.payload_size : h.size;
	entry->options = entry_options(at, &h);
	entry->relocatable = entry->options.size && memmem(entry->options.data, entry->options.size, relocatable_option,
							    sizeof relocatable_option - 1);
	span_advance(&it->fatbin, h.header_size + h.payload_size);
	return true;
}
