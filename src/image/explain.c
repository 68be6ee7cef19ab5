/* The error message for an image without code for a device. */
#include "image/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_SHOWN 80 /* characters of a kernel's name */

/* Append one component of a mangled name, "5outer" -> "outer". Returns the rest, or NULL if there is no component. */
static const char *append_component(const char *s, char *text, size_t size)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);
	size_t used = strlen(text);

	if (end == s || !n || strlen(end) < n)
		return NULL;
	if (strncmp(end, "_GLOBAL__N_", 11) && strncmp(end, "_INTERNAL_", 10)) /* an anonymous namespace */
		snprintf(text + used, size - used, "%s%.*s", used ? "::" : "", (int)n, end);
	return end + n;
}

char *image_kernel_readable(const char *name, char *text, size_t size)
{
	const char *s = name;

	*text = 0;
	if (!strncmp(s, "_Z", 2)) {
		bool nested = s[2] == 'N';

		s += 2 + nested;
		s += strspn(s, "LrVK"); /* internal linkage and qualifiers */
		if (!strncmp(s, "St", 2))
			snprintf(text, size, "std"), s += 2;
		do
			s = append_component(s, text, size);
		while (nested && s && *s >= '1' && *s <= '9');
	}
	if (!*text)
		snprintf(text, size, "%s", name);
	if (strlen(text) > NAME_MAX_SHOWN && size > NAME_MAX_SHOWN)
		strcpy(text + NAME_MAX_SHOWN - 3, "...");
	return text;
}

char *image_kernel_names(const struct image *image, char *text, size_t size)
{
	struct image_entry e;
	struct image_iter it;
	size_t count = 0;

	*text = 0;
	for (image_iter_init(&it, image, 0); !count && image_next(&it, &e);) {
		struct image_blob blob;
		struct image_code *code;

		if (e.kind != IMAGE_ENTRY_CUBIN || image_payload(&e, &blob))
			continue;
		if (!image_cubin_read(&code, blob.data, blob.size, NULL)) {
			count = code->nkernels;
			if (count)
				image_kernel_readable(code->kernels[0].name, text, size);
			image_code_destroy(code);
		}
		image_blob_finish(&blob);
	}
	size_t used = strlen(text);
	if (count > 1)
		snprintf(text + used, size - used, " and %zu more", count - 1);
	return text;
}

char *image_explain(const struct image *image, const char *device, int major, int minor, const char *needs,
	const char *kernels, char *text, size_t size)
{
	bool named = kernels && *kernels;
	char has[512];

	snprintf(text, size,
		"no code for this device (%s, compute capability %d.%d): it needs %s, but the image has %s.  "
		"%s%s%sBuild with nvcc -gencode arch=compute_%d%d,code=compute_%d%d; a prebuilt package needs another "
		"version or another GPU",
		device, major, minor, needs, image_describe(image, has, sizeof has), named ? "Kernels: " : "",
		named ? kernels : "", named ? ".  " : "", major, minor, major, minor);
	return text;
}
