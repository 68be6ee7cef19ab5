/*
 * fatbin.c - walking the entries of an image, without unpacking them.
 */
#include <errno.h>

#include "abi/fatbin.h"
#include "image/bytes.h"
#include "image/private.h"

static void advance(struct image_span *span, size_t n)
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

static bool fail(struct image_iter *it, int error)
{
	memset(it, 0, sizeof *it);
	it->error = error;
	return false;
}

/* A bare cubin or text: one entry, then nothing. */
static bool bare(struct image_iter *it, struct image_entry *entry, enum image_kind kind)
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
	advance(&it->left, it->left.size);
	return r ? fail(it, r) : true;
}

static bool all_zero(const struct image_span *span)
{
	const char *p = span->data;

	for (size_t i = 0; i < span->size; i++)
		if (p[i])
			return false;
	return true;
}

/* Step into the next fatbin of this part. False: there is none, or it is wrong. */
static bool enter_fatbin(struct image_iter *it)
{
	struct fatbin_header h;
	size_t pad;

	if (it->left.size < sizeof h || image_sniff(it->left.data, it->left.size) != IMAGE_FATBIN)
		return all_zero(&it->left) ? false : fail(it, -EINVAL);
	memcpy(&h, it->left.data, sizeof h);
	if (h.version != FATBIN_VERSION)
		return fail(it, -ENOTSUP);
	if (h.header_size < sizeof h || !in_range(h.header_size, h.size, it->left.size))
		return fail(it, -EINVAL);
	it->fatbin = (struct image_span){(const char *)it->left.data + h.header_size, h.size};
	advance(&it->left, h.header_size + h.size);
	/* The next one is aligned to 8 with respect to this one. */
	pad = -(h.header_size + h.size) & 7;
	advance(&it->left, pad < it->left.size ? pad : it->left.size);
	return true;
}

static enum image_entry_kind kind_of(unsigned kind)
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

static enum image_packing packing_of(uint64_t flags, uint32_t packed)
{
	if (flags & FATBIN_ZSTD)
		return IMAGE_ZSTD;
	if (flags & FATBIN_LZ4)
		return IMAGE_LZ4;
	return packed || flags & FATBIN_OLD_COMPRESSION ? IMAGE_PACKING_UNKNOWN : IMAGE_PLAIN;
}

/* The options lie between the fixed header and the payload; what points elsewhere is taken as none. */
static struct image_span options_of(const char *at, const struct fatbin_entry *h)
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

/* Have an entry's header before us. False: there are no more, or it->error is set. */
static bool find_entry(struct image_iter *it)
{
	while (it->fatbin.size < sizeof(struct fatbin_entry)) {
		if (!all_zero(&it->fatbin))
			return fail(it, -EINVAL);
		it->fatbin.size = 0;
		if (!it->left.size || !enter_fatbin(it))
			return false;
	}
	return true;
}

bool image_next(struct image_iter *it, struct image_entry *entry)
{
	static const char word[] = "--compile-only";
	struct fatbin_entry h;
	const char *at;

	memset(entry, 0, sizeof *entry);
	if (it->left.size && !it->fatbin.data && image_sniff(it->left.data, it->left.size) != IMAGE_FATBIN)
		return bare(it, entry, image_sniff(it->left.data, it->left.size));
	if (!find_entry(it))
		return false;
	at = it->fatbin.data;
	memcpy(&h, at, sizeof h);
	if (h.header_size < sizeof h || !in_range(h.header_size, h.payload_size, it->fatbin.size) ||
		h.compressed_size > h.payload_size)
		return fail(it, -EINVAL);
	entry->kind = kind_of(h.kind);
	entry->packing = packing_of(h.flags, h.compressed_size);
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
	entry->options = options_of(at, &h);
	entry->relocatable =
		entry->options.size && memmem(entry->options.data, entry->options.size, word, sizeof word - 1);
	advance(&it->fatbin, h.header_size + h.payload_size);
	return true;
}
