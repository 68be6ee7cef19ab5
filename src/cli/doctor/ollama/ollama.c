/*
 * Find out why Ollama reports library=cpu.
 *
 * Three generations of Ollama search for GPUs in three ways, and all fall back to the processor silently:
 *
 *	A  to 0.12.3	the server opens the first libcuda.so* in a list of folders; it does not use the loader's cache
 *	B  to 0.24	a runner for each folder of lib/ollama loads libggml-cuda.so, which needs libcuda.so.1
 *	C  since 0.30	llama-server does the same; the device's compute capability must be in the list of
 *			libggml-cuda.so (ollama_device.c)
 *
 * The generations are recognised by texts in the program.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "loader/closure.h"
#include "cli/doctor/program/code.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/ollama/ollama.h"
#include "cli/install/manifest.h"

static const struct {
	const char *word, *name;
} generations[] = {
	[OLLAMA_A] = {"cuCtxCreate_v3", "up to 0.12.3: the server opens libcuda.so itself"},
	[OLLAMA_B] = {"GGML_CUDA_INIT", "0.12.4 to 0.24: a runner for each folder of lib/ollama"},
	[OLLAMA_C] = {"gpu-discover", "0.30 or later: llama-server for each folder of lib/ollama"},
};

/* ---- program and generation ---- */

static bool find_program(const struct doctor *d, const struct systemd_unit *u, char path[PATH_MAX])
{
	static const char *const places[] = {"/usr/local/bin/ollama", "/usr/bin/ollama", "/bin/ollama",
		"/opt/ollama/bin/ollama", "/snap/ollama/current/bin/ollama"};
	const char *list = sysroot_env(&d->sysroot, "PATH");

	snprintf(path, PATH_MAX, "%s", u->program);
	if (*path && sysroot_is_file(&d->sysroot, path))
		return true;
	for (; list && *list; list += strcspn(list, ":"), list += *list == ':')
		if (*list == '/' && snprintf(path, PATH_MAX, "%.*s/ollama", (int)strcspn(list, ":"), list) < PATH_MAX &&
			sysroot_is_file(&d->sysroot, path))
			return true;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		snprintf(path, PATH_MAX, "%s", places[i]);
		if (sysroot_is_file(&d->sysroot, path))
			return true;
	}
	return false;
}

static enum ollama_generation find_generation(const struct doctor *d, const char *path)
{
	struct elf_object o;
	enum ollama_generation g = OLLAMA_UNKNOWN;
	int fd = sysroot_open(&d->sysroot, path);

	if (fd < 0)
		return g;
	if (!elf_object_open(&o, fd)) {
		for (int i = OLLAMA_C; i >= OLLAMA_A && g == OLLAMA_UNKNOWN; i--)
			if (memmem(o.data, o.size, generations[i].word, strlen(generations[i].word)))
				g = (enum ollama_generation)i;
		elf_object_close(&o);
	}
	close(fd);
	return g;
}

/* Find lib/ollama relative to the program, after resolving links, as Ollama does. */
static bool find_folder(const struct doctor *d, const char *program, char dir[PATH_MAX])
{
	char real[PATH_MAX], path[PATH_MAX + 32];

	if (sysroot_real(&d->sysroot, program, real))
		return false;
	*strrchr(real, '/') = 0;
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, i ? "%s/lib/ollama" : "%s/../lib/ollama", real);
		if (sysroot_is_dir(&d->sysroot, path) && !sysroot_real(&d->sysroot, path, dir))
			return true;
	}
	return false;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Find lib/ollama/cuda_v12/libggml-cuda.so and the like. */
static void find_backends(const struct doctor *d, struct ollama *o)
{
	DIR *list = sysroot_list(&d->sysroot, o->folder);
	struct dirent *e;

	while (list && (e = readdir(list)) && o->nbackends < OLLAMA_BACKENDS) {
		char *path = o->backends[o->nbackends];

		if (e->d_name[0] == '.')
			continue;
		if (snprintf(path, PATH_MAX, "%s/%s/libggml-cuda.so", o->folder, e->d_name) < PATH_MAX &&
			sysroot_is_file(&d->sysroot, path))
			o->nbackends++;
	}
	if (list)
		closedir(list);
	qsort(o->backends, o->nbackends, sizeof *o->backends, compare_paths);
}

/* ---- fixes ---- */

