/* utf8.h - characters in bytes that may be anything. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* How many bytes the character at `s` has: 0 if there is none that UTF-8 allows.  `s` ends in a NUL. */
size_t utf8_length(const char *s);

/* The same, and 0 for those that would speak to a terminal. */
size_t utf8_printable(const char *s);
