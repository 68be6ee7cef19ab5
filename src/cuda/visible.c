/* Parse CUDA_VISIBLE_DEVICES. */
#include "cuda/visible.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/uuid.h"

/* Returns the only device whose UUID starts with this text, or -1. */
static int find_by_uuid(const char *start, size_t len, int n, unsigned char (*uuids)[16])
{
	char text[UUID_TEXT];
	int found = -1;

	for (int i = 0; i < n; i++) {
		uuid_text(uuids[i], text);
		if (len > strlen(text) || strncasecmp(text, start, len) != 0)
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

static int find_by_index(const char *s, size_t len, int n)
{
	int v = 0;

	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)s[i]) || v > 100000)
			return -1;
		v = 10 * v + s[i] - '0';
	}
	return len && v < n ? v : -1;
}

static int find_device(const char *s, size_t len, int n, unsigned char (*uuids)[16])
{
	while (len && isspace((unsigned char)*s))
		s++, len--;
	while (len && isspace((unsigned char)s[len - 1]))
		len--;
	if (len > 4 && strncasecmp(s, "GPU-", 4) == 0)
		return find_by_uuid(s, len, n, uuids);
	return find_by_index(s, len, n);
}

int visible_devices(const char *list, int n, unsigned char (*uuids)[16], int *out)
{
	int count = 0;

	if (!list) {
		for (int i = 0; i < n; i++)
			out[i] = i;
		return n;
	}
	for (const char *s = list;; s++) {
		size_t len = strcspn(s, ",");
		int dev = find_device(s, len, n, uuids);

		if (dev < 0)
			return count;
		for (int i = 0; i < count; i++)
			if (out[i] == dev)
				return 0;
		out[count++] = dev;
		s += len;
		if (!*s)
			return count;
	}
}
