/* Check a program: whether it can load our libraries, what it may load at run time, and its GPU code. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "loader/closure.h"
#include "cli/doctor/program/code.h"
#include "cli/doctor/program/package.h"
#include "cli/doctor/command.h"
#include "cli/doctor/doctor.h"
#include "loader/dlopen_names.h"
#include "loader/program.h"

/* ---- the file ---- */

static void inspect_subject(const struct doctor *d, struct program *p)
{
	if (d->sysroot.root[0] || d->subject != ON_PROGRAM)
		program_inspect_in(&d->sysroot, d->program, p);
	else
		program_inspect(d->program, p);
}

static const char *shown_path(const struct program *p)
{
	return *p->script ? p->script : p->path;
}

static const char *processor_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = {{EM_AARCH64, "aarch64 (64-bit ARM)"}, {EM_ARM, "32-bit ARM"}, {EM_PPC64, "ppc64"},
		{EM_RISCV, "RISC-V"}, {EM_S390, "s390x"}, {EM_X86_64, "x86_64"}, {EM_386, "i386"}};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].machine == machine)
			return names[i].name;
	return "another processor";
}

static void report_foreign(struct doctor *d, const struct program *p)
{
	struct utsname here = {0};
	struct finding *f;

	uname(&here);
	if (p->machine == EM_386) {
		f = finding_add(d, STATUS_WRONG, "%s is a 32-bit program, but Gangway's libraries are 64-bit", p->path);
		finding_fix(f, "cc -m64 ...  # build it for this machine");
		return;
	}
	f = finding_add(d, STATUS_WRONG, "%s is a program for %s, but this machine and Gangway's libraries are %s",
		p->path, processor_name(p->machine), here.machine);
	finding_detail(f, "Install the package for %s, or build the program on this machine.", here.machine);
	finding_fix(f, "file %s  # another build of it must show %s", p->path, here.machine);
}

/* Report a program that cannot be started at all. Returns true if it cannot. */
static bool report_unstartable(struct doctor *d, const struct program *p)
{
	struct finding *f;

	switch (p->kind) {
	case PROGRAM_MISSING:
		f = finding_add(d, STATUS_WRONG, "%s cannot be started: %s", d->program, strerror(p->error));
		if (p->error == EACCES)
			finding_fix(f, "chmod +x %s", *p->path ? p->path : d->program);
		else if (strchr(d->program, ' '))
			finding_fix(f, "gangway doctor -- %s  # the program and its arguments are separate words",
				d->program);
		else
			finding_fix(f, "gangway doctor -- /PATH/TO/%s", basename(d->program));
		return true;
	case PROGRAM_NO_LOADER:
		f = finding_add(d, STATUS_WRONG, "%s cannot be started: its %s %s does not exist", shown_path(p),
			*p->script ? "interpreter" : "loader", p->loader);
		if (*p->script)
			finding_fix(f, "sudo apt install %s", basename(p->loader));
		else
			finding_fix(f, "sudo apt install libc6  # on Alpine: apk add gcompat");
		return true;
	case PROGRAM_FOREIGN:
		report_foreign(d, p);
		return true;
	default:
		return false;
	}
}

/* Report a file that exists but is not executable. Returns true if so. */
static bool report_not_executable(struct doctor *d, const struct program *p)
{
	const char *name = shown_path(p), *end = strrchr(name, '.');
	char quoted[PATH_MAX + 16], made[PATH_MAX], to[PATH_MAX + 16];
	struct stat st;

	if (d->subject != ON_PROGRAM || d->sysroot.root[0] || stat(name, &st) ||
		(!S_ISDIR(st.st_mode) && !access(name, X_OK)))
		return false;
	command_quote(name, quoted, sizeof quoted);
	if (S_ISDIR(st.st_mode))
		finding_fix(finding_add(d, STATUS_WRONG, "%s is a folder, not a program", name), "ls %s", quoted);
	else if (p->kind != PROGRAM_UNKNOWN)
		finding_fix(finding_add(d, STATUS_WRONG, "%s is not executable", name), "chmod +x %s", quoted);
	else if (end && !strcmp(end, ".cu")) {
		snprintf(made, sizeof made, "%.*s", (int)(end - name), name);
		command_quote(made, to, sizeof to);
		finding_fix(finding_add(d, STATUS_WRONG, "%s is source code, not a program", name), "nvcc -o %s %s", to,
			quoted);
	} else if (end && !strcmp(end, ".py"))
		finding_fix(finding_add(d, STATUS_WRONG, "%s is a Python script without a #! line", name),
			"gangway doctor -- python3 %s", quoted);
	else
		finding_fix(
			finding_add(d, STATUS_WRONG,
				"%s is not a program: it is neither an ELF file nor a script, and it is not executable",
				name),
			"file %s", quoted);
	d->may_start = false;
	return true;
}

