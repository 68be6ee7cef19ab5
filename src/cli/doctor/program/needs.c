/* Check the libraries that a program is linked with: they exist and have the required versions and symbols. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "loader/closure.h"
#include "cli/doctor/doctor.h"

static const char *requester_name(const struct closure *c, const struct closure_part *p)
{
	return p->needed_by < 0 ? "" : c->parts[p->needed_by]->name;
}

/* Find a library in a folder that is not on the search path. */
static bool find_uninstalled(const struct doctor *d, const char *name, char path[PATH_MAX])
{
	static const char *const toolkit_folders[] = {"/usr/local/cuda/lib64",
		"/usr/local/cuda/targets/x86_64-linux/lib", "/opt/cuda/lib64",
		"/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/wsl/lib"};

	for (size_t i = 0; i < sizeof toolkit_folders / sizeof *toolkit_folders; i++) {
		snprintf(path, PATH_MAX, "%s/%s", toolkit_folders[i], name);
		if (sysroot_is_file(&d->sysroot, path))
			return true;
	}
	return false;
}

/* NVIDIA's libraries on PyPI: the package, and the folder that it creates. */
static const struct pypi_package {
	const char *soname, *package, *folder;
} pypi_packages[] = {
	{"libcudart.so.12", "nvidia-cuda-runtime-cu12", "cuda_runtime"},
	{"libcudart.so.13", "nvidia-cuda-runtime", "cu13"},
	{"libcublas.so.12", "nvidia-cublas-cu12", "cublas"},
	{"libcublas.so.13", "nvidia-cublas", "cu13"},
	{"libcublasLt.so.12", "nvidia-cublas-cu12", "cublas"},
	{"libcublasLt.so.13", "nvidia-cublas", "cu13"},
	{"libnvrtc.so.12", "nvidia-cuda-nvrtc-cu12", "cuda_nvrtc"},
	{"libnvrtc.so.13", "nvidia-cuda-nvrtc", "cu13"},
	{"libnvJitLink.so.12", "nvidia-nvjitlink-cu12", "nvjitlink"},
	{"libnvJitLink.so.13", "nvidia-nvjitlink", "cu13"},
	{"libcufft.so.11", "nvidia-cufft-cu12", "cufft"},
	{"libcufft.so.12", "nvidia-cufft", "cu13"},
};

static const struct pypi_package *find_package(const char *name)
{
	for (size_t i = 0; i < sizeof pypi_packages / sizeof *pypi_packages; i++)
		if (!strcmp(name, pypi_packages[i].soname))
			return &pypi_packages[i];
	return NULL;
}

void fix_missing_library(const struct doctor *d, struct finding *f, const char *name)
{
	char path[PATH_MAX];
	const struct pypi_package *p = find_package(name);

	if (find_uninstalled(d, name, path)) {
		finding_detail(f, "It exists as %s.", path);
		finding_fix(f, "export LD_LIBRARY_PATH=%.*s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
			(int)(strrchr(path, '/') - path), path);
	} else if (p) {
		finding_fix(f,
			"pip install --target ~/cuda %s && export "
			"LD_LIBRARY_PATH=~/cuda/nvidia/%s/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
			p->package, p->folder);
	} else {
		finding_fix(f,
			"sudo apt install apt-file && sudo apt-file update && apt-file search %s  # and install the "
			"package "
			"that contains it",
			name);
	}
}

static void report_missing(struct doctor *d, const struct closure *c, const struct closure_part *p)
{
	fix_missing_library(d,
		finding_add(d, STATUS_WRONG, "%s, which %s needs, is not found by the loader", p->name,
			requester_name(c, p)),
		p->name);
}

static const struct closure_part *closure_find_part(const struct closure *c, const char *name)
{
	for (unsigned i = 0; i < c->n; i++)
		if (!strcmp(c->parts[i]->name, name))
			return c->parts[i];
	return NULL;
}

static bool has_version_node(const struct elf_object *o, const char *node)
{
	for (unsigned i = 0; i < o->nnodes; i++)
		if (!strcmp(o->nodes[i], node))
			return true;
	return !o->nnodes; /* the loader only warns about a library without nodes */
}

