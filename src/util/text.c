#include "util/text.h"

size_t utf8_length(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = *p < 0x80                 ? 1
		   : *p >= 0xc2 && *p < 0xe0 ? 2
		   : *p >= 0xe0 && *p < 0xf0 ? 3
		   : *p >= 0xf0 && *p < 0xf5 ? 4
					     : 0;

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
		(*p == 0xf4 && p[1] > 0x8f)) /* overlong forms, surrogates, beyond Unicode */
		return 0;
	return n;
}

size_t utf8_printable(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = utf8_length(s);

	if (n == 1 && (*p < ' ' || *p == 127))
		return 0;
	return n == 2 && *p == 0xc2 && p[1] < 0xa0 ? 0 : n; /* C1 control characters */
}

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
