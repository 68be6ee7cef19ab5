#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "cli/doctor/ollama/systemd_unit.h"

#define TEXT (64 << 10)

/* Later ones take the place of earlier ones. */
static void set(struct unit *u, const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	char *copy = equals && equals > assignment ? strdup(assignment) : NULL;

	if (!copy)
		return;
	for (unsigned i = 0; i < u->n; i++)
		if (!strncmp(u->environment[i], assignment, (size_t)(equals - assignment) + 1)) {
			free(u->environment[i]);
			u->environment[i] = copy;
			return;
		}
	if (u->n < UNIT_VARIABLES)
		u->environment[u->n++] = copy;
	else
		free(copy);
}

/* A name, or the whole assignment. */
static void unset(struct unit *u, const char *what)
{
	size_t n = strcspn(what, "=");

	for (unsigned i = 0; i < u->n; i++)
		if (what[n] ? !strcmp(u->environment[i], what)
			    : !strncmp(u->environment[i], what, n) && u->environment[i][n] == '=') {
			free(u->environment[i]);
			memmove(&u->environment[i], &u->environment[i + 1], (u->n - i) * sizeof *u->environment);
			u->n--;
			return;
		}
}

/* The next word: blanks end it, quotes keep them, a backslash keeps what follows.  NULL: no more. */
static char *word(char **at)
{
	char *in = *at + strspn(*at, " \t"), *out = in, *begin = in, quote = 0;

	if (!*in)
		return NULL;
	for (; *in && (quote || (*in != ' ' && *in != '\t')); in++) {
		if (!quote && (*in == '"' || *in == '\''))
			quote = *in;
		else if (quote && *in == quote)
			quote = 0;
		else if (*in == '\\' && in[1])
			*out++ = *++in;
		else
			*out++ = *in;
	}
	*at = in + (*in != 0);
	*out = 0;
	return begin;
}

static void clear(struct unit *u)
{
	while (u->n)
		free(u->environment[--u->n]);
	memset(u->environment, 0, sizeof u->environment);
}

static bool is_yes(const char *value)
{
	return !strcasecmp(value, "yes") || !strcasecmp(value, "true") || !strcasecmp(value, "on") ||
	       !strcmp(value, "1");
}

static void take(struct unit *u, const char *key, char *value)
{
	char *w;

	if (!strcmp(key, "Environment")) {
		if (!*value)
			clear(u);
		while ((w = word(&value)))
			set(u, w);
	} else if (!strcmp(key, "UnsetEnvironment")) {
		while ((w = word(&value)))
			unset(u, w);
	} else if (!strcmp(key, "ExecStart")) {
		w = word(&value);
		snprintf(u->program, sizeof u->program, "%s", w ? w + strspn(w, "-@:+!") : "");
	} else if (!strcmp(key, "User")) {
		snprintf(u->user, sizeof u->user, "%s", value);
	} else if (!strcmp(key, "ProtectHome")) {
		u->protect_home = *value && strcasecmp(value, "no") && strcasecmp(value, "false") &&
				  strcmp(value, "0") && strcasecmp(value, "off");
	} else if (!strcmp(key, "PrivateNetwork")) {
		u->private_network = is_yes(value);
	}
}

/* A line that ends in a backslash goes on in the next. */
static void join_lines(char *text)
{
	for (char *p = text; (p = strstr(p, "\\\n"));)
		p[0] = p[1] = ' ';
}

void unit_parse(struct unit *u, char *text)
{
	bool service = false;
	char *save = NULL;

	join_lines(text);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		line[strcspn(line, "\r")] = 0;
		char *equals = strchr(line, '=');
		if (*line == '[')
			service = !strncmp(line, "[Service]", 9);
		if (*line == '#' || *line == ';' || *line == '[' || !service || !equals)
			continue;
		char *end = equals;
		while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
			end--;
		*end = 0;
		take(u, line, equals + 1 + strspn(equals + 1, " \t"));
	}
}

static bool read_file(struct unit *u, const struct sysroot *sys, const char *path)
{
	char *text = malloc(TEXT);
	bool there = text && sysroot_read(sys, path, text, TEXT) > 0;

	if (there)
		unit_parse(u, text);
	free(text);
	return there;
}

#define DROP_INS 64

struct drop_in {
	char name[256], path[PATH_MAX];
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct drop_in *)a)->name, ((const struct drop_in *)b)->name);
}

static bool is_conf(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, ".conf");
}

/* Of two with one name the first folder's counts. */
static unsigned list_folder(const struct sysroot *sys, const char *dir, struct drop_in *list, unsigned n)
{
	DIR *d = sysroot_list(sys, dir);
	struct dirent *e;

	while (d && n < DROP_INS && (e = readdir(d))) {
		bool known = !is_conf(e->d_name);

		for (unsigned i = 0; i < n; i++)
			known = known || !strcmp(list[i].name, e->d_name);
		if (known)
			continue;
		snprintf(list[n].name, sizeof list[n].name, "%s", e->d_name);
		if (snprintf(list[n].path, PATH_MAX, "%s/%s", dir, e->d_name) < PATH_MAX)
			n++;
	}
	if (d)
		closedir(d);
	return n;
}

void unit_read(struct unit *u, const struct sysroot *sys, const char *name)
{
	static const char *const places[] = {"/etc/systemd/system", "/run/systemd/system",
		"/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"};
	char path[PATH_MAX];
	size_t n = sizeof places / sizeof *places;

	*u = (struct unit){0};
	for (size_t i = 0; i < n && !u->file[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", places[i], name);
		if (read_file(u, sys, path))
			snprintf(u->file, sizeof u->file, "%s", path);
	}
	struct drop_in *list = u->file[0] ? calloc(DROP_INS, sizeof *list) : NULL;
	unsigned found = 0;
	for (size_t i = 0; list && i < n; i++) {
		snprintf(path, sizeof path, "%s/%s.d", places[i], name);
		found = list_folder(sys, path, list, found);
	}
	if (list)
		qsort(list, found, sizeof *list, by_name); /* the last one counts */
	for (unsigned i = 0; i < found; i++)
		read_file(u, sys, list[i].path);
	free(list);
}

void unit_finish(struct unit *u)
{
	clear(u);
}
