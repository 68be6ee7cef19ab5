/* A server's status is untrusted input: any text is parsed or refused, and parsed strings are terminated. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "top/top.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
	size_t n = strnlen(text, TOP_TEXT);

	if (n == TOP_TEXT)
		abort();
	while (n--)
		if (text[n] < 0x20 || text[n] == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct top t, before;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	before = t;
	if (!top_read(&t, text)) {
		if (t.nlines > TOP_CLIENTS || t.ndevices > TOP_DEVICES)
			abort();
		check_text(t.build);
		for (unsigned i = 0; i < t.nlines; i++)
			check_text(t.clients[i].program);
		t.at = before.at + 1;
		top_rates(&t, &before);
		top_sort(&t, size % TOP_ORDERS, size & 1);
	}
	free(text);
	return 0;
}
