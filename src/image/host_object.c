/*
 * host_object.c - finds the fatbins in host object files and in archives of them.
 *
 *	object   ELF; section .nv_fatbin, or __nv_relfatbin if compiled to be linked: fatbin | fatbin | ...
 *	archive  "!<arch>\n", then per member a header of 60 characters and its bytes, padded to 2
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/fatbin.h"
#include "image/bytes.h"
#include "image/elf.h"
#include "image/private.h"

static int section_each_fatbin(struct image_span all, image_found_fn *found, void *arg)
{
	struct fatbin_header h;

	while (all.size >= sizeof h) {
		size_t step;
		int r;

		memcpy(&h, all.data, sizeof h);
		if (!h.magic) { /* padding */
			step = 8;
		} else if (h.magic != FATBIN_MAGIC || h.header_size < sizeof h ||
			   !in_range(h.header_size, h.size, all.size)) {
			return -EINVAL;
		} else {
			step = h.header_size + h.size;
			r = found(arg, &(struct image_span){all.data, step});
			if (r)
				return r;
			step = (step + 7) & ~(size_t)7;
		}
		if (step > all.size)
			step = all.size;
		all = (struct image_span){(const char *)all.data + step, all.size - step};
	}
	return 0;
}

static int object_each_fatbin(const void *data, size_t size, image_found_fn *found, void *arg)
{
	struct elf_section s;
	struct elf elf;
	int r = image_elf_init(&elf, data, size);

	for (uint32_t i = 1; !r && i < elf.nsections; i++) {
		r = image_elf_section(&elf, i, &s);
		if (r || !s.data || (strcmp(s.name, ".nv_fatbin") && strcmp(s.name, "__nv_relfatbin")))
			continue;
		r = section_each_fatbin((struct image_span){s.data, s.size}, found, arg);
	}
	return r;
}

static int archive_each_fatbin(const char *data, size_t size, image_found_fn *found, void *arg)
{
	enum { MAGIC = 8, HEADER = 60, SIZE_AT = 48, SIZE_LEN = 10 };

	for (size_t at = MAGIC; at < size;) {
		char digits[SIZE_LEN + 1] = "";
		size_t n;
		int r;

		if (!in_range(at, HEADER, size) || memcmp(data + at + HEADER - 2, "`\n", 2))
			return -EINVAL;
		memcpy(digits, data + at + SIZE_AT, SIZE_LEN);
		n = strtoul(digits, NULL, 10);
		at += HEADER;
		if (!in_range(at, n, size))
			return -EINVAL;
		/* Other members, such as the symbol table and long names, are not objects. */
		if (image_sniff(data + at, n) == IMAGE_CUBIN) {
			r = object_each_fatbin(data + at, n, found, arg);
			if (r)
				return r;
		}
		at += n + (n & 1);
	}
	return 0;
}

int image_objects(const void *data, size_t size, image_found_fn *found, void *arg)
{
	switch (image_sniff(data, size)) {
	case IMAGE_CUBIN:
		return object_each_fatbin(data, size, found, arg);
	case IMAGE_ARCHIVE:
		return archive_each_fatbin(data, size, found, arg);
	default:
		return -EINVAL;
	}
}
