/* Read /etc/ld.so.conf and the files that it includes. */
#include "loader/ldconf.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INCLUDE_DEPTH 8
#define FILE_MAX      (64 << 10)

static void conf_read(const struct sysroot *sys, const char *path, int depth, ldconf_fn *each, void *arg);

/* Read the files that match an "include" pattern. A relative pattern starts in /etc. */
static void conf_include(const struct sysroot *sys, const char *pattern, int depth, ldconf_fn *each, void *arg)
{
	char outside[PATH_MAX];
	size_t root = strlen(sys->root);
	glob_t g;

	if (snprintf(outside, sizeof outside, "%s%s%s", sys->root, *pattern == '/' ? "" : "/etc/", pattern) >=
		(int)sizeof outside)
		return;
	if (glob(outside, 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++)
		conf_read(sys, g.gl_pathv[i] + root, depth + 1, each, arg);
	globfree(&g);
}

/* Cut the comment, blanks at both ends, and slashes at the end. */
static char *line_trim(char *line)
{
	line[strcspn(line, "#\n")] = 0;
	line += strspn(line, " \t\r");
	for (size_t n = strlen(line); n && strchr(" \t\r/", line[n - 1]) && n > 1;)
		line[--n] = 0;
	return line;
}

static void conf_read(const struct sysroot *sys, const char *path, int depth, ldconf_fn *each, void *arg)
{
	char *text = malloc(FILE_MAX), *save = NULL;

	if (text && depth < INCLUDE_DEPTH && sysroot_read(sys, path, text, FILE_MAX) > 0)
		for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			line = line_trim(line);
			if (!strncmp(line, "include", 7) && (line[7] == ' ' || line[7] == '\t'))
				conf_include(sys, line + 7 + strspn(line + 7, " \t"), depth, each, arg);
			else if (*line == '/')
				each(arg, path, line);
		}
	free(text);
}

void ldconf_each(const struct sysroot *sys, ldconf_fn *each, void *arg)
{
	conf_read(sys, "/etc/ld.so.conf", 0, each, arg);
}

struct folder_query {
	const struct sysroot *sys;
	const char *dir;
	char *file; /* the answer */
};

static void folder_compare(void *arg, const char *file, const char *dir)
{
	struct folder_query *q = arg;
	char a[PATH_MAX], b[PATH_MAX];

	if (*q->file)
		return;
	if (!strcmp(dir, q->dir) ||
		(!sysroot_real(q->sys, dir, a) && !sysroot_real(q->sys, q->dir, b) && !strcmp(a, b)))
		snprintf(q->file, PATH_MAX, "%s", file);
}

bool ldconf_find(const struct sysroot *sys, const char *dir, char file[PATH_MAX])
{
	struct folder_query q = {sys, dir, file};

	*file = 0;
	ldconf_each(sys, folder_compare, &q);
	return *file;
}
