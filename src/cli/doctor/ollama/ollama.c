/*
 * ollama.c - why Ollama says library=cpu.
 *
 * Three generations look for a GPU in three ways, and all of them fall back to the processor without a word:
 *
 *	A  to 0.12.3	the server itself opens the first libcuda.so* of a list of folders; the loader's cache
 *			is not asked
 *	B  to 0.24	a runner per folder of lib/ollama loads libggml-cuda.so, which needs libcuda.so.1
 *	C  since 0.30	llama-server does; the device's compute capability must stand in libggml-cuda.so's own
 *			list (ollama_device.c)
 *
 * They are told by words that only that generation has.
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
	[OLLAMA_A] = {"cuCtxCreate_v3", "to 0.12.3: the server opens libcuda.so itself"},
	[OLLAMA_B] = {"GGML_CUDA_INIT", "0.12.4 to 0.24: a runner for each folder of lib/ollama"},
	[OLLAMA_C] = {"gpu-discover", "0.30 or later: llama-server for each folder of lib/ollama"},
};

/* ---- where it is, and which ---- */

static bool find_program(const struct doctor *d, const struct unit *u, char path[PATH_MAX])
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

static enum generation find_generation(const struct doctor *d, const char *path)
{
	struct elf_object o;
	enum generation g = OLLAMA_UNKNOWN;
	int fd = sysroot_open(&d->sysroot, path);

	if (fd < 0)
		return g;
	if (!elf_object_open(&o, fd)) {
		for (int i = OLLAMA_C; i >= OLLAMA_A && g == OLLAMA_UNKNOWN; i--)
			if (memmem(o.data, o.size, generations[i].word, strlen(generations[i].word)))
				g = (enum generation)i;
		elf_object_close(&o);
	}
	close(fd);
	return g;
}

/* Beside the program, as the program finds it: links are followed first. */
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

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* lib/ollama/cuda_v12/libggml-cuda.so, ... */
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
	qsort(o->backends, o->nbackends, sizeof *o->backends, by_name);
}

/* ---- fixes ---- */

/* A line for the service, in a file of its own that is named after the variable and read last. */
#define DROP_IN(line) \
	"sudo sh -c 'cd /etc/systemd/system && mkdir -p ollama.service.d && printf \"[Service]\\n" line \
	"\\n\" >ollama.service.d/zz-gangway-%s.conf && systemctl daemon-reload && systemctl restart ollama'"

void ollama_set(const struct doctor *d, struct finding *f, const char *variable, const char *value)
{
	if (d->ollama->unit.file[0])
		fix(f, DROP_IN("Environment=%s=%s"), variable, value, variable);
	else
		fix(f, "export %s=%s  # then start ollama serve again", variable, value);
}

void fix_unset(const struct doctor *d, struct finding *f, const char *variable)
{
	if (d->ollama && d->ollama->unit.file[0])
		fix(f, DROP_IN("UnsetEnvironment=%s"), variable, variable);
	else
		fix(f, "unset %s", variable);
}

/* gangway install knows the service; what a person has set for it comes after that, and is set anew. */
static void fix_way(const struct doctor *d, struct finding *f)
{
	const char *set = sysroot_env(&d->sysroot, "LD_LIBRARY_PATH");

	if (!d->ollama->unit.file[0])
		fix(f, "gangway run -- ollama serve");
	else if (set && *set)
		ollama_set(d, f, "LD_LIBRARY_PATH", d->ours);
	else if (sysroot_is_file(&d->sysroot, MANIFEST_FILE))
		fix(f, "sudo gangway uninstall --yes && sudo gangway install --system --yes && sudo "
		       "systemctl restart "
		       "ollama");
	else
		fix(f, "sudo gangway install --system --yes && sudo systemctl restart ollama");
}

/* ---- the environment of the service ---- */

static void check_environment(struct doctor *d)
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
	struct finding *f = say(d, WRONG, "OLLAMA_LLM_LIBRARY=%s keeps it from every folder that has CUDA", library);
	fix_unset(d, f, "OLLAMA_LLM_LIBRARY");
}

/* ---- how it comes to libcuda ---- */

/* Generation A's own list; what it finds first it takes. */
static bool find_by_list(const struct doctor *d, char found[PATH_MAX], const char **how)
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

static const char *const names_a[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet",
	"cuDeviceGetAttribute", "cuDeviceGetUuid", "cuDeviceGetName", "cuCtxCreate_v3", "cuMemGetInfo_v2",
	"cuCtxDestroy"};

static void check_names(struct doctor *d, const char *path)
{
	struct elf_object o;
	int fd = sysroot_open(&d->sysroot, path);

	if (fd < 0)
		return;
	if (!elf_object_open(&o, fd)) {
		for (size_t i = 0; i < sizeof names_a / sizeof *names_a; i++)
			if (!elf_object_exports(&o, names_a[i])) {
				fix_way(d, say(d, WRONG, "%s has no %s, and this Ollama wants all of its %zu names",
						   path, names_a[i], sizeof names_a / sizeof *names_a));
				break;
			}
		elf_object_close(&o);
	}
	close(fd);
}

