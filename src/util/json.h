/* json.h - text for JSON. */
#pragma once

#include <stdio.h>

/* "text" in quotation marks; what is not UTF-8 or not printable is escaped. */
void json_text(FILE *out, const char *text);
