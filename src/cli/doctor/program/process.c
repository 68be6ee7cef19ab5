/* process.c - a process that runs: what it has loaded, from /proc, whatever its logs say. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "audit/files.h"
#include "cli/doctor/command.h"
#include "cli/doctor/doctor.h"

#define FILES     1024
#define PROCESSES 64

struct mapped {
	char path[PATH_MAX];
	bool deleted;
	bool cuda;  /* one of those around CUDA */
	bool known; /* library has been looked at */
	struct library library;
};

struct mappings {
	unsigned n;
	struct mapped file[FILES];
};

/* ---- /proc/PID/maps ---- */

static void keep(struct mappings *m, const struct sysroot *sys, const char *path)
{
	static const char gone[] = " (deleted)";
	struct mapped *f = &m->file[m->n];
	size_t n = strlen(path);

	*f = (struct mapped){.deleted = n > sizeof gone && !strcmp(path + n - sizeof gone + 1, gone)};
	snprintf(f->path, sizeof f->path, "%.*s", (int)(f->deleted ? n - sizeof gone + 1 : n), path);
	sysroot_from_proc(sys, f->path);
	if (!strstr(basename(f->path), ".so"))
		return;
	for (unsigned i = 0; i < m->n; i++)
		if (!strcmp(m->file[i].path, f->path))
			return;
	f->cuda = is_cuda_library(f->path);
	f->known = f->cuda && !f->deleted && !library_inspect(sys, f->path, &f->library);
	m->n++;
}

/* "7f12-7f34 r-xp 00000000 08:01 1234   /usr/lib/libcuda.so.1" */
static int read_maps(const struct sysroot *sys, pid_t pid, struct mappings *m)
{
	char path[64], *line = NULL, *slash;
	size_t size = 0;

	m->n = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	while (m->n < FILES && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		slash = strchr(line, '/');
		if (slash)
			keep(m, sys, slash);
	}
	int err = ferror(f) ? -EACCES : 0;
	free(line);
	fclose(f);
	return err;
}

/* ---- it and those that it started ---- */

static void add_children(pid_t pid, pid_t *list, unsigned *n)
{
	char path[64], text[4096];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof text, f))
		for (char *save = NULL, *w = strtok_r(text, " \n", &save); w && *n < PROCESSES;
			w = strtok_r(NULL, " \n", &save))
			list[(*n)++] = (pid_t)atoi(w);
	if (f)
		fclose(f);
}

static unsigned family(pid_t pid, pid_t list[PROCESSES])
{
	unsigned n = 1;

	list[0] = pid;
	for (unsigned i = 0; i < n; i++)
		add_children(list[i], list, &n);
	return n;
}

static const char *name_of(pid_t pid, char text[64])
{
	char path[64], exe[PATH_MAX] = "";

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = 0;
	snprintf(text, 64, "%.40s[%d]", basename(exe), (int)pid);
	return text;
}

/* ---- what is said of it ---- */

static const char *is_what(const struct mapped *f, char text[256])
{
	if (f->deleted)
		return "replaced since it was loaded";
	return f->known ? library_describe(&f->library, text, 256) : "cannot be read";
}

static void say_table(struct doctor *d, const pid_t *list, unsigned n)
{
	static const char *const columns[CELLS] = {"process", "has loaded", "which is", NULL};
	struct mappings *m = calloc(1, sizeof *m);
	struct finding *f = NULL;
	char name[64], text[256];

	for (unsigned i = 0; m && i < n; i++) {
		struct sysroot sys;

		if (sysroot_init_process(&sys, list[i]))
			continue;
		read_maps(&sys, list[i], m);
		sysroot_finish(&sys);
		for (unsigned j = 0; j < m->n; j++) {
			if (!m->file[j].cuda)
				continue;
			if (!f) {
				f = say(d, FACT, "libraries around CUDA that it has loaded:");
				table(f, columns);
			}
			row(f, (const char *[CELLS]){
				       name_of(list[i], name), m->file[j].path, is_what(&m->file[j], text), NULL});
		}
	}
	free(m);
}

static bool under_gangway(const struct doctor *d, const struct mappings *m)
{
	const char *path = sysroot_env(&d->sysroot, "LD_LIBRARY_PATH");

	for (unsigned i = 0; i < m->n; i++)
		if (!strcmp(basename(m->file[i].path), AUDIT_REDIRECT))
			return true;
	return path && strstr(path, "lib/gangway");
}

