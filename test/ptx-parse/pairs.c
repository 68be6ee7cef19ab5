/*
 * Checks every X.ptx of a folder against the file beside it.  X.err is the first error as
 * line:column: message; X.out are the dumps that the first line of X.ptx names ("// dump pcd";
 * m is the module).  This tests the place and text of errors, and the passes on small functions.
 * pairs -w FOLDER writes the expected files instead; read them before you commit them.
 */
#include "ptx/ptx.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *text = f ? calloc(1, 1 << 20) : NULL;

	*len = text ? fread(text, 1, (1 << 20) - 1, f) : 0;
	if (f)
		fclose(f);
	return text;
}

static const struct ptx_error *first_error(struct ptx_module *m)
{
	if (m->error.line)
		return &m->error;
	for (struct ptx_function *f = m->functions; f; f = f->next)
		if (f->is_defined && (f->is_entry ? ptx_kernel_layout(f) : ptx_function_body(f)))
			return &f->error;
	return NULL;
}

static void print_dumps(struct ptx_module *m, FILE *o, const char *letters)
{
	if (*letters == 'm') {
		char *text = ptx_module_dump(m);

		fputs(text ? text : "failed\n", o);
		free(text);
		letters++;
	}
	for (struct ptx_function *f = m->functions; f; f = f->next) {
		for (const char *l = letters; f->is_defined && *l >= 'a' && *l <= 'z'; l++) {
			char *text = ptx_dump(f, *l);

			fprintf(o, "%s %c\n%s", f->name, *l, text ? text : "failed\n");
			free(text);
		}
	}
}

/* The text that X.err or X.out should have. */
static char *actual(struct ptx_module *m, const char *text, bool *is_error)
{
	const struct ptx_error *e = first_error(m);
	char *out = NULL;
	size_t size;
	FILE *o = open_memstream(&out, &size);

	*is_error = e != NULL;
	if (e)
		fprintf(o, "%u:%u: %s\n", e->line, e->column, e->message);
	else if (!strncmp(text, "// dump ", 8))
		print_dumps(m, o, text + 8);
	fclose(o);
	return out;
}

static int compare(const char *path, const char *got, bool is_error, bool write)
{
	char other[600];
	char *want;
	size_t len;
	int bad;

	snprintf(other, sizeof other, "%.*s.%s", (int)strlen(path) - 4, path, is_error ? "err" : "out");
	if (write) {
		FILE *f = fopen(other, "w");

		return !f || fputs(got, f) < 0 || fclose(f);
	}
	want = slurp(other, &len);
	bad = !want || strcmp(want, got);
	if (bad)
		fprintf(stderr, "%s:\ngot  %swant %s\n", path, got, want ? want : "(no such file)\n");
	free(want);
	return bad;
}

static int check(const char *path, bool write)
{
	struct ptx_module *m;
	size_t len;
	char *text = slurp(path, &len), *got;
	bool is_error;
	int bad;

	m = text ? ptx_module_create(text, len) : NULL;
	if (!m)
		return 1;
	got = actual(m, text, &is_error);
	bad = compare(path, got, is_error, write);
	ptx_module_destroy(m);
	free(got);
	free(text);
	return bad;
}

int main(int argc, char **argv)
{
	bool write = argc > 2 && !strcmp(argv[1], "-w");
	const char *dir = argv[argc - 1];
	DIR *d = argc > 1 ? opendir(dir) : NULL;
	struct dirent *e;
	int bad = 0, n = 0;

	if (!d)
		return perror("folder"), 1;
	while ((e = readdir(d))) {
		char path[512];

		if (strlen(e->d_name) < 5 || strcmp(e->d_name + strlen(e->d_name) - 4, ".ptx"))
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		bad += check(path, write);
		n++;
	}
	closedir(d);
	printf("%d files, %d wrong\n", n, bad);
	return bad || !n;
}
