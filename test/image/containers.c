/*
 * Hand-made wrappers, fatbins and payloads: every kind is recognised, the right entry is selected for each device, and
 * every truncated image and every wrong size gets an error.
 */
#include <errno.h>
#include <stdlib.h>

#include "abi/fatbin.h"
#include "image/image.h"
#include "test/check.h"
#include "make.h"

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u32 n)\n{ ret; }\n";

static void test_sniff(void)
{
	CHECK(image_sniff("\xb1\x43\x62\x46", 4) == IMAGE_WRAPPER);
	CHECK(image_sniff("\x50\xed\x55\xba", 4) == IMAGE_FATBIN);
	CHECK(image_sniff("\x50\xed\x55\xba", 3) == IMAGE_PTX);
	CHECK(image_sniff("\x7f"
			  "ELF",
		      4) == IMAGE_CUBIN);
	CHECK(image_sniff("!<arch>\n", 8) == IMAGE_ARCHIVE);
	CHECK(image_sniff("", SIZE_MAX) == IMAGE_PTX);
	CHECK(image_sniff(ptx, SIZE_MAX) == IMAGE_PTX);
}

static unsigned count_entries(const struct image *image, unsigned part, int *error)
{
	struct image_iter it;
	struct image_entry e;
	unsigned n = 0;

	for (image_iter_init(&it, image, part); image_next(&it, &e);)
		n++;
	*error = it.error;
	return n;
}

/* A fatbin with a PTX entry of this architecture. */
static size_t ptx_fatbin(struct bytes *b, unsigned sm, uint64_t flags)
{
	size_t f = make_fatbin(b);

	make_entry(b, &(struct make_entry){FATBIN_PTX, sm, .flags = flags, .data = ptx, .size = sizeof ptx});
	make_end(b, f);
	return f;
}

static void test_wrappers(void)
{
	static struct bytes linked, a, c;
	const void *list[] = {a.data, c.data, NULL};
	struct fatbin_wrapper w = {FATBIN_WRAPPER_MAGIC, FATBIN_WRAPPER_PLAIN, a.data, NULL};
	struct image image;
	int error;

	make_end(&linked, make_fatbin(&linked));
	ptx_fatbin(&a, 75, 0);
	ptx_fatbin(&c, 80, FATBIN_LZ4);
	CHECK(image_init_local(&image, &w) == 0);
	CHECK(image.kind == IMAGE_WRAPPER && image.nparts == 1 && image.parts[0].size == a.size);
	CHECK(count_entries(&image, 0, &error) == 1 && !error);
	image_finish(&image);

	w = (struct fatbin_wrapper){FATBIN_WRAPPER_MAGIC, FATBIN_WRAPPER_LINKED, linked.data, list};
	CHECK(image_init_local(&image, &w) == 0);
	CHECK(image.nparts == 3 && image.parts[2].data == c.data);
	CHECK(count_entries(&image, 0, &error) == 0 && !error);
	CHECK(count_entries(&image, 2, &error) == 1 && !error);
	CHECK(count_entries(&image, 3, &error) == 0 && !error);
	image_finish(&image);

	list[1] = "not a fatbin";
	CHECK(image_init_local(&image, &w) == -EINVAL);
	image_finish(&image);
	w.version = 3;
	CHECK(image_init_local(&image, &w) == -ENOTSUP);
	image_finish(&image);
	CHECK(image_init(&image, &w, sizeof w) == -EINVAL); /* untrusted pointers */
	CHECK(image_init_local(&image, NULL) == -EINVAL);
	CHECK(image_init_local(&image, "") == -EINVAL);
}

