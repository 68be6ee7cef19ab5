/* conf.c - the ways to a library that a person can take back: the environment, and ld.so.conf. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/doctor/program/command.h"
#include "cli/doctor/doctor.h"

#define DEPTH 8
#define TEXT  (64 << 10)

/* ---- ld.so.conf ---- */

static void read_conf(const struct world *w, const char *path, int depth, conf_fn *each, void *arg);

/* "include /etc/ld.so.conf.d/" and a pattern; the names found are the world's again. */
static void include(const struct world *w, const char *pattern, int depth, conf_fn *each, void *arg)
{
	char outside[PATH_MAX];
	size_t root = strlen(w->root);
	glob_t g;

	if (snprintf(outside, sizeof outside, "%s%s%s", w->root, *pattern == '/' ? "" : "/etc/", pattern) >=
		(int)sizeof outside)
		return;
	if (glob(outside, 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++)
		read_conf(w, g.gl_pathv[i] + root, depth + 1, each, arg);
	globfree(&g);
}

static char *trimmed(char *line)
{
	line[strcspn(line, "#\n")] = 0;
	line += strspn(line, " \t\r");
	for (size_t n = strlen(line); n && strchr(" \t\r/", line[n - 1]) && n > 1;)
		line[--n] = 0;
	return line;
}

static void read_conf(const struct world *w, const char *path, int depth, conf_fn *each, void *arg)
{
	char *text = malloc(TEXT), *save = NULL;

	if (text && depth < DEPTH && world_read(w, path, text, TEXT) > 0)
		for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			line = trimmed(line);
			if (!strncmp(line, "include", 7) && (line[7] == ' ' || line[7] == '\t'))
				include(w, line + 7 + strspn(line + 7, " \t"), depth, each, arg);
			else if (*line == '/')
				each(arg, path, line);
		}
	free(text);
}

void conf_each(const struct world *w, conf_fn *each, void *arg)
{
	read_conf(w, "/etc/ld.so.conf", 0, each, arg);
}

struct naming {
	const struct world *world;
	const char *dir;
	char *file;
};

static void compare(void *arg, const char *file, const char *dir)
{
	struct naming *n = arg;
	char a[PATH_MAX], b[PATH_MAX];

	if (*n->file)
		return;
	if (!strcmp(dir, n->dir) ||
		(!world_real(n->world, dir, a) && !world_real(n->world, n->dir, b) && !strcmp(a, b)))
		snprintf(n->file, PATH_MAX, "%s", file);
}

bool conf_naming(const struct world *w, const char *dir, char file[PATH_MAX])
{
	struct naming n = {w, dir, file};

	*file = 0;
	conf_each(w, compare, &n);
	return *file;
}

/* ---- taking it back ---- */

static void drop_entry(const char *list, const char *entry, char *command, size_t size)
{
	char rest[PATH_MAX] = "", quoted[PATH_MAX + 16];
	size_t used = 0;

	while (list && used < sizeof rest) {
		size_t n = strcspn(list, ":;");

		if (n && (n != strlen(entry) || memcmp(list, entry, n)))
			used += (size_t)snprintf(
				rest + used, sizeof rest - used, "%s%.*s", used ? ":" : "", (int)n, list);
		list = list[n] ? list + n + 1 : NULL;
	}
	command_quote(rest, quoted, sizeof quoted);
	if (used)
		snprintf(command, size, "export LD_LIBRARY_PATH=%s", quoted);
	else
		snprintf(command, size, "unset LD_LIBRARY_PATH");
}

static void drop_file(const struct doctor *d, const char *path, char *command, size_t size)
{
	char dir[PATH_MAX], file[PATH_MAX], quoted[PATH_MAX + 16];
	const char *slash = strrchr(path, '/');

	snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 0, path);
	if (conf_naming(&d->world, dir, file)) {
		command_quote(file, quoted, sizeof quoted);
		snprintf(command, size, "sudo sed -i '\\|^%s/*$|d' %s && sudo ldconfig", dir, quoted);
	} else {
		command_quote(path, quoted, sizeof quoted);
		snprintf(command, size, "sudo rm %s && sudo ldconfig", quoted);
	}
}

void undo_way(const struct doctor *d, const struct found *f, char *command, size_t size)
{
	command[0] = 0;
	switch (f->by) {
	case BY_ENVIRONMENT:
		drop_entry(world_env(&d->world, "LD_LIBRARY_PATH"), f->entry, command, size);
		break;
	case BY_CACHE:
	case BY_DEFAULT:
		drop_file(d, f->path, command, size);
		break;
	default:
		break;
	}
}

char *bytes_text(unsigned long long bytes, char text[32])
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double n = (double)bytes;
	int u = 0;

	while (n >= 1024 && u < 4)
		n /= 1024, u++;
	snprintf(text, 32, u && n < 10 ? "%.1f %s" : "%.0f %s", n, units[u]);
	return text;
}
