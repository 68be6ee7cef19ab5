/* Check a running process: what it has loaded, according to /proc. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "audit/files.h"
#include "cli/doctor/command.h"
#include "cli/doctor/doctor.h"

#define FILES_MAX     1024
#define PROCESSES_MAX 64

struct mapped_file {
	char path[PATH_MAX];
	bool deleted;
	bool cuda;  /* is_cuda_library */
	bool known; /* `library` is valid */
	struct library library;
};

struct mappings {
	unsigned n;
	struct mapped_file file[FILES_MAX];
};

/* ---- /proc/PID/maps ---- */

static void mappings_add(struct mappings *m, const struct sysroot *sys, const char *path)
{
	static const char gone[] = " (deleted)";
	struct mapped_file *f = &m->file[m->n];
	size_t n = strlen(path);

	*f = (struct mapped_file){.deleted = n > sizeof gone && !strcmp(path + n - sizeof gone + 1, gone)};
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

/* Parses lines like "7f12-7f34 r-xp 00000000 08:01 1234   /usr/lib/libcuda.so.1". */
static int read_maps(const struct sysroot *sys, pid_t pid, struct mappings *m)
{
	char path[64], *line = NULL, *slash;
	size_t size = 0;

	m->n = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	while (m->n < FILES_MAX && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		slash = strchr(line, '/');
		if (slash)
			mappings_add(m, sys, slash);
	}
	int err = ferror(f) ? -EACCES : 0;
	free(line);
	fclose(f);
	return err;
}

/* ---- the process and its children ---- */

static void list_children(pid_t pid, pid_t *list, unsigned *n)
{
	char path[64], text[4096];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof text, f))
		for (char *save = NULL, *w = strtok_r(text, " \n", &save); w && *n < PROCESSES_MAX;
			w = strtok_r(NULL, " \n", &save))
			list[(*n)++] = (pid_t)atoi(w);
	if (f)
		fclose(f);
}

static unsigned list_family(pid_t pid, pid_t list[PROCESSES_MAX])
{
	unsigned n = 1;

	list[0] = pid;
	for (unsigned i = 0; i < n; i++)
		list_children(list[i], list, &n);
	return n;
}

static const char *format_process(pid_t pid, char text[64])
{
	char path[64], exe[PATH_MAX] = "";

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = 0;
	snprintf(text, 64, "%.40s[%d]", basename(exe), (int)pid);
	return text;
}

/* ---- the report ---- */

static const char *describe_mapped(const struct mapped_file *f, char text[256])
{
	if (f->deleted)
		return "replaced since it was loaded";
	return f->known ? library_describe(&f->library, text, 256) : "cannot be read";
}

static void report_loaded_libraries(struct doctor *d, const pid_t *list, unsigned n)
{
	static const char *const columns[TABLE_COLUMNS] = {"process", "has loaded", "which is", NULL};
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
				f = finding_add(d, STATUS_FACT,
					"the CUDA libraries that the process and its children have loaded:");
				finding_table(f, columns);
			}
			finding_row(f, (const char *[TABLE_COLUMNS]){format_process(list[i], name), m->file[j].path,
					       describe_mapped(&m->file[j], text), NULL});
		}
	}
	free(m);
}

static bool started_by_gangway(const struct doctor *d, const struct mappings *m)
{
	const char *path = sysroot_env(&d->sysroot, "LD_LIBRARY_PATH");

	for (unsigned i = 0; i < m->n; i++)
		if (!strcmp(basename(m->file[i].path), AUDIT_REDIRECT))
			return true;
	return path && strstr(path, "lib/gangway");
}

/* Add the command that restarts the process under Gangway: by its container engine, by systemd or by hand, after `first`. */
static void fix_restart(struct doctor *d, struct finding *f, const char *first)
{
	const char *container = d->sysroot.root[0] ? container_kind(&d->sysroot) : NULL;
	char text[COMMAND_MAX], service[64];

	if (container && (!strcmp(container, "podman") || !strcmp(container, "docker"))) {
		command_of_process(d, text);
		finding_fix(f, "%s run --device gangway.dev/gpu=0 IMAGE %s  # gangway cdi defines that device",
			container, text);
	} else if (d->sysroot.root[0]) {
		command_of_process(d, text);
		finding_fix(f, "gangway run -- %s  # in its root, where Gangway must be installed", text);
	} else if (command_find_service(d, service)) {
		finding_fix(f, "sudo gangway install --system --yes && sudo systemctl restart %s", service);
	} else {
		command_to_restart(d, "gangway run --", text);
		finding_fix(f, "%s%s", first, text);
	}
}