/* Add a line to the service in a drop-in file, which is named after the variable and read last. */
#define DROP_IN(line) \
	"sudo sh -c 'cd /etc/systemd/system && mkdir -p ollama.service.d && printf \"[Service]\\n" line \
	"\\n\" >ollama.service.d/zz-gangway-%s.conf && systemctl daemon-reload && systemctl restart ollama'"

void ollama_fix_variable(const struct doctor *d, struct finding *f, const char *variable, const char *value)
{
	if (d->ollama->unit.file[0])
		finding_fix(f, DROP_IN("Environment=%s=%s"), variable, value, variable);
	else
		finding_fix(f, "export %s=%s  # then start ollama serve again", variable, value);
}

void fix_unset_variable(const struct doctor *d, struct finding *f, const char *variable)
{
	if (d->ollama && d->ollama->unit.file[0])
		finding_fix(f, DROP_IN("UnsetEnvironment=%s"), variable, variable);
	else
		finding_fix(f, "unset %s", variable);
}

/* gangway install configures the service, but a LD_LIBRARY_PATH set by the user overrides that. */
static void fix_libcuda(const struct doctor *d, struct finding *f)
{
	const char *set = sysroot_env(&d->sysroot, "LD_LIBRARY_PATH");

	if (!d->ollama->unit.file[0])
		finding_fix(f, "gangway run -- ollama serve");
	else if (set && *set)
		ollama_fix_variable(d, f, "LD_LIBRARY_PATH", d->library_dir);
	else if (sysroot_is_file(&d->sysroot, MANIFEST_FILE))
		finding_fix(f, "sudo gangway uninstall --yes && sudo gangway install --system --yes && sudo "
			       "systemctl restart "
			       "ollama");
	else
		finding_fix(f, "sudo gangway install --system --yes && sudo systemctl restart ollama");
}

/* ---- environment of the service ---- */

static void check_llm_library(struct doctor *d)
{
	const char *library = sysroot_env(&d->sysroot, "OLLAMA_LLM_LIBRARY");
	const struct ollama *o = d->ollama;
	bool there = false;

	if (!library || !*library)
		return;
	for (unsigned i = 0; i < o->nbackends; i++) {
		char name[PATH_MAX + 2];
		snprintf(name, sizeof name, "/%s/", library);
		there = there || strstr(o->backends[i], name);
	}
	if (there)
		return;
	struct finding *f = finding_add(d, STATUS_WRONG, "OLLAMA_LLM_LIBRARY=%s excludes all CUDA backends", library);
	fix_unset_variable(d, f, "OLLAMA_LLM_LIBRARY");
}

/* ---- search for libcuda ---- */

/* Generation A takes the first file that it finds in LD_LIBRARY_PATH or in a built-in list of folders. */
static bool find_by_folder_list(const struct doctor *d, char found[PATH_MAX], const char **how)
{
	static const char *const globs[] = {"/usr/local/cuda*/targets/*/lib", "/usr/lib/*-linux-gnu/nvidia/current",
		"/usr/lib/*-linux-gnu", "/usr/lib/wsl/lib", "/usr/lib/wsl/drivers/*", "/opt/cuda/lib*",
		"/usr/local/cuda/lib*", "/usr/lib*", "/usr/local/lib*"};
	const char *list = sysroot_env(&d->sysroot, "LD_LIBRARY_PATH");
	size_t root = strlen(d->sysroot.root), next = 0;
	char pattern[2 * PATH_MAX];
	glob_t g;

	for (;;) {
		if (list && *list) {
			size_t n = strcspn(list, ":");
			snprintf(pattern, sizeof pattern, "%s%.*s/libcuda.so*", d->sysroot.root, (int)n, list);
			list += n + (list[n] == ':');
			*how = "LD_LIBRARY_PATH";
		} else if (next < sizeof globs / sizeof *globs) {
			snprintf(pattern, sizeof pattern, "%s%s/libcuda.so*", d->sysroot.root, globs[next++]);
			*how = "its list of folders";
		} else {
			return false;
		}
		if (glob(pattern, 0, NULL, &g))
			continue;
		snprintf(found, PATH_MAX, "%s", g.gl_pathv[0] + root);
		globfree(&g);
		return true;
	}
}

static const char *const generation_a_calls[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet",
	"cuDeviceGetAttribute", "cuDeviceGetUuid", "cuDeviceGetName", "cuCtxCreate_v3", "cuMemGetInfo_v2",
	"cuCtxDestroy"};