static void test_payloads(void)
{
	static const uint64_t packings[] = {0, FATBIN_LZ4, FATBIN_ZSTD};

	for (unsigned i = 0; i < 3; i++) {
		static struct bytes b;
		struct image image;
		struct image_iter it;
		struct image_entry e;
		struct image_blob blob;
		size_t f;

		b.size = 0;
		f = make_fatbin(&b);
		make_entry(&b, &(struct make_entry){FATBIN_PTX, 75, 8, 4, packings[i], ptx, sizeof ptx, "-g -O0"});
		make_entry(&b, &(struct make_entry){77, 75, .data = "??", .size = 2});
		make_end(&b, f);
		CHECK(image_init(&image, b.data, b.size) == 0);
		image_iter_init(&it, &image, 0);
		CHECK(image_next(&it, &e) && e.kind == IMAGE_ENTRY_PTX && e.packing == i);
		CHECK(e.sm == 75 && e.version_major == 8 && e.version_minor == 4);
		CHECK(e.options.size == 6 && !memcmp(e.options.data, "-g -O0", 6));
		CHECK(!e.relocatable);
		CHECK(image_payload(&e, &blob) == 0);
		CHECK(blob.size == sizeof ptx - 1 && !strcmp(blob.data, ptx));
		image_blob_finish(&blob);
		CHECK(image_next(&it, &e) && e.kind == IMAGE_ENTRY_OTHER);
		CHECK(!image_next(&it, &e) && !it.error);
		CHECK(!image_next(&it, &e) && !it.error);
	}
}

/* The architecture selected for a device, plus 1000 for PTX and 10000 for an architecture-specific one; 0: none. */
static unsigned selected_arch(const struct bytes *b, unsigned sm, unsigned kinds)
{
	struct image_want want = {sm / 10, sm % 10, kinds};
	struct image_entry e;
	struct image image;
	int r;

	CHECK(image_init(&image, b->data, b->size) == 0);
	r = image_select(&image, 0, &want, &e);
	CHECK(r == 0 || r == -ENOENT);
	return r ? 0 : e.sm + (e.kind == IMAGE_ENTRY_PTX ? 1000 : 0) + (e.arch_specific ? 10000 : 0);
}

static void test_selection(void)
{
	enum { BOTH = IMAGE_WANT_CUBIN | IMAGE_WANT_PTX };
	static const struct make_entry entries[] = {
		{FATBIN_PTX, 75, .data = ptx, .size = sizeof ptx},
		{FATBIN_ELF, 80, .data = ptx, .size = sizeof ptx},
		{FATBIN_ELF, 80, 1, 7, .data = ptx, .size = sizeof ptx},
		{FATBIN_ELF, 86, .data = ptx, .size = sizeof ptx},
		{FATBIN_ELF, 90, .data = ptx, .size = sizeof ptx},
		{FATBIN_ELF, 90, .flags = FATBIN_ARCH_SPECIFIC, .data = ptx, .size = sizeof ptx},
		{FATBIN_LTOIR, 90, .data = ptx, .size = sizeof ptx},
		{FATBIN_ELF, 103, .flags = FATBIN_FAMILY, .data = ptx, .size = sizeof ptx},
		{FATBIN_PTX, 80, .data = ptx, .size = sizeof ptx},
		{FATBIN_PTX, 120, .flags = FATBIN_FAMILY, .data = ptx, .size = sizeof ptx},
	};
	static struct bytes b;
	size_t f = make_fatbin(&b);
	struct image image;
	char text[200];

	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		make_entry(&b, &entries[i]);
	make_end(&b, f);
	CHECK(selected_arch(&b, 70, BOTH) == 0);
	CHECK(selected_arch(&b, 75, BOTH) == 1075);
	CHECK(selected_arch(&b, 75, IMAGE_WANT_CUBIN) == 0);
	CHECK(selected_arch(&b, 80, BOTH) == 80);
	CHECK(selected_arch(&b, 87, BOTH) == 86);
	CHECK(selected_arch(&b, 90, BOTH) == 10090);
	CHECK(selected_arch(&b, 90, IMAGE_WANT_PTX) == 1080);
	CHECK(selected_arch(&b, 100, BOTH) == 1080);
	CHECK(selected_arch(&b, 103, BOTH) == 103);
	CHECK(selected_arch(&b, 121, BOTH) == 1120);
	CHECK(selected_arch(&b, 130, BOTH) == 1080);
	CHECK(image_init(&image, b.data, b.size) == 0);
	CHECK(!strcmp(image_describe(&image, text, sizeof text),
		"cubin sm_80 sm_86 sm_90 sm_90a sm_103f, "
		"PTX 8.0 compute_75 8.0 compute_80 8.0 compute_120f, LTO sm_90"));
	CHECK(strlen(image_describe(&image, text, 10)) == 9);
}