/* Check the version nodes that a part needs from CUDA libraries. */
static void check_version_nodes(struct doctor *d, const struct closure *c, const struct closure_part *p)
{
	char command[2 * PATH_MAX];

	for (unsigned i = 0; i < p->object.nwants; i++) {
		const struct elf_version_want *want = &p->object.wants[i];
		const struct closure_part *from = closure_find_part(c, want->file);

		if (!from || !from->cuda || !from->is_open || *from->ours ||
			has_version_node(&from->object, want->node))
			continue;
		struct finding *f =
			finding_add(d, STATUS_WRONG, "%1$s needs version %3$s of %2$s, which %4$s does not have",
				p->name, want->file, want->node, from->path);
		search_path_command(d, &from->found, command, sizeof command);
		if (*command)
			finding_fix(f, "%s", command);
		else
			finding_fix(
				f, "mv %s %s.away  # so that the loader finds another copy", from->path, from->path);
	}
}

static bool is_driver_symbol(const char *name)
{
	return (!strncmp(name, "cu", 2) && name[2] >= 'A' && name[2] <= 'Z') ||
	       (!strncmp(name, "nvml", 4) && name[4] >= 'A' && name[4] <= 'Z');
}

/* The file of ours as the examined system sees it: this machine's files are not in the system under --root. */
static const char *shown_replacement(const struct doctor *d, const struct closure_part *p, char text[PATH_MAX])
{
	const char *file = p->ours + strlen(d->library_dir);

	if (!d->sysroot.root[0] || d->sysroot.pid || strncmp(p->ours, d->library_dir, strlen(d->library_dir)))
		return p->ours;
	if (!install_find_in_root(d, file, text))
		snprintf(text, PATH_MAX, "Gangway's %.100s (not installed there)", basename(file));
	return text;
}

/* Check the driver symbols that a part needs. */
static void check_driver_symbols(struct doctor *d, const struct closure_part *p, const struct closure_part *driver,
	const struct elf_object *library, const char *path)
{
	bool ml = !strncmp(driver->name, "libnvidia-ml", 12);
	unsigned missing = 0;
	char first[128] = "";
	const char *name;

	for (uint32_t at = 0; (name = elf_object_undefined(&p->object, &at));)
		if (is_driver_symbol(name) && (name[0] == 'n') == ml && !elf_object_exports(library, name) &&
			!missing++)
			snprintf(first, sizeof first, "%s", name);
	if (!missing)
		return;
	struct finding *f = finding_add(d, STATUS_WRONG, "%s lacks %u function%s that %s needs, such as %s", path,
		missing, missing == 1 ? "" : "s", p->name, first);
	finding_detail(f, "The loader ends the program with \"undefined symbol\" when it calls one of them.");
	finding_fix(f, "make install  # of a newer Gangway");
}

static void check_driver(struct doctor *d, const struct closure *c, const struct closure_part *driver)
{
	struct sysroot here = {.environment = d->sysroot.environment};
	const char *path = *driver->ours ? driver->ours : driver->path;
	char shown[PATH_MAX];
	struct elf_object o;
	int fd = *path ? sysroot_open(*driver->ours ? &here : &d->sysroot, path) : -1;

	if (fd < 0 || elf_object_open(&o, fd)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	close(fd);
	if (*driver->ours)
		path = shown_replacement(d, driver, shown);
	for (unsigned i = 0; i < c->n; i++)
		if (c->parts[i]->is_open && c->parts[i] != driver)
			check_driver_symbols(d, c->parts[i], driver, &o, path);
	elf_object_close(&o);
}

static void report_needs(struct doctor *d, const struct closure *c)
{
	static const char *const columns[TABLE_COLUMNS] = {
		"library", "needed by", "without gangway run", "with gangway run"};
	struct finding *f = NULL;
	char shown[PATH_MAX];

	for (unsigned i = 1; i < c->n; i++) {
		const struct closure_part *p = c->parts[i];

		if (!p->cuda)
			continue;
		if (!f) {
			f = finding_add(d, STATUS_FACT, "the CUDA libraries that the program is linked with:");
			finding_table(f, columns);
		}
		finding_row(f,
			(const char *[TABLE_COLUMNS]){p->name, requester_name(c, p), *p->path ? p->path : "not found",
				*p->ours   ? shown_replacement(d, p, shown)
				: *p->path ? p->path
					   : "not found"});
	}
}

void probe_needs(struct doctor *d)
{
	const struct closure *c = &d->closure;

	for (unsigned i = 1; i < c->n; i++) {
		const struct closure_part *p = c->parts[i];

		if (!*p->path && !*p->ours)
			report_missing(d, c, p);
		if (p->is_open)
			check_version_nodes(d, c, p);
		if (!strcmp(p->name, "libcuda.so.1") || !strcmp(p->name, "libnvidia-ml.so.1"))
			check_driver(d, c, p);
	}
	if (c->n)
		check_version_nodes(d, c, c->parts[0]);
	report_needs(d, c);
}
