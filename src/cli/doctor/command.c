/*
 * Build shell commands for the user to copy: quoted words, and names that the user's shell finds.
 *
 * A process can change its own command line, so these words are untrusted: they are quoted and shown, never executed.
 */
#include <ctype.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/doctor/command.h"
#include "cli/doctor/doctor.h"

#define WORDS_MAX  128  /* of a process's command line */
#define LENGTH_MAX 2000 /* characters of a command */

void command_quote(const char *text, char *out, size_t size)
{
	static const char plain[] = "/._-+:=@%,";
	size_t used = 0;
	bool bare = *text;

	for (const char *p = text; *p; p++)
		bare = bare && (isalnum((unsigned char)*p) || strchr(plain, *p));
	if (bare) {
		snprintf(out, size, "%s", text);
		return;
	}
	out[used++] = '\'';
	for (const char *p = text; *p && used + 6 < size; p++)
		used += (size_t)snprintf(out + used, size - used, *p == '\'' ? "'\\''" : "%c", *p);
	out[used++] = '\'';
	out[used] = 0;
}

void command_words(char *const *words, char text[COMMAND_MAX])
{
	char quoted[COMMAND_MAX];
	size_t used = 0;

	*text = 0;
	for (char *const *w = words; *w; w++) {
		command_quote(*w, quoted, sizeof quoted);
		if (used + strlen(quoted) > LENGTH_MAX) {
			snprintf(text + used, COMMAND_MAX - used, "%s...", used ? " " : "");
			return;
		}
		used += (size_t)snprintf(text + used, COMMAND_MAX - used, "%s%s", used ? " " : "", quoted);
	}
}

/* ---- restarting a process ---- */

struct process_words {
	char text[COMMAND_MAX], *word[WORDS_MAX + 1], exe[PATH_MAX], cwd[PATH_MAX];
};

static void read_proc_link(pid_t pid, const char *name, char to[PATH_MAX])
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	ssize_t n = readlink(path, to, PATH_MAX - 1);
	to[n > 0 ? n : 0] = 0;
}

static void read_process_words(pid_t pid, struct process_words *w)
{
	char path[64];
	size_t n, used = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	f = fopen(path, "re");
	size_t size = f ? fread(w->text, 1, sizeof w->text - 1, f) : 0;
	w->text[size] = 0;
	if (f)
		fclose(f);
	for (n = 0; n < WORDS_MAX && used < size; used += strlen(w->text + used) + 1)
		w->word[n++] = w->text + used;
	w->word[n] = NULL;
	read_proc_link(pid, "exe", w->exe);
	read_proc_link(pid, "cwd", w->cwd);
}

static bool find_on_path(const char *list, const char *name, char path[PATH_MAX])
{
	while (list && *list) {
		size_t n = strcspn(list, ":");

		if (n && snprintf(path, PATH_MAX, "%.*s/%s", (int)n, list, name) < PATH_MAX && !access(path, X_OK))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

static bool exists_in_cwd(const struct process_words *w, const char *name)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", w->cwd, name);
	return *name && *name != '/' && !access(path, F_OK);
}

/* Does a word of the command line name a file relative to the process's working folder, which is not ours? */
static bool needs_folder(const struct process_words *w)
{
	char here[PATH_MAX];

	if (getcwd(here, sizeof here) && !strcmp(here, w->cwd))
		return false;
	for (int i = 0; w->word[i]; i++)
		if ((i || strchr(w->word[i], '/')) && exists_in_cwd(w, w->word[i]))
			return true;
	return false;
}

/* Use the executable's path if the process has replaced its name by a title. */
static void repair_program_name(const struct doctor *d, struct process_words *w)
{
	char path[PATH_MAX], *name = w->word[0];

	if (name && *name &&
		(strchr(name, '/') ? *name == '/' ? !access(name, X_OK) : exists_in_cwd(w, name)
				   : find_on_path(sysroot_env(&d->sysroot, "PATH"), name, path)))
		return;
	if (!name)
		w->word[1] = NULL;
	w->word[0] = w->exe;
}

static void format_sudo_user(unsigned id, char text[64])
{
	struct passwd *p = getpwuid(id);

	if (p)
		snprintf(text, 64, "sudo -u %.40s ", p->pw_name);
	else
		snprintf(text, 64, "sudo -u '#%u' ", id);
}

static void process_sudo_prefix(pid_t pid, char text[64])
{
	char path[64];
	struct stat st;

	*text = 0;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	if (!stat(path, &st) && st.st_uid != getuid())
		format_sudo_user(st.st_uid, text);
}

void command_sudo_prefix(const struct stat *st, char text[64])
{
	struct group *g = getgrgid(st->st_gid);

	if ((st->st_mode & S_ISUID) && st->st_uid)
		format_sudo_user(st->st_uid, text);
	else if ((st->st_mode & S_ISGID) && !(st->st_mode & S_ISUID) && g)
		snprintf(text, 64, "sudo -g %.40s ", g->gr_name);
	else
		strcpy(text, "sudo ");
}

void command_of_process(const struct doctor *d, char text[COMMAND_MAX])
{
	struct process_words w;

	read_process_words(d->sysroot.pid, &w);
	command_words(w.word, text);
}

void command_to_restart(const struct doctor *d, const char *with, char text[COMMAND_MAX])
{
	char words[COMMAND_MAX], dir[PATH_MAX + 16], user[64];
	struct process_words w;

	read_process_words(d->sysroot.pid, &w);
	repair_program_name(d, &w);
	command_words(w.word, words);
	process_sudo_prefix(d->sysroot.pid, user);
	command_quote(w.cwd, dir, sizeof dir);
	bool folder = needs_folder(&w);
	if (snprintf(text, COMMAND_MAX, "%s%s%s%s%s %s", folder ? "cd " : "", folder ? dir : "", folder ? " && " : "",
		    user, with, words) >= COMMAND_MAX)
		snprintf(text, COMMAND_MAX, "%s ...", with);
}

/* Parses "0::/system.slice/ollama.service". */
bool command_find_service(const struct doctor *d, char name[64])
{
	char path[64], line[512];
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/cgroup", (int)d->sysroot.pid);
	FILE *f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof line, f)) {
		char *at = strstr(line, "/system.slice/");

		found = at && sscanf(at, "/system.slice/%63[A-Za-z0-9@:._-]", name) == 1 && strstr(name, ".service");
	}
	if (f)
		fclose(f);
	return found;
}

