/*
 * Print ld.so.cache in a form comparable with the output of ldconfig -p: ldcache [FILE]
 */
#include <stdio.h>
#include <string.h>
#include "loader/ldcache.h"

int main(int argc, char **argv)
{
	struct ldcache cache;
	struct ldcache_entry e;
	int err = ldcache_open(&cache, argc > 1 ? argv[1] : LDCACHE_FILE);

	if (err) {
		printf("%s\n", strerror(-err));
		return 1;
	}
	for (uint32_t at = 0; ldcache_next(&cache, &at, &e);)
		printf("%s %s%s%s%s\n", e.name, e.path, ldcache_native(&e) ? "" : " foreign", e.hwcaps ? " hwcap " : "",
			e.hwcaps ? e.hwcaps : "");
	ldcache_close(&cache);
	return 0;
}
