/* text.h - untrusted bytes as text: UTF-8 characters, JSON strings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Returns the length of the character at `s`, or 0 if it is not valid UTF-8. `s` is NUL-terminated. */
size_t utf8_length(const char *s);

/* The same, but 0 for control characters as well. */
size_t utf8_printable(const char *s);

/* Print a quoted string. Invalid UTF-8 and control characters are escaped. */
void json_text(FILE *out, const char *text);