/* It has to be started anew: by whoever did, in a place of its own, or by hand, `first` before that. */
static void fix_again(struct doctor *d, struct finding *f, const char *first)
{
	const char *container = d->sysroot.root[0] ? container_kind(&d->sysroot) : NULL;
	char text[COMMAND_MAX], service[64];

	if (container && (!strcmp(container, "podman") || !strcmp(container, "docker"))) {
		command_shown(d, text);
		fix(f, "%s run --device gangway.dev/gpu=0 IMAGE %s  # gangway cdi makes that device known", container,
			text);
	} else if (d->sysroot.root[0]) {
		command_shown(d, text);
		fix(f, "gangway run -- %s  # in there, with Gangway installed in there", text);
	} else if (command_service(d, service)) {
		fix(f, "sudo gangway install --system --yes && sudo systemctl restart %s", service);
	} else {
		command_again(d, "gangway run --", text);
		fix(f, "%s%s", first, text);
	}
}

static void say_libcuda(struct doctor *d, const struct mappings *m)
{
	const struct mapped *ours = NULL, *other = NULL;
	char text[256];

	for (unsigned i = 0; i < m->n; i++) {
		const struct mapped *f = &m->file[i];

		if (strncmp(basename(f->path), "libcuda.so", 10))
			continue;
		if (f->known && (f->library.maker == MAKER_THIS_BUILD || f->library.maker == MAKER_OTHER_BUILD))
			ours = f;
		else
			other = f;
	}
	if (ours && ours->library.maker == MAKER_THIS_BUILD)
		say(d, FINE, "it runs with Gangway's %s%s%s", ours->path, other ? ", and that with " : "",
			other ? other->path : "");
	else if (ours)
		fix_again(d,
			say(d, LOOK, "it runs with a Gangway of another build: %s (%s)", ours->path,
				ours->library.build),
			"");
	else if (other && other->deleted) {
		snprintf(text, sizeof text, "kill %d; ", (int)d->sysroot.pid);
		fix_again(d,
			say(d, LOOK, "its %s has been replaced since it started: it runs with the old file",
				other->path),
			text);
	} else if (other)
		fix_again(d, say(d, WRONG, "it runs with %s, which is %s", other->path, is_what(other, text)), "");
	else if (under_gangway(d, m))
		say(d, LOOK,
			"it has not loaded libcuda.so.1, though gangway run started it: it has not asked yet, or "
			"found no reason to");
	else
		fix_again(d, say(d, WRONG, "it has not loaded libcuda.so.1, and was not started by gangway run"), "");
}

static void say_environment(struct doctor *d)
{
	static const char *const columns[CELLS] = {"variable", "value", NULL, NULL};
	static const char *const starts[] = {"GANGWAY_", "LD_", "CUDA_", "NVIDIA_", "OLLAMA_LLM", "GGML_"};
	struct finding *f = NULL;

	for (char **e = d->sysroot.environment; e && *e; e++)
		for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
			const char *equals = strchr(*e, '=');
			char name[256];

			if (strncmp(*e, starts[i], strlen(starts[i])) || !equals)
				continue;
			if (!f) {
				f = say(d, FACT, "its environment, as it was started:");
				table(f, columns);
			}
			snprintf(name, sizeof name, "%.*s", (int)(equals - *e), *e);
			row(f, (const char *[CELLS]){name, equals + 1, NULL, NULL});
		}
}

/* The program, for the probes that look at programs. */
static void find_exe(struct doctor *d)
{
	static const char gone[] = " (deleted)";
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/exe", (int)d->sysroot.pid);
	ssize_t n = readlink(path, d->program, sizeof d->program - 1);
	d->program[n > 0 ? n : 0] = 0;
	sysroot_from_proc(&d->sysroot, d->program);
	size_t length = strlen(d->program);
	if (length <= sizeof gone || strcmp(d->program + length - sizeof gone + 1, gone))
		return;
	d->program[0] = 0;
	say(d, LOOK, "its program has been replaced since it was started");
}

void process_each(struct doctor *d, void (*each)(struct doctor *d, const char *path))
{
	struct mappings *m = calloc(1, sizeof *m);

	if (m && !read_maps(&d->sysroot, d->sysroot.pid, m))
		for (unsigned i = 0; i < m->n; i++)
			if (!m->file[i].deleted)
				each(d, m->file[i].path);
	free(m);
}

void probe_process(struct doctor *d)
{
	struct mappings *m = calloc(1, sizeof *m);
	pid_t list[PROCESSES];
	char command[COMMAND_MAX], name[64];

	command_shown(d, command);
	int err = m ? read_maps(&d->sysroot, d->sysroot.pid, m) : -ENOMEM;
	if (err) {
		fix(say(d, WRONG, "process %d may not be looked into: %s", (int)d->sysroot.pid, strerror(-err)),
			"sudo gangway doctor --pid %d", (int)d->sysroot.pid);
	} else {
		unsigned n = family(d->sysroot.pid, list);

		say(d, FACT, "%s: %s", name_of(d->sysroot.pid, name), command);
		find_exe(d);
		say_libcuda(d, m);
		say_table(d, list, n);
		say_environment(d);
	}
	free(m);
}