static void report_libcuda(struct doctor *d, const struct mappings *m)
{
	const struct mapped_file *ours = NULL, *other = NULL;
	char text[256];

	for (unsigned i = 0; i < m->n; i++) {
		const struct mapped_file *f = &m->file[i];

		if (strncmp(basename(f->path), "libcuda.so", 10))
			continue;
		if (f->known && (f->library.maker == MAKER_THIS_BUILD || f->library.maker == MAKER_OTHER_BUILD))
			ours = f;
		else
			other = f;
	}
	if (ours && ours->library.maker == MAKER_THIS_BUILD)
		finding_add(d, STATUS_FINE, "it uses Gangway's %s%s%s", ours->path, other ? ", which uses " : "",
			other ? other->path : "");
	else if (ours)
		fix_restart(d,
			finding_add(d, STATUS_LOOK, "it uses another build of Gangway: %s (%s)", ours->path,
				ours->library.build),
			"");
	else if (other && other->deleted) {
		snprintf(text, sizeof text, "kill %d; ", (int)d->sysroot.pid);
		fix_restart(d,
			finding_add(d, STATUS_LOOK,
				"its %s has been replaced since it started: it still uses the old file", other->path),
			text);
	} else if (other)
		fix_restart(d,
			finding_add(
				d, STATUS_WRONG, "it uses %s, which is %s", other->path, describe_mapped(other, text)),
			"");
	else if (started_by_gangway(d, m))
		finding_add(d, STATUS_LOOK, "gangway run started it, but it has not loaded libcuda.so.1 (yet)");
	else
		fix_restart(d,
			finding_add(
				d, STATUS_WRONG, "it has not loaded libcuda.so.1, and gangway run did not start it"),
			"");
}

static void report_environment(struct doctor *d)
{
	static const char *const columns[TABLE_COLUMNS] = {"variable", "value", NULL, NULL};
	static const char *const starts[] = {"GANGWAY_", "LD_", "CUDA_", "NVIDIA_", "OLLAMA_LLM", "GGML_"};
	struct finding *f = NULL;

	for (char **e = d->sysroot.environment; e && *e; e++)
		for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
			const char *equals = strchr(*e, '=');
			char name[256];

			if (strncmp(*e, starts[i], strlen(starts[i])) || !equals)
				continue;
			if (!f) {
				f = finding_add(d, STATUS_FACT, "the environment with which it was started:");
				finding_table(f, columns);
			}
			snprintf(name, sizeof name, "%.*s", (int)(equals - *e), *e);
			finding_row(f, (const char *[TABLE_COLUMNS]){name, equals + 1, NULL, NULL});
		}
}

/* Find the program file, for the probes of programs. */
static void find_program(struct doctor *d)
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
	finding_add(d, STATUS_LOOK, "its program file has been replaced since it started");
}

void process_each_mapped_file(struct doctor *d, void (*each)(struct doctor *d, const char *path))
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
	pid_t list[PROCESSES_MAX];
	char command[COMMAND_MAX], name[64];

	command_of_process(d, command);
	int err = m ? read_maps(&d->sysroot, d->sysroot.pid, m) : -ENOMEM;
	if (err) {
		finding_fix(
			finding_add(d, STATUS_WRONG, "cannot read process %d: %s", (int)d->sysroot.pid, strerror(-err)),
			"sudo gangway doctor --pid %d", (int)d->sysroot.pid);
	} else {
		unsigned n = list_family(d->sysroot.pid, list);

		finding_add(d, STATUS_FACT, "%s: %s", format_process(d->sysroot.pid, name), command);
		find_program(d);
		report_libcuda(d, m);
		report_loaded_libraries(d, list, n);
		report_environment(d);
	}
	free(m);
}
