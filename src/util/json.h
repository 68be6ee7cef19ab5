/* json.h - JSON strings. */
#pragma once

#include <stdio.h>

/* Print a quoted string. Invalid UTF-8 and control characters are escaped. */
void json_text(FILE *out, const char *text);