/* ---- names in a command ---- */

struct name_resolution {
	char ours[PATH_MAX + 16], as_root[PATH_MAX + 16];
	bool no_sudo; /* sudo does not exist, and we are root */
};

static bool is_same_file(const char *path, const char *other)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void name_resolution_init(struct name_resolution *s)
{
	static const char usual[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"; /* sudo's */
	char exe[PATH_MAX], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	exe[n > 0 ? n : 0] = 0;
	command_quote(exe, s->ours, sizeof s->ours);
	memcpy(s->as_root, s->ours, sizeof s->ours);
	if (!*exe || (find_on_path(getenv("PATH"), "gangway", path) && is_same_file(path, exe)))
		strcpy(s->ours, "gangway");
	if (!*exe || (find_on_path(usual, "gangway", path) && is_same_file(path, exe)))
		strcpy(s->as_root, "gangway");
	s->no_sudo = !geteuid() && !find_on_path(getenv("PATH"), "sudo", path);
}

static bool is_gangway_command(const char *at)
{
	static const char *const known[] = {"run ", "doctor ", "serve", "install ", "uninstall ", "cdi"};

	if (strncmp(at, "gangway ", 8))
		return false;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strncmp(at + 8, known[i], strlen(known[i])))
			return true;
	return false;
}

static size_t sudo_user_length(const char *at) /* length of NAME in "sudo -u NAME " or "sudo -g NAME "; else 0 */
{
	return strncmp(at, "sudo -u ", 8) && strncmp(at, "sudo -g ", 8) ? 0 : strcspn(at + 8, " ");
}

void command_resolve_names(const char *command, char text[COMMAND_MAX])
{
	struct name_resolution s;
	bool word = true, sudo = false, code = true;
	size_t used = 0, n;

	name_resolution_init(&s);
	while (*command && used + PATH_MAX + 64 < COMMAND_MAX) {
		if (!strncmp(command, "# ", 2))
			code = false; /* a comment follows */
		if (word && code && is_gangway_command(command)) {
			used += (size_t)sprintf(text + used, "%s", sudo && !s.no_sudo ? s.as_root : s.ours);
			command += 7;
		} else if (word && code && s.no_sudo && (n = sudo_user_length(command))) {
			used += (size_t)sprintf(text + used, "runuser %s %.*s -- ",
				command[6] == 'u' ? "-u" : "-u root -g", (int)n, command + 8);
			command += 9 + n;
			continue;
		} else if (word && code && !strncmp(command, "sudo ", 5)) {
			sudo = true;
			used += s.no_sudo ? 0 : (size_t)sprintf(text + used, "sudo ");
			command += 5;
			continue;
		} else if (*command == ';' || *command == '&') {
			sudo = false;
		}
		word = *command == ' ';
		text[used++] = *command++;
	}
	text[used] = 0;
}