/* PTX for other devices, in the order in which a device of capability 8.0 tries it. */
static void test_other_ptx(void)
{
	enum { OTHER = IMAGE_WANT_PTX | IMAGE_WANT_OTHER_PTX };
	static const struct make_entry entries[] = {
		{FATBIN_PTX, 90, .flags = FATBIN_ARCH_SPECIFIC, .data = ptx, .size = sizeof ptx},
		{FATBIN_PTX, 121, .data = ptx, .size = sizeof ptx},
		{FATBIN_PTX, 100, .flags = FATBIN_FAMILY, .data = ptx, .size = sizeof ptx},
		{FATBIN_ELF, 90, .data = ptx, .size = sizeof ptx},
		{FATBIN_PTX, 120, .data = ptx, .size = sizeof ptx},
	};
	static const unsigned order[] = {120, 121, 100, 90};
	struct image_want want = {8, 0, OTHER};
	struct image_entry e, *previous = NULL;
	static struct bytes b;
	size_t f = make_fatbin(&b);
	struct image image;

	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		make_entry(&b, &entries[i]);
	make_end(&b, f);
	CHECK(selected_arch(&b, 80, IMAGE_WANT_PTX) == 0);
	CHECK(selected_arch(&b, 80, OTHER) == 1120);
	CHECK(selected_arch(&b, 90, OTHER) == 11090);
	CHECK(selected_arch(&b, 130, OTHER) == 1121);
	CHECK(image_init(&image, b.data, b.size) == 0);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++, previous = &e) {
		CHECK(image_select_other(&image, 0, &want, previous, &e) == 0);
		CHECK(e.sm == order[i]);
	}
	CHECK(image_select_other(&image, 0, &want, previous, &e) == -ENOENT);
}

static void test_relocatable(void)
{
	static struct bytes b;
	size_t f = make_fatbin(&b);
	struct image image;
	struct image_iter it;
	struct image_entry e;

	make_entry(&b, &(struct make_entry){
			       FATBIN_PTX, 75, .data = ptx, .size = sizeof ptx, .options = "-g --compile-only  "});
	make_end(&b, f);
	CHECK(image_init(&image, b.data, b.size) == 0);
	image_iter_init(&it, &image, 0);
	CHECK(image_next(&it, &e) && e.relocatable);
}

static void test_several_fatbins(void)
{
	static struct bytes b;
	struct image image;
	int error;

	ptx_fatbin(&b, 75, 0);
	ptx_fatbin(&b, 80, FATBIN_ZSTD);
	make_bytes(&b, NULL, 24); /* padding at the end of a section */
	CHECK(image_init(&image, b.data, b.size) == 0);
	CHECK(count_entries(&image, 0, &error) == 2 && !error);
	make_bytes(&b, "junk", 4);
	CHECK(image_init(&image, b.data, b.size) == 0);
	CHECK(count_entries(&image, 0, &error) == 2 && error == -EINVAL);
	CHECK(image_init_local(&image, b.data) == 0); /* without a size, only the first fatbin is read */
	CHECK(count_entries(&image, 0, &error) == 1 && !error);
}

/* Reads all of an image, as a loader does, and returns the first error. Works on a copy of exactly this size. */
static int walk_image(const void *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct image image;
	struct image_iter it;
	struct image_entry e;
	struct image_blob blob;
	struct image_code *code = NULL;
	int r;

	memcpy(copy, data, size);
	r = image_init(&image, copy, size);
	if (!r) {
		for (image_iter_init(&it, &image, 0); !r && image_next(&it, &e);) {
			r = image_payload(&e, &blob);
			if (!r)
				r = e.kind == IMAGE_ENTRY_CUBIN ? image_cubin_read(&code, blob.data, blob.size, NULL)
								: 0;
			image_code_destroy(code);
			code = NULL;
			image_blob_finish(&blob);
		}
		if (!r)
			r = it.error;
	}
	image_finish(&image);
	free(copy);
	return r;
}