static bool object_is_go(const struct elf_object *o)
{
	return elf_object_has_section(o, ".go.buildinfo");
}

static void report_no_libraries(struct doctor *d, const struct program *p, const struct elf_object *o)
{
	char command[COMMAND_MAX], user[64];
	struct finding *f;
	struct stat st;

	if (p->kind == PROGRAM_STATIC) {
		f = finding_add(d, STATUS_WRONG,
			"%s is linked statically: it loads no libraries, so it cannot use Gangway", p->path);
		finding_detail(f, "Programs that it starts can use Gangway.");
		d->static_finding = d->nfindings;
		if (object_is_go(o))
			finding_fix(f,
				"CGO_ENABLED=1 go build -ldflags=-linkmode=external ...  # links the C library, and so "
				"uses the loader");
		else
			finding_fix(f,
				"nvcc -cudart static ...  # build it without -static: only CUDA's runtime may be "
				"static");
	} else if (p->secure) {
		f = finding_add(d, STATUS_WRONG,
			"%s is set-uid, set-gid or has capabilities: the loader ignores its environment, so it cannot "
			"use Gangway",
			p->path);
		if (d->argv)
			command_words(d->argv, command);
		else
			command_quote(shown_path(p), command, sizeof command);
		if (sysroot_stat(&d->sysroot, p->path, &st))
			st = (struct stat){0};
		command_sudo_prefix(&st, user);
		finding_fix(f, "%sgangway run -- %s", user, command);
	} else if (p->kind == PROGRAM_MUSL) {
		f = finding_add(
			d, STATUS_WRONG, "%s is built for musl, but Gangway's libraries are built for glibc", p->path);
		finding_fix(f, "podman run debian:stable ...  # build it for glibc in there");
	}
}

/* ---- description ---- */

static const char *describe_language(const struct program *p, const struct elf_object *o)
{
	if (!strncmp(basename(p->path), "python", 6) || !strncmp(basename(p->path), "pypy", 4))
		return "Python: its packages bring CUDA libraries, which only a start shows";
	if (!strcmp(basename(p->path), "node"))
		return "JavaScript: its packages bring CUDA libraries, which only a start shows";
	if (object_is_go(o))
		return "written in Go: programs that it starts use Gangway if they get its environment. If they get a "
		       "new "
		       "environment, use gangway run --follow-all or gangway install --system";
	if (elf_object_has_section(o, ".nv_fatbin") || elf_object_has_section(o, "__nv_relfatbin"))
		return "CUDA C++";
	return NULL;
}

/* Does the file contain NVIDIA's static runtime? It has the runtime's texts and loads the driver itself. */
static bool has_static_runtime(const struct elf_object *o)
{
	if (o->soname && !strncmp(o->soname, "libcudart", 9))
		return false;
	return elf_object_contains(o, "cudaErrorInvalidValue") && elf_object_contains(o, "libcuda.so.1") &&
	       elf_object_contains(o, "cuGetProcAddress");
}

