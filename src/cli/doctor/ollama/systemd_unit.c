/* Read the unit file of a service and its drop-ins. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "cli/doctor/ollama/systemd_unit.h"

#define UNIT_FILE_MAX (64 << 10)

/* Set a variable; a later assignment replaces an earlier one. */
static void unit_set_variable(struct systemd_unit *u, const char *assignment)
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

/* Remove a variable, given its name or the whole assignment. */
static void unit_unset_variable(struct systemd_unit *u, const char *what)
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

/* Returns the next word, unquoted in place, or NULL. Blanks separate words; quotes and backslashes protect them. */
static char *next_word(char **at)
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

static void unit_clear_environment(struct systemd_unit *u)
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

static void unit_apply_setting(struct systemd_unit *u, const char *key, char *value)
{
	char *w;

	if (!strcmp(key, "Environment")) {
		if (!*value)
			unit_clear_environment(u);
		while ((w = next_word(&value)))
			unit_set_variable(u, w);
	} else if (!strcmp(key, "UnsetEnvironment")) {
		while ((w = next_word(&value)))
			unit_unset_variable(u, w);
	} else if (!strcmp(key, "ExecStart")) {
		w = next_word(&value);
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

/* Join lines that end in a backslash with the next line. */
static void join_lines(char *text)
{
	for (char *p = text; (p = strstr(p, "\\\n"));)
		p[0] = p[1] = ' ';
}

void systemd_unit_parse(struct systemd_unit *u, char *text)
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
		unit_apply_setting(u, line, equals + 1 + strspn(equals + 1, " \t"));
	}
}

static bool unit_read_file(struct systemd_unit *u, const struct sysroot *sys, const char *path)
{
	char *text = malloc(UNIT_FILE_MAX);
	bool there = text && sysroot_read(sys, path, text, UNIT_FILE_MAX) > 0;

	if (there)
		systemd_unit_parse(u, text);
	free(text);
	return there;
}

#define DROP_INS_MAX 64

struct drop_in {
	char name[256], path[PATH_MAX];
};

static int compare_drop_ins(const void *a, const void *b)
{
	return strcmp(((const struct drop_in *)a)->name, ((const struct drop_in *)b)->name);
}

static bool is_conf(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, ".conf");
}

/* Add the drop-ins of a folder. Of two with the same name, the one found first counts. */
static unsigned list_drop_ins(const struct sysroot *sys, const char *dir, struct drop_in *list, unsigned n)
{
	DIR *d = sysroot_list(sys, dir);
	struct dirent *e;

	while (d && n < DROP_INS_MAX && (e = readdir(d))) {
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

void systemd_unit_read(struct systemd_unit *u, const struct sysroot *sys, const char *name)
{
	static const char *const unit_folders[] = {"/etc/systemd/system", "/run/systemd/system",
		"/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"};
	char path[PATH_MAX];
	size_t n = sizeof unit_folders / sizeof *unit_folders;

	*u = (struct systemd_unit){0};
	for (size_t i = 0; i < n && !u->file[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", unit_folders[i], name);
		if (unit_read_file(u, sys, path))
			snprintf(u->file, sizeof u->file, "%s", path);
	}
	struct drop_in *list = u->file[0] ? calloc(DROP_INS_MAX, sizeof *list) : NULL;
	unsigned found = 0;
	for (size_t i = 0; list && i < n; i++) {
		snprintf(path, sizeof path, "%s/%s.d", unit_folders[i], name);
		found = list_drop_ins(sys, path, list, found);
	}
	if (list)
		qsort(list, found, sizeof *list, compare_drop_ins); /* applied in this order */
	for (unsigned i = 0; i < found; i++)
		unit_read_file(u, sys, list[i].path);
	free(list);
}

void systemd_unit_finish(struct systemd_unit *u)
{
	unit_clear_environment(u);
}