static void test_truncation(void)
{
	static struct bytes b;
	size_t f = make_fatbin(&b);

	make_entry(&b, &(struct make_entry){FATBIN_PTX, 75, .flags = FATBIN_LZ4, .data = ptx, .size = sizeof ptx});
	make_entry(&b, &(struct make_entry){FATBIN_PTX, 75, .flags = FATBIN_ZSTD, .data = ptx, .size = sizeof ptx});
	make_end(&b, f);
	CHECK(walk_image(b.data, b.size) == 0);
	for (size_t n = 0; n < b.size; n++)
		CHECK(walk_image(b.data, n) < 0);
}

/* Overwrites the field at this offset and expects an error. */
static void expect_refusal(const struct bytes *good, size_t at, uint64_t value, size_t size)
{
	static struct bytes b;

	b = *good;
	memcpy(b.data + at, &value, size);
	if (walk_image(b.data, b.size) >= 0)
		printf("the wrong value %#llx at offset %zu is accepted\n", (unsigned long long)value, at), failures++;
}

#define EXPECT_REFUSAL(at, type, field, value) \
	expect_refusal(&b, (at) + offsetof(type, field), value, sizeof(((type *)0)->field))

static void test_wrong_sizes(void)
{
	static const uint64_t packings[] = {0, FATBIN_LZ4, FATBIN_ZSTD};

	for (unsigned i = 0; i < 3; i++) {
		static struct bytes b;
		size_t e = sizeof(struct fatbin_header);
		struct fatbin_entry h;

		b.size = 0;
		ptx_fatbin(&b, 75, packings[i]);
		memcpy(&h, b.data + e, sizeof h);
		CHECK(walk_image(b.data, b.size) == 0);
		EXPECT_REFUSAL(0, struct fatbin_header, header_size, 15);
		EXPECT_REFUSAL(0, struct fatbin_header, header_size, 24);
		EXPECT_REFUSAL(0, struct fatbin_header, version, 2);
		EXPECT_REFUSAL(0, struct fatbin_header, size, b.size);
		EXPECT_REFUSAL(0, struct fatbin_header, size, UINT64_MAX);
		EXPECT_REFUSAL(0, struct fatbin_header, size, UINT64_MAX - 15);
		EXPECT_REFUSAL(e, struct fatbin_entry, header_size, 0);
		EXPECT_REFUSAL(e, struct fatbin_entry, header_size, 63);
		EXPECT_REFUSAL(e, struct fatbin_entry, header_size, UINT32_MAX);
		EXPECT_REFUSAL(e, struct fatbin_entry, payload_size, h.payload_size + 8);
		EXPECT_REFUSAL(e, struct fatbin_entry, payload_size, UINT64_MAX);
		EXPECT_REFUSAL(e, struct fatbin_entry, payload_size, -(uint64_t)64);
		EXPECT_REFUSAL(e, struct fatbin_entry, compressed_size, h.payload_size + 1);
		if (!packings[i])
			continue;
		EXPECT_REFUSAL(e, struct fatbin_entry, compressed_size, 1);
		EXPECT_REFUSAL(e, struct fatbin_entry, compressed_size, h.compressed_size - 1);
		EXPECT_REFUSAL(e, struct fatbin_entry, size, 0);
		EXPECT_REFUSAL(e, struct fatbin_entry, size, sizeof ptx - 1);
		EXPECT_REFUSAL(e, struct fatbin_entry, size, sizeof ptx + 1);
		EXPECT_REFUSAL(e, struct fatbin_entry, size, 1 << 20);
		EXPECT_REFUSAL(e, struct fatbin_entry, size, UINT64_C(1) << 30);
		EXPECT_REFUSAL(e, struct fatbin_entry, size, UINT64_MAX);
		EXPECT_REFUSAL(e, struct fatbin_entry, flags, FATBIN_OLD_COMPRESSION);
		EXPECT_REFUSAL(e, struct fatbin_entry, flags, packings[i] ^ FATBIN_LZ4 ^ FATBIN_ZSTD);
	}
}

int main(void)
{
	test_sniff();
	test_wrappers();
	test_payloads();
	test_selection();
	test_other_ptx();
	test_relocatable();
	test_several_fatbins();
	test_truncation();
	test_wrong_sizes();
	return failures != 0;
}