static void judge_libcuda(struct doctor *d, const char *path, const char *how)
{
	struct library l;
	struct finding *f;
	int err = library_inspect(&d->sysroot, path, &l);

	if (err) {
		fix_way(d, say(d, WRONG, "Ollama takes %s, found by %s, which is no library", path, how));
	} else if (l.maker == MAKER_STUB) {
		f = say(d, WRONG, "Ollama takes a stub for linking: %s, found by %s", path, how);
		more(f, "It answers CUDA_ERROR_STUB_LIBRARY, and Ollama goes on with the processor.");
		fix_way(d, f);
	} else if (l.maker == MAKER_VENDOR) {
		say(d, FACT, "Ollama takes a vendor's %s, found by %s: Gangway is not in its way", path, how);
	} else {
		say(d, FINE, "Ollama takes Gangway's %s, found by %s", path, how);
	}
}

static void check_way_a(struct doctor *d)
{
	struct library_search s = library_search_from(&d->sysroot);
	struct found_library found;
	char path[PATH_MAX];
	const char *how;

	if (library_find(&s, "libcuda.so.1", NULL, &found) && found.by == FOUND_BY_AUDIT) { /* whatever it finds */
		judge_libcuda(d, found.path, found_by_name(found.by));
		return;
	}
	if (!find_by_list(d, path, &how)) {
		fix_way(d, say(d, WRONG,
				   "no libcuda.so is where this Ollama looks: LD_LIBRARY_PATH and a list of its "
				   "own, not "
				   "the loader's cache"));
		return;
	}
	judge_libcuda(d, path, how);
	check_names(d, path);
}

/* Generations B and C: the loader, with the folders of Ollama before the user's. */
static void check_way_bc(struct doctor *d, const char *backend)
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
		fix(say(d, WRONG, "%s cannot be read", backend), "curl -fsSL https://ollama.com/install.sh | sh");
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
				judge_libcuda(d, found.path, found_by_name(found.by));
		} else if (driver) {
			struct finding *f =
				say(d, WRONG, "%s needs libcuda.so.1, which is nowhere on Ollama's path", backend);
			more(f, "So the backend does not load, without a word, and Ollama goes on with the "
				"processor.");
			fix_way(d, f);
		} else if (is_cuda_library(name)) {
			fix(say(d, WRONG, "%s needs %s, which Ollama's own folders do not have", backend, name),
				"curl -fsSL https://ollama.com/install.sh | sh");
		}
	}
	elf_object_close(&o);
}

/* ---- the probes ---- */

/* The environment is the service's, where it is one. */
void ollama_find(struct doctor *d)
{
	struct ollama *o = d->ollama;

	unit_read(&o->unit, &d->sysroot, "ollama.service");
	o->there = find_program(d, &o->unit, o->program);
	if (o->there) {
		o->generation = find_generation(d, o->program);
		if (find_folder(d, o->program, o->folder))
			find_backends(d, o);
	}
	if (o->unit.file[0])
		d->sysroot.environment = o->unit.environment;
}

/* The server itself, if it runs: a process whose program is this one. */
static int running(const struct doctor *d)
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

/* Was it started before the service's files became what they are? */
static void check_running(struct doctor *d, int pid)
{
	static const char *const names[] = {"LD_LIBRARY_PATH", "LD_AUDIT", "GANGWAY_DEVICE", "CUDA_VISIBLE_DEVICES"};
	struct sysroot sys;

	if (!pid || !d->ollama->unit.file[0] || sysroot_init_process(&sys, pid))
		return;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *now = sysroot_env(&sys, names[i]), *then = sysroot_env(&d->sysroot, names[i]);

		if (!strcmp(now ? now : "", then ? then : ""))
			continue;
		fix(say(d, WRONG,
			    "the Ollama that runs (process %d) was started with another %s than its service has "
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

	if (!o->there) {
		fix(say(d, WRONG, "there is no ollama on this machine"),
			"curl -fsSL https://ollama.com/install.sh | sh");
		return;
	}
	struct finding *f = say(d, FACT, "%s, %s", o->program,
		o->generation == OLLAMA_UNKNOWN ? "of a generation that we do not know"
						: generations[o->generation].name);
	tell(f, "generation", "%c", o->generation == OLLAMA_UNKNOWN ? '?' : "ABC"[o->generation]);
	if (o->unit.file[0])
		more(f, "It is a service: %s, user %s.", o->unit.file, o->unit.user[0] ? o->unit.user : "root");
	for (unsigned i = 0; i < o->nbackends; i++)
		more(f, "CUDA backend: %s.", o->backends[i]);
	if (running(d))
		more(f, "It runs: gangway doctor --pid %d shows what it has loaded.", running(d));
	check_running(d, running(d));
	if (!o->nbackends) {
		fix(say(d, WRONG, "no CUDA backend is installed: %s has no folder with a libggml-cuda.so",
			    o->folder[0] ? o->folder : "it has no lib/ollama, which"),
			"curl -fsSL https://ollama.com/install.sh | sh");
		return;
	}
	check_environment(d);
	ollama_check_user(d);
	if (o->generation == OLLAMA_A)
		check_way_a(d);
	else
		for (unsigned i = 0; i < o->nbackends; i++)
			check_way_bc(d, o->backends[i]);
}

void ollama_finish(struct doctor *d)
{
	if (d->ollama)
		unit_finish(&d->ollama->unit);
}