static void check_generation_a_calls(struct doctor *d, const char *path)
{
	struct elf_object o;
	int fd = sysroot_open(&d->sysroot, path);

	if (fd < 0)
		return;
	if (!elf_object_open(&o, fd)) {
		for (size_t i = 0; i < sizeof generation_a_calls / sizeof *generation_a_calls; i++)
			if (!elf_object_exports(&o, generation_a_calls[i])) {
				fix_libcuda(
					d, finding_add(d, STATUS_WRONG,
						   "%s has no function %s; this Ollama needs all of its %zu functions",
						   path, generation_a_calls[i],
						   sizeof generation_a_calls / sizeof *generation_a_calls));
				break;
			}
		elf_object_close(&o);
	}
	close(fd);
}

static void report_libcuda(struct doctor *d, const char *path, const char *how)
{
	struct library l;
	struct finding *f;
	int err = library_inspect(&d->sysroot, path, &l);

	if (err || l.maker == MAKER_NOT_A_DRIVER) {
		fix_libcuda(d, finding_add(d, STATUS_WRONG, "Ollama loads %s, found by %s, which is not a %s", path,
				       how, err ? "library" : "CUDA driver"));
	} else if (l.maker == MAKER_STUB) {
		f = finding_add(d, STATUS_WRONG, "Ollama loads a stub for linking: %s, found by %s", path, how);
		finding_detail(f, "The stub returns CUDA_ERROR_STUB_LIBRARY, and Ollama falls back to the processor.");
		fix_libcuda(d, f);
	} else if (l.maker == MAKER_VENDOR) {
		finding_add(d, STATUS_FACT, "Ollama loads the vendor's %s, found by %s, and does not use Gangway", path,
			how);
	} else {
		finding_add(d, STATUS_FINE, "Ollama loads Gangway's %s, found by %s", path, how);
	}
}

static void check_generation_a(struct doctor *d)
{
	struct library_search s = library_search_from(&d->sysroot);
	struct found_library found;
	char path[PATH_MAX];
	const char *how;

	if (library_find(&s, "libcuda.so.1", NULL, &found) &&
		found.by == FOUND_BY_AUDIT) { /* the audit library redirects every path */
		report_libcuda(d, found.path, found_by_name(found.by));
		return;
	}
	if (!find_by_folder_list(d, path, &how)) {
		fix_libcuda(d,
			finding_add(d, STATUS_WRONG,
				"this Ollama finds no libcuda.so: it searches LD_LIBRARY_PATH and a built-in list of "
				"folders, not the loader's cache"));
		return;
	}
	report_libcuda(d, path, how);
	check_generation_a_calls(d, path);
}

/* Generations B and C use the loader, with Ollama's folders in front of the user's LD_LIBRARY_PATH. */
static void check_generation_bc(struct doctor *d, const char *backend)
{
	const char *user = sysroot_env(&d->sysroot, "LD_LIBRARY_PATH");
	char list[3 * PATH_MAX], dir[PATH_MAX];
	struct elf_object o = {0};
	struct found_library found;

	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(backend, '/') - backend), backend);
	snprintf(list, sizeof list, "%s:%s%s%s", d->ollama->folder, dir, user && *user ? ":" : "", user ? user : "");
	struct library_search s = library_search_from(&d->sysroot);
	s.library_path = list;
	int fd = sysroot_open(&d->sysroot, backend);
	if (fd < 0 || elf_object_open(&o, fd)) {
		finding_fix(finding_add(d, STATUS_WRONG, "%s cannot be read", backend),
			"curl -fsSL https://ollama.com/install.sh | sh");
		if (fd >= 0)
			close(fd);
		return;
	}
	close(fd);
	struct requester requester = {&o, backend, NULL};
	for (unsigned i = 0; i < o.nneeded; i++) {
		const char *name = o.needed[i];
		bool driver = !strcmp(name, "libcuda.so.1");

		if (library_find(&s, name, &requester, &found)) {
			if (driver)
				report_libcuda(d, found.path, found_by_name(found.by));
		} else if (driver) {
			struct finding *f = finding_add(
				d, STATUS_WRONG, "%s needs libcuda.so.1, which Ollama does not find", backend);
			finding_detail(
				f, "The backend fails to load, and Ollama falls back to the processor silently.");
			fix_libcuda(d, f);
		} else if (is_cuda_library(name)) {
			finding_fix(finding_add(d, STATUS_WRONG, "%s needs %s, which is missing in Ollama's folders",
					    backend, name),
				"curl -fsSL https://ollama.com/install.sh | sh");
		}
	}
	elf_object_close(&o);
}

