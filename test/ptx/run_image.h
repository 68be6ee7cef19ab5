/* run_image.h - a texture or surface of a test file on the device: its array or buffer, and its handle. */
#pragma once

#include "spec.h"

struct cuda_image {
	unsigned long long handle;
	void *array;
	unsigned long long memory; /* instead of the array */
	bool mip;
};

bool cuda_image_make(const struct argument *a, struct cuda_image *c); /* false: then free it, too */
bool cuda_image_read(const struct argument *a, const struct cuda_image *c);
void cuda_image_free(const struct argument *a, struct cuda_image *c);
