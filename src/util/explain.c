/* Explain to the user why a program fails. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/explain.h"

enum { TEXTS_MAX = 16 }; /* messages of one process */

static uint64_t text_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash | 1; /* 0 marks an unused slot */
}

/* Whether this is the first call with this text. */
static bool text_is_new(const char *text)
{
	static _Atomic uint64_t printed[TEXTS_MAX];
	uint64_t hash = text_hash(text);

	for (int i = 0; i < TEXTS_MAX; i++) {
		uint64_t other = 0;

		if (atomic_compare_exchange_strong(&printed[i], &other, hash))
			return true;
		if (other == hash)
			return false;
	}
	return false;
}

void explain_once(const char *text)
{
	const char *wanted = secure_getenv("GANGWAY_EXPLAIN");
	char line[2048];
	int n;

	if (!wanted || strcmp(wanted, "1") || !text_is_new(text))
		return;
	n = snprintf(line, sizeof line, "gangway: %s\n", text);
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0)
		return; /* standard error is closed */
}
