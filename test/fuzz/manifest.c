/* The manifest of gangway install: for any content, the reader returns only our own paths. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "cli/install/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct manifest m;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (manifest_parse(text, &m))
		for (unsigned i = 0; i < m.count; i++)
			if (!plan_allows_entry(m.entries[i].kind, m.entries[i].path) || strstr(m.entries[i].path, ".."))
				__builtin_trap();
	free(text);
	return 0;
}
