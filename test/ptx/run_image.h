/* run_image.h - a texture or surface of a spec file on a CUDA device: its array or buffer, and its handle. */
#pragma once

#include "spec.h"

struct cuda_image {
	unsigned long long handle;
	void *array;
	unsigned long long memory; /* the buffer, instead of the array */
	bool mip;
};

bool cuda_image_make(const struct argument *a, struct cuda_image *c); /* on failure, too, cuda_image_free is needed */
bool cuda_image_read(const struct argument *a, const struct cuda_image *c);
void cuda_image_free(const struct argument *a, struct cuda_image *c);
