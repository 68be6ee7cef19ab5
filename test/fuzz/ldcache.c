/* For any content of /etc/ld.so.cache, the reader parses or refuses it; it never reads out of bounds or loops. */
#include <string.h>
#include "loader/ldcache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink; /* keeps the compiler from removing the reads */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ldcache cache;
	struct ldcache_entry e;

	if (ldcache_init(&cache, data, size))
		return 0;
	for (uint32_t at = 0; ldcache_next(&cache, &at, &e);)
		sink += strlen(e.name) + strlen(e.path) + (e.hwcaps ? strlen(e.hwcaps) : 0) + ldcache_native(&e);
	return 0;
}
