/* Any bytes as an object from the cache: the loader places or refuses it, and never reads or writes out of bounds. */
#include <stddef.h>
#include <stdint.h>

#include "ptx/jit/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct object_image image;
	char why[256];

	object_load(data, size, "kernel", &image, why, sizeof why);
	object_unload(&image);
	return 0;
}
