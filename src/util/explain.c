/* Explain to the user why a program fails. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/explain.h"

void explain_once(const char *text)
{
	static atomic_bool done;
	const char *wanted = secure_getenv("GANGWAY_EXPLAIN");
	char line[2048];
	int n;

	if (!wanted || strcmp(wanted, "1") || atomic_exchange(&done, true))
		return;
	n = snprintf(line, sizeof line, "gangway: %s\n", text);
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0)
		return; /* standard error is closed */
}
