/* ptxdump FILE [LETTERS]: parses every function of a PTX file and prints the results of these passes (ptx_dump). */
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *path, size_t *len)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	char *text = NULL;
	size_t n;

	*len = 0;
	if (!f)
		return NULL;
	do {
		text = realloc(text, *len + 65536);
		if (!text)
			break;
		n = fread(text + *len, 1, 65536, f);
		*len += n;
	} while (n);
	if (f != stdin)
		fclose(f);
	return text;
}

static int complain(const struct ptx_error *e)
{
	char buf[800];

	ptx_error_format(e, buf, sizeof buf);
	fprintf(stderr, "%s\n", buf);
	return 1;
}

static int dump(struct ptx_function *f, const char *letters)
{
	int err = f->is_entry ? ptx_kernel_layout(f) : ptx_function_body(f);

	if (err)
		return complain(&f->error);
	for (; *letters; letters++) {
		char *text = ptx_dump(f, *letters);

		if (!text)
			return fprintf(stderr, "no dump '%c' of %s\n", *letters, f->name), 1;
		printf("%s %c\n%s", f->name, *letters, text);
		free(text);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct ptx_module *m;
	size_t len;
	char *text;
	int bad = 0;

	if (argc < 2)
		return fprintf(stderr, "usage: ptxdump file.ptx [pfcdlu]\n"), 2;
	text = slurp(argv[1], &len);
	if (!text)
		return perror(argv[1]), 2;
	m = ptx_module_create(text, len);
	free(text);
	if (!m)
		return 2;
	if (m->error.line)
		bad = complain(&m->error);
	for (struct ptx_function *f = m->functions; f && !m->error.line; f = f->next)
		if (f->is_defined)
			bad |= dump(f, argc > 2 ? argv[2] : "");
	ptx_module_destroy(m);
	return bad;
}