static void format_names(const struct dlopen_names *s, char *text, size_t size)
{
	size_t used = 0;

	*text = 0;
	for (unsigned i = 0; i < s->n && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", s->name[i]);
}

/* Find CUDA libraries in the folder of the program. */
static void find_bundled(const struct doctor *d, const char *dir, struct dlopen_names *s)
{
	DIR *list = sysroot_list(&d->sysroot, dir);
	struct dirent *e;

	while (list && (e = readdir(list)))
		if (is_cuda_library(e->d_name) && strncmp(e->d_name, "libggml", 7) && strstr(e->d_name, ".so") &&
			s->n < DLOPEN_NAMES_MAX)
			snprintf(s->name[s->n++], sizeof *s->name, "%.120s/%.120s", dir, e->d_name);
	if (list)
		closedir(list);
}

/* Report names of libraries that the file may load at run time. */
static void report_dlopen_names(struct finding *f, const struct closure_part *p)
{
	const struct elf_object *o = &p->object;
	struct dlopen_names names = {0};
	char text[2048];

	dlopen_names_scan(o->data, o->size, &names);
	for (unsigned i = 0; i < o->nneeded; i++)
		dlopen_names_remove(&names, o->needed[i]);
	if (o->soname)
		dlopen_names_remove(&names, o->soname);
	if (!names.n)
		return;
	format_names(&names, text, sizeof text);
	finding_detail(f, "%s may load at run time: %s.", p->name, text);
	if (p->needed_by < 0)
		finding_fact(f, "names", "%s", text);
}

static void report_program(struct doctor *d, const struct program *p, const struct closure *c)
{
	const struct elf_object *o = &c->parts[0]->object;
	struct dlopen_names copies = {0};
	char dir[PATH_MAX], text[2048];
	struct finding *f = finding_add(
		d, STATUS_FACT, "%s%s%s", shown_path(p), *p->script ? ", run by " : "", *p->script ? p->path : "");

	finding_fact(f, "path", "%s", p->path);
	if (describe_language(p, o))
		finding_detail(f, "%s%s.", describe_language(p, o), "");
	for (unsigned i = 0; i < c->n; i++)
		if (c->parts[i]->is_open && (!i || c->parts[i]->cuda) && has_static_runtime(&c->parts[i]->object))
			finding_detail(f,
				"%s contains CUDA's runtime (static cudart) and loads only libcuda.so.1, at run "
				"time.",
				c->parts[i]->name);
	for (unsigned i = 0; i < c->n; i++)
		if (c->parts[i]->is_open && !c->parts[i]->cuda)
			report_dlopen_names(f, c->parts[i]);
	snprintf(
		dir, sizeof dir, "%.*s", (int)(strrchr(c->parts[0]->path, '/') - c->parts[0]->path), c->parts[0]->path);
	if (strcmp(dir, "/usr/bin") && strcmp(dir, "/bin") && strcmp(dir, "/usr/local/bin"))
		find_bundled(d, dir, &copies);
	if (copies.n) {
		format_names(&copies, text, sizeof text);
		finding_detail(f, "Copies of CUDA libraries next to it: %s.", text);
		finding_fact(f, "copies", "%s", text);
	}
}

/* ---- GPU code ---- */

static struct code_device chosen_device(const struct doctor *d)
{
	const struct device_facts *f = &d->device;

	if (!d->device_known || !f->opened || !f->count)
		return (struct code_device){0};
	return (struct code_device){true, (unsigned)f->device[0].major, (unsigned)f->device[0].minor,
		!strncmp(f->device[0].name, "Gangway CPU", 11)};
}

/* A user cannot rebuild a package: only another version of it, or another device, helps. */
static void fix_package(struct finding *f, const char *path, const struct code_device *dev)
{
	char package[64];

	if (!dev->ptx_only && *package_name(path, package))
		finding_fix(f, "pip install --upgrade %s  # to a version with code for sm_%u%u", package, dev->major,
			dev->minor);
	else
		finding_fix(f, "gangway run --on tcp://HOST:PORT -- PROGRAM  # where gangway serve shares a GPU");
}

static struct finding *report_no_code(struct doctor *d, const char *name, const char *path,
	const struct code_device *dev, const struct code_facts *code)
{
	bool vendors = package_is_prebuilt(name, path);
	struct finding *f = finding_add(d, code->suitable || vendors ? STATUS_LOOK : STATUS_WRONG,
		"%s has %scode for %s (%u.%u%s); it contains %s", name, code->suitable ? "only some " : "no ",
		d->device.chosen, dev->major, dev->minor, dev->ptx_only ? ", PTX only" : "", code->text);

	if (code->suitable)
		finding_detail(f, "%u of %u pieces can run there.", code->suitable, code->fatbins);
	finding_detail(f, "Kernels without code for the device fail with CUDA_ERROR_NO_BINARY_FOR_GPU.");
	if (vendors)
		fix_package(f, path, dev);
	else
		finding_fix(f, "nvcc -gencode arch=compute_%u%u,code=compute_%u%u ...  # or an older architecture",
			dev->major, dev->minor, dev->major, dev->minor);
	return f;
}

static void report_code(struct doctor *d, const char *name, const char *path, const struct code_device *dev,
	const struct code_facts *code)
{
	const char *s = code->fatbins == 1 ? "" : "s";
	struct finding *f;

	if (!dev->known) {
		f = finding_add(
			d, STATUS_FACT, "%s has %u piece%s of GPU code: %s", name, code->fatbins, s, code->text);
	} else if (code->suitable < code->fatbins) {
		f = report_no_code(d, name, path, dev, code);
	} else {
		f = finding_add(d, STATUS_FINE, "%s: %s", name, code->text);
		finding_detail(f, "All of it (%u piece%s) can run on %s (%u.%u).", code->fatbins, s, d->device.chosen,
			dev->major, dev->minor);
	}
	if (code->malformed)
		finding_detail(f, "A piece of it is malformed.");
	finding_fact(f, "file", "%s", path);
	finding_fact(f, "code", "%s", code->text);
}

/* Check a file that the process has loaded, unless it is part of the closure. */
static void check_mapped_code(struct doctor *d, const char *path)
{
	struct code_device dev = chosen_device(d);
	struct code_facts code;
	struct elf_object o;

	for (unsigned i = 0; i < d->closure.n; i++)
		if (!strcmp(d->closure.parts[i]->path, path))
			return;
	package_check_cpu_only(d, path);
	int fd = sysroot_open(&d->sysroot, path);
	if (fd < 0 || elf_object_open(&o, fd)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	close(fd);
	code_read(o.data, o.size, &dev, &code);
	if (code.fatbins)
		report_code(d, basename(path), path, &dev, &code);
	elf_object_close(&o);
}

void probe_code(struct doctor *d)
{
	struct code_device dev = chosen_device(d);
	struct code_facts code;

	for (unsigned i = 0; i < d->closure.n; i++) {
		const struct closure_part *p = d->closure.parts[i];

		if (!p->is_open || !p->object.native || *p->ours)
			continue;
		code_read(p->object.data, p->object.size, &dev, &code);
		if (code.fatbins)
			report_code(d, p->name, p->path, &dev, &code);
	}
	if (d->subject == ON_PROCESS)
		process_each_mapped_file(d, check_mapped_code);
}

/* ---- the probe ---- */

void probe_program(struct doctor *d)
{
	struct program p;

	if (!*d->program)
		return; /* the program file of the process was deleted */
	inspect_subject(d, &p);
	if (report_unstartable(d, &p)) {
		d->may_start = false;
		return;
	}
	if (closure_init(&d->closure, &d->sysroot, p.path, d->library_dir)) {
		closure_finish(&d->closure);
		report_not_executable(d, &p);
		return;
	}
	if (!d->closure.parts[0]->object.library && report_not_executable(d, &p))
		return;
	d->is_go = object_is_go(&d->closure.parts[0]->object);
	if (d->closure.parts[0]->object.library && p.kind == PROGRAM_STATIC)
		d->may_start = false; /* a library: inspected, not started */
	else
		report_no_libraries(d, &p, &d->closure.parts[0]->object);
	for (size_t i = 0; d->static_finding && i < d->nfindings; i++)
		if (!strcmp(d->findings[i].probe, "process")) /* the static program explains it */
			finding_settle(&d->findings[i]);
	report_program(d, &p, &d->closure);
}