/* ---- the probes ---- */

void ollama_find(struct doctor *d)
{
	struct ollama *o = d->ollama;

	systemd_unit_read(&o->unit, &d->sysroot, "ollama.service");
	o->found = find_program(d, &o->unit, o->program);
	if (o->found) {
		o->generation = find_generation(d, o->program);
		if (find_folder(d, o->program, o->folder))
			find_backends(d, o);
	}
	if (o->unit.file[0])
		d->sysroot.environment = o->unit.environment;
}

/* Find a running Ollama server: a process with this program. Returns its pid or 0. */
static int find_running_server(const struct doctor *d)
{
	char path[64], exe[PATH_MAX], real[PATH_MAX];
	DIR *list = d->sysroot.root[0] || sysroot_real(&d->sysroot, d->ollama->program, real) ? NULL : opendir("/proc");
	struct dirent *e;
	int pid = 0;

	while (list && !pid && (e = readdir(list))) {
		snprintf(path, sizeof path, "/proc/%.20s/exe", e->d_name);
		ssize_t n = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? readlink(path, exe, sizeof exe - 1) : -1;
		exe[n > 0 ? n : 0] = 0;
		if (n > 0 && !strcmp(exe, real))
			pid = atoi(e->d_name);
	}
	if (list)
		closedir(list);
	return pid;
}

/* Report a server that was started before the service's files changed. */
static void check_running_environment(struct doctor *d, int pid)
{
	static const char *const names[] = {"LD_LIBRARY_PATH", "LD_AUDIT", "GANGWAY_DEVICE", "CUDA_VISIBLE_DEVICES"};
	struct sysroot sys;

	if (!pid || !d->ollama->unit.file[0] || sysroot_init_process(&sys, pid))
		return;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *now = sysroot_env(&sys, names[i]), *then = sysroot_env(&d->sysroot, names[i]);

		if (!strcmp(now ? now : "", then ? then : ""))
			continue;
		finding_fix(finding_add(d, STATUS_WRONG,
				    "the running Ollama (process %d) was started with another %s than its service has "
				    "now",
				    pid, names[i]),
			"sudo systemctl daemon-reload && sudo systemctl restart ollama");
		break;
	}
	sysroot_finish(&sys);
}

void probe_ollama(struct doctor *d)
{
	const struct ollama *o = d->ollama;

	if (!o->found) {
		finding_fix(finding_add(d, STATUS_WRONG, "there is no ollama on this machine"),
			"curl -fsSL https://ollama.com/install.sh | sh");
		return;
	}
	struct finding *f = finding_add(d, STATUS_FACT, "%s, %s", o->program,
		o->generation == OLLAMA_UNKNOWN ? "of an unknown version" : generations[o->generation].name);
	finding_fact(f, "generation", "%c", o->generation == OLLAMA_UNKNOWN ? '?' : "ABC"[o->generation]);
	if (o->unit.file[0])
		finding_detail(
			f, "It runs as a service: %s, user %s.", o->unit.file, o->unit.user[0] ? o->unit.user : "root");
	for (unsigned i = 0; i < o->nbackends; i++)
		finding_detail(f, "CUDA backend: %s.", o->backends[i]);
	if (find_running_server(d))
		finding_detail(
			f, "It is running: gangway doctor --pid %d shows what it has loaded.", find_running_server(d));
	check_running_environment(d, find_running_server(d));
	if (!o->nbackends) {
		finding_fix(finding_add(d, STATUS_WRONG,
				    "Ollama has no CUDA backend: no folder in %s contains a libggml-cuda.so",
				    o->folder[0] ? o->folder : "lib/ollama"),
			"curl -fsSL https://ollama.com/install.sh | sh");
		return;
	}
	check_llm_library(d);
	ollama_check_user(d);
	if (o->generation == OLLAMA_A)
		check_generation_a(d);
	else
		for (unsigned i = 0; i < o->nbackends; i++)
			check_generation_bc(d, o->backends[i]);
}

void ollama_finish(struct doctor *d)
{
	if (d->ollama)
		systemd_unit_finish(&d->ollama->unit);
}
