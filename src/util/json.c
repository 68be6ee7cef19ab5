#include "util/json.h"
#include "util/utf8.h"

void json_text(FILE *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	fputc('"', out);
	while (*p) {
		size_t n = utf8_length((const char *)p);

		if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (n == 0 || *p < 0x20 || *p == 0x7f)
			fprintf(out, "\\u%04x", *p);
		else
			fwrite(p, 1, n, out);
		p += n ? n : 1;
	}
	fputc('"', out);
}
