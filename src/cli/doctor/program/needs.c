/* needs.c - what is linked into a program: is all of it there, with the versions and names that are asked
 * for? */
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

/* Where a library lies that no way leads to. */
static bool look_around(const struct doctor *d, const char *name, char path[PATH_MAX])
{
	static const char *const places[] = {"/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib",
		"/opt/cuda/lib64", "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/wsl/lib"};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		snprintf(path, PATH_MAX, "%s/%s", places[i], name);
		if (sysroot_is_file(&d->sysroot, path))
			return true;
	}
	return false;
}

/* Libraries of NVIDIA's that PyPI has, for any program: the package, and the folder that it makes. */
static const struct package {
	const char *soname, *package, *folder;
} packages[] = {
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

static const struct package *find_package(const char *name)
{
	for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
		if (!strcmp(name, packages[i].soname))
			return &packages[i];
	return NULL;
}

void fix_missing(const struct doctor *d, struct finding *f, const char *name)
{
	char path[PATH_MAX];
	const struct package *p = find_package(name);

	if (look_around(d, name, path)) {
		more(f, "It lies in %s.", path);
		fix(f, "export LD_LIBRARY_PATH=%.*s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
			(int)(strrchr(path, '/') - path), path);
	} else if (p) {
		fix(f,
			"pip install --target ~/cuda %s && export "
			"LD_LIBRARY_PATH=~/cuda/nvidia/%s/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
			p->package, p->folder);
	} else {
		fix(f,
			"sudo apt install apt-file && sudo apt-file update && apt-file search %s  # and install what "
			"has it",
			name);
	}
}

static void say_missing(struct doctor *d, const struct closure *c, const struct closure_part *p)
{
	fix_missing(d,
		say(d, WRONG, "%s, which %s needs, is nowhere on the loader's path", p->name, requester_name(c, p)),
		p->name);
}

static const struct closure_part *find_part(const struct closure *c, const char *name)
{
	for (unsigned i = 0; i < c->n; i++)
		if (!strcmp(c->parts[i]->name, name))
			return c->parts[i];
	return NULL;
}

static bool has_node(const struct elf_object *o, const char *node)
{
	for (unsigned i = 0; i < o->nnodes; i++)
		if (!strcmp(o->nodes[i], node))
			return true;
	return !o->nnodes; /* without any the loader only warns */
}

/* Nodes that a part asks others for, of the libraries that this is about. */
static void check_nodes(struct doctor *d, const struct closure *c, const struct closure_part *p)
{
	char command[2 * PATH_MAX];

	for (unsigned i = 0; i < p->object.nwants; i++) {
		const struct elf_version_want *want = &p->object.wants[i];
		const struct closure_part *from = find_part(c, want->file);

		if (!from || !from->cuda || !from->is_open || *from->ours || has_node(&from->object, want->node))
			continue;
		struct finding *f = say(d, WRONG, "%s asks %s for version %s, which %s does not have", p->name,
			want->file, want->node, from->path);
		search_path_command(d, &from->found, command, sizeof command);
		if (*command)
			fix(f, "%s", command);
		else
			fix(f, "mv %s %s.away  # so that another copy is found", from->path, from->path);
	}
}

static bool is_driver_name(const char *name)
{
	return (!strncmp(name, "cu", 2) && name[2] >= 'A' && name[2] <= 'Z') ||
	       (!strncmp(name, "nvml", 4) && name[4] >= 'A' && name[4] <= 'Z');
}

/* Names that a part leaves to the driver, and the driver it would get does not have. */
static void check_names(struct doctor *d, const struct closure_part *p, const struct closure_part *driver,
	const struct elf_object *library, const char *path)
{
	bool ml = !strncmp(driver->name, "libnvidia-ml", 12);
	unsigned missing = 0;
	char first[128] = "";
	const char *name;

	for (uint32_t at = 0; (name = elf_object_undefined(&p->object, &at));)
		if (is_driver_name(name) && (name[0] == 'n') == ml && !elf_object_exports(library, name) && !missing++)
			snprintf(first, sizeof first, "%s", name);
	if (!missing)
		return;
	struct finding *f =
		say(d, WRONG, "%s lacks %u of the names that %s needs, such as %s", path, missing, p->name, first);
	more(f, "The loader ends a program with \"undefined symbol\" when it comes to such a name.");
	fix(f, "make install  # a Gangway that is as new as the program");
}

static void check_driver(struct doctor *d, const struct closure *c, const struct closure_part *driver)
{
	struct sysroot here = {.environment = d->sysroot.environment};
	const char *path = *driver->ours ? driver->ours : driver->path;
	struct elf_object o;
	int fd = *path ? sysroot_open(*driver->ours ? &here : &d->sysroot, path) : -1;

	if (fd < 0 || elf_object_open(&o, fd)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	close(fd);
	for (unsigned i = 0; i < c->n; i++)
		if (c->parts[i]->is_open && c->parts[i] != driver)
			check_names(d, c->parts[i], driver, &o, path);
	elf_object_close(&o);
}

static void say_needs(struct doctor *d, const struct closure *c)
{
	static const char *const columns[CELLS] = {"library", "needed by", "as it is", "with gangway run"};
	struct finding *f = NULL;

	for (unsigned i = 1; i < c->n; i++) {
		const struct closure_part *p = c->parts[i];

		if (!p->cuda)
			continue;
		if (!f) {
			f = say(d, FACT, "libraries that are linked in:");
			table(f, columns);
		}
		row(f, (const char *[CELLS]){p->name, requester_name(c, p), *p->path ? p->path : "not found",
			       *p->ours   ? p->ours
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
			say_missing(d, c, p);
		if (p->is_open)
			check_nodes(d, c, p);
		if (!strcmp(p->name, "libcuda.so.1") || !strcmp(p->name, "libnvidia-ml.so.1"))
			check_driver(d, c, p);
	}
	if (c->n)
		check_nodes(d, c, c->parts[0]);
	say_needs(d, c);
}
