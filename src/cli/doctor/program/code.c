/* List the GPU code in an ELF file and compare it with the device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/program/code.h"
#include "image/image.h"

#define KINDS_MAX 48

/* Code for one architecture; one record for all fatbins that contain it. */
struct code_kind {
	enum image_entry_kind kind;
	unsigned sm, major, minor; /* newest PTX ISA version seen */
	char suffix;
};

struct code_reading {
	const struct code_device *device;
	struct code_facts *facts;
	struct code_kind kinds[KINDS_MAX];
	unsigned n;
};

static void record_entry(struct code_reading *r, const struct image_entry *e)
{
	char suffix = e->arch_specific ? 'a' : e->family ? 'f' : 0;

	if (e->kind != IMAGE_ENTRY_CUBIN && e->kind != IMAGE_ENTRY_PTX && e->kind != IMAGE_ENTRY_LTO)
		return;
	for (unsigned i = 0; i < r->n; i++) {
		struct code_kind *k = &r->kinds[i];

		if (k->kind != e->kind || k->sm != e->sm || k->suffix != suffix)
			continue;
		if (e->version_major > k->major || (e->version_major == k->major && e->version_minor > k->minor))
			k->major = e->version_major, k->minor = e->version_minor;
		return;
	}
	if (r->n < KINDS_MAX)
		r->kinds[r->n++] = (struct code_kind){e->kind, e->sm, e->version_major, e->version_minor, suffix};
}

static bool image_suits_device(const struct image *image, const struct code_device *d)
{
	struct image_want want = {d->major, d->minor,
		d->ptx_only ? IMAGE_WANT_PTX | IMAGE_WANT_OTHER_PTX : IMAGE_WANT_PTX | IMAGE_WANT_CUBIN};
	struct image_entry e;

	/* The suitable code of a device-linked program may be in the parts that it was linked from. */
	for (unsigned part = 0; part < image->nparts; part++)
		if (!image_select(image, part, &want, &e))
			return true;
	return false;
}

/* Does the image contain no kernels and no variables? Device-linked parts of programs often are empty. */
static bool image_is_empty(const struct image *image)
{
	struct image_iter it;
	struct image_entry e;
	bool empty = true;

	for (image_iter_init(&it, image, 0); image_next(&it, &e);) {
		struct image_blob blob;
		struct image_code *code;

		empty = false;
		if (e.kind != IMAGE_ENTRY_CUBIN || image_payload(&e, &blob))
			continue;
		if (!image_cubin_read(&code, blob.data, blob.size, NULL)) {
			empty = !code->nkernels && !code->nglobals;
			image_code_destroy(code);
		}
		image_blob_finish(&blob);
		break; /* the other entries are the same code for other devices */
	}
	return empty && !it.error;
}

/* Is this NVIDIA's libcudadevrt, for kernels that launch kernels? The CPU device does not need it. */
static bool is_device_runtime(const struct image *image)
{
	static const char name[] = "_cuda_device_runtime_cu_";
	struct image_iter it;
	struct image_entry e;
	struct image_blob blob;

	image_iter_init(&it, image, 0);
	if (!image_next(&it, &e) || image_payload(&e, &blob))
		return false;
	bool found = memmem(blob.data, blob.size, name, sizeof name - 1);
	image_blob_finish(&blob);
	return found;
}

static int read_fatbin(void *arg, const struct image_span *fatbin)
{
	struct code_reading *r = arg;
	struct image image;
	struct image_iter it;
	struct image_entry e;

	r->facts->fatbins++;
	if (image_init(&image, fatbin->data, fatbin->size)) {
		r->facts->malformed = true;
		return 0;
	}
	bool suitable = r->device->known && image_suits_device(&image, r->device);
	if (r->device->ptx_only && is_device_runtime(&image)) {
		r->facts->fatbins--;
		image_finish(&image);
		return 0;
	}
	for (unsigned part = 0; part < image.nparts; part++) {
		for (image_iter_init(&it, &image, part); image_next(&it, &e);)
			record_entry(r, &e);
		r->facts->malformed |= it.error != 0;
	}
	if (!suitable && image_is_empty(&image))
		r->facts->fatbins--;
	r->facts->suitable += suitable;
	image_finish(&image);
	return 0;
}

static int compare_kinds(const void *a, const void *b)
{
	const struct code_kind *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind == IMAGE_ENTRY_CUBIN   ? -1
		       : y->kind == IMAGE_ENTRY_CUBIN ? 1
						      : (int)x->kind - (int)y->kind;
	return x->sm != y->sm ? (x->sm < y->sm ? -1 : 1) : x->suffix - y->suffix;
}

static void format_kinds(struct code_reading *r)
{
	char *text = r->facts->text;
	size_t used = 0, size = sizeof r->facts->text;
	enum image_entry_kind last = IMAGE_ENTRY_OTHER;

	qsort(r->kinds, r->n, sizeof *r->kinds, compare_kinds);
	for (unsigned i = 0; i < r->n && used < size; i++) {
		const struct code_kind *k = &r->kinds[i];
		const char *word = k->kind == IMAGE_ENTRY_CUBIN ? "machine code"
				   : k->kind == IMAGE_ENTRY_PTX ? "PTX"
								: "LTO";

		if (k->kind != last)
			used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", word);
		last = k->kind;
		if (used < size)
			used += (size_t)snprintf(text + used, size - used,
				k->kind == IMAGE_ENTRY_PTX ? " compute_%u%.1s" : " sm_%u%.1s", k->sm, &k->suffix);
		if (used < size && k->kind == IMAGE_ENTRY_PTX)
			used += (size_t)snprintf(text + used, size - used, " (ISA %u.%u)", k->major, k->minor);
	}
	if (!r->n)
		snprintf(text, size, "nothing that Gangway knows");
}

void code_read(const void *data, size_t size, const struct code_device *device, struct code_facts *facts)
{
	struct code_reading r = {.device = device, .facts = facts};

	*facts = (struct code_facts){0};
	int err = image_objects(data, size, read_fatbin, &r);
	if (facts->fatbins)
		facts->malformed |= err != 0;
	if (facts->fatbins)
		format_kinds(&r);
}
