/* subject.c - the program in question: can it be given libraries at all, what does it link, what may it load,
 * what code has it? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "loader/closure.h"
#include "cli/doctor/program/code.h"
#include "cli/doctor/command.h"
#include "cli/doctor/doctor.h"
#include "loader/dlopen_names.h"
#include "loader/program.h"

/* ---- which file it is ---- */

static void find_subject(const struct doctor *d, struct program *p)
{
	if (d->sysroot.root[0] || d->subject != ON_PROGRAM)
		program_inspect_in(&d->sysroot, d->program, p);
	else
		program_inspect(d->program, p);
}

static const char *shown(const struct program *p)
{
	return *p->script ? p->script : p->path;
}

/* True: nothing more can be said of it. */
static bool cannot_start(struct doctor *d, const struct program *p)
{
	struct finding *f;

	switch (p->kind) {
	case PROGRAM_MISSING:
		f = say(d, WRONG, "%s cannot be started: %s", d->program, strerror(p->error));
		if (p->error == EACCES)
			fix(f, "chmod +x %s", *p->path ? p->path : d->program);
		else
			fix(f, "gangway doctor -- /PATH/TO/%s", basename(d->program));
		return true;
	case PROGRAM_NO_LOADER:
		f = say(d, WRONG, "%s cannot be started: its %s %s is not here", shown(p),
			*p->script ? "interpreter" : "loader", p->loader);
		if (*p->script)
			fix(f, "sudo apt install %s", basename(p->loader));
		else
			fix(f, "sudo apt install libc6  # on Alpine: apk add gcompat");
		return true;
	case PROGRAM_FOREIGN:
		f = say(d, WRONG, "%s is a program for %s: Gangway's libraries are for this machine, 64 bits", p->path,
			p->bits == 64 ? "another processor" : "32 bits");
		fix(f, "cc -m64 ...  # build it for this machine");
		return true;
	default:
		return false;
	}
}

/* Files that are there, and that nobody may start.  True: nothing more can be said of it. */
static bool may_not_start(struct doctor *d, const struct program *p)
{
	const char *name = shown(p), *end = strrchr(name, '.');
	char quoted[PATH_MAX + 16], made[PATH_MAX], to[PATH_MAX + 16];
	struct stat st;

	if (d->subject != ON_PROGRAM || d->sysroot.root[0] || stat(name, &st) ||
		(!S_ISDIR(st.st_mode) && !access(name, X_OK)))
		return false;
	command_quote(name, quoted, sizeof quoted);
	if (S_ISDIR(st.st_mode))
		fix(say(d, WRONG, "%s is a folder, and no program", name), "ls %s", quoted);
	else if (p->kind != PROGRAM_UNKNOWN)
		fix(say(d, WRONG, "%s may not be executed", name), "chmod +x %s", quoted);
	else if (end && !strcmp(end, ".cu")) {
		snprintf(made, sizeof made, "%.*s", (int)(end - name), name);
		command_quote(made, to, sizeof to);
		fix(say(d, WRONG, "%s is a source, and no program", name), "nvcc -o %s %s", to, quoted);
	} else
		fix(say(d, WRONG, "%s is no program: neither an ELF file nor a script, and not to be executed", name),
			"file %s", quoted);
	d->start = false;
	return true;
}

static bool is_go(const struct elf_object *o)
{
	return elf_object_has_section(o, ".go.buildinfo");
}

static void no_libraries(struct doctor *d, const struct program *p, const struct elf_object *o)
{
	char command[COMMAND_MAX], user[64];
	struct finding *f;
	struct stat st;

	if (p->kind == PROGRAM_STATIC) {
		f = say(d, WRONG,
			"%s is linked statically: no loader starts it, and it loads no library, Gangway's "
			"neither",
			p->path);
		more(f, "Programs that it starts can be given libraries.");
		d->static_finding = d->nfindings;
		if (is_go(o))
			fix(f, "CGO_ENABLED=1 go build -ldflags=-linkmode=external ...  # with the C library, and so "
			       "with a loader");
		else
			fix(f, "nvcc -cudart static ...  # build it without -static: CUDA's runtime may be static, "
			       "the C library not");
	} else if (p->secure) {
		f = say(d, WRONG,
			"%s is set-uid, set-gid or has capabilities: the loader gives it no library by its "
			"environment",
			p->path);
		if (d->argv)
			command_words(d->argv, command);
		else
			command_quote(shown(p), command, sizeof command);
		if (sysroot_stat(&d->sysroot, p->path, &st))
			st = (struct stat){0};
		command_gains(&st, user);
		fix(f, "%sgangway run -- %s", user, command);
	} else if (p->kind == PROGRAM_MUSL) {
		f = say(d, WRONG, "%s is made for musl: Gangway's libraries are made for glibc", p->path);
		fix(f, "podman run debian:stable ...  # build it there, for glibc");
	}
}

/* ---- what it is ---- */

static const char *language(const struct program *p, const struct elf_object *o)
{
	if (!strncmp(basename(p->path), "python", 6) || !strncmp(basename(p->path), "pypy", 4))
		return "Python: its packages bring CUDA libraries, which only a start shows";
	if (!strcmp(basename(p->path), "node"))
		return "JavaScript: its packages bring CUDA libraries, which only a start shows";
	if (is_go(o))
		return "written in Go: programs that it starts are reached if it passes its environment on; with one "
		       "made anew, with gangway run --follow-all or after gangway install --system";
	if (elf_object_has_section(o, ".nv_fatbin") || elf_object_has_section(o, "__nv_relfatbin"))
		return "CUDA C++";
	return NULL;
}

/* NVIDIA's runtime inside of a file: it has the runtime's own texts, and asks for the driver by hand. */
static bool has_static_runtime(const struct elf_object *o)
{
	if (o->soname && !strncmp(o->soname, "libcudart", 9))
		return false;
	return elf_object_contains(o, "cudaErrorInvalidValue") && elf_object_contains(o, "libcuda.so.1") &&
	       elf_object_contains(o, "cuGetProcAddress");
}

static void list_names(const struct dlopen_names *s, char *text, size_t size)
{
	size_t used = 0;

	*text = 0;
	for (unsigned i = 0; i < s->n && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", s->name[i]);
}

/* Copies beside the program: in its own folder, in lib, and where its RUNPATH leads. */
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

/* What the file may ask for once it runs, besides what is linked in. */
static void say_names(struct finding *f, const struct closure_part *p)
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
	list_names(&names, text, sizeof text);
	more(f, "Names in %s that it may ask for: %s.", p->name, text);
	if (p->needed_by < 0)
		tell(f, "names", "%s", text);
}

static void say_what(struct doctor *d, const struct program *p, const struct closure *c)
{
	const struct elf_object *o = &c->parts[0]->object;
	struct dlopen_names copies = {0};
	char dir[PATH_MAX], text[2048];
	struct finding *f = say(d, FACT, "%s%s%s", shown(p), *p->script ? ", run by " : "", *p->script ? p->path : "");

	tell(f, "path", "%s", p->path);
	if (language(p, o))
		more(f, "%s%s.", language(p, o), "");
	for (unsigned i = 0; i < c->n; i++)
		if (c->parts[i]->is_open && (!i || c->parts[i]->cuda) && has_static_runtime(&c->parts[i]->object))
			more(f,
				"%s holds CUDA's runtime inside (static cudart): only libcuda.so.1 is asked "
				"for, once it runs.",
				c->parts[i]->name);
	for (unsigned i = 0; i < c->n; i++)
		if (c->parts[i]->is_open && !c->parts[i]->cuda)
			say_names(f, c->parts[i]);
	snprintf(
		dir, sizeof dir, "%.*s", (int)(strrchr(c->parts[0]->path, '/') - c->parts[0]->path), c->parts[0]->path);
	if (strcmp(dir, "/usr/bin") && strcmp(dir, "/bin") && strcmp(dir, "/usr/local/bin"))
		find_bundled(d, dir, &copies);
	if (copies.n) {
		list_names(&copies, text, sizeof text);
		more(f, "Beside it lie copies: %s.", text);
		tell(f, "copies", "%s", text);
	}
}

/* ---- the code it carries ---- */

static struct code_device chosen_device(const struct doctor *d)
{
	const struct device_facts *f = &d->device;

	if (!d->asked || !f->opened || !f->count)
		return (struct code_device){0};
	return (struct code_device){true, (unsigned)f->device[0].major, (unsigned)f->device[0].minor,
		!strncmp(f->device[0].name, "Gangway CPU", 11)};
}

/* NVIDIA's own libraries, and what came built with a package: whoever uses them cannot build them anew. */
static bool is_vendors(const char *name, const char *path)
{
	return (is_cuda_library(name) && strncmp(basename(name), "libggml", 7)) || strstr(path, "/site-packages/") ||
	       strstr(path, "/dist-packages/") || strstr(path, "/node_modules/");
}

static struct finding *say_no_code(struct doctor *d, const char *name, const char *path, const struct code_device *dev,
	const struct code_facts *code)
{
	bool vendors = is_vendors(name, path);
	struct finding *f = say(d, code->suitable || vendors ? LOOK : WRONG,
		"%s has %scode for %s (%u.%u%s): it holds %s", name, code->suitable ? "not all its " : "no ",
		d->device.chosen, dev->major, dev->minor, dev->ptx_only ? ", PTX only" : "", code->text);

	if (code->suitable)
		more(f, "%u of %u pieces can run there.", code->suitable, code->fatbins);
	more(f, "Kernels without code for the device end in CUDA_ERROR_NO_BINARY_FOR_GPU.");
	if (vendors)
		fix(f, "gangway run --on tcp://HOST:PORT -- PROGRAM  # where gangway serve offers a GPU");
	else
		fix(f, "nvcc -gencode arch=compute_%u%u,code=compute_%u%u ...  # or an older compute_", dev->major,
			dev->minor, dev->major, dev->minor);
	return f;
}

static void say_code(struct doctor *d, const char *name, const char *path, const struct code_device *dev,
	const struct code_facts *code)
{
	const char *s = code->fatbins == 1 ? "" : "s";
	struct finding *f;

	if (!dev->known) {
		f = say(d, FACT, "%s has %u piece%s of GPU code: %s", name, code->fatbins, s, code->text);
	} else if (code->suitable < code->fatbins) {
		f = say_no_code(d, name, path, dev, code);
	} else {
		f = say(d, FINE, "%s: %s", name, code->text);
		more(f, "All of it (%u piece%s) can run on %s (%u.%u).", code->fatbins, s, d->device.chosen, dev->major,
			dev->minor);
	}
	if (code->malformed)
		more(f, "A piece of it is malformed.");
	tell(f, "file", "%s", path);
	tell(f, "code", "%s", code->text);
}

/* A file that a process has loaded, unless it was looked at as one that is linked in. */
static void look_at_mapped(struct doctor *d, const char *path)
{
	struct code_device dev = chosen_device(d);
	struct code_facts code;
	struct elf_object o;

	for (unsigned i = 0; i < d->closure.n; i++)
		if (!strcmp(d->closure.parts[i]->path, path))
			return;
	int fd = sysroot_open(&d->sysroot, path);
	if (fd < 0 || elf_object_open(&o, fd)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	close(fd);
	code_read(o.data, o.size, &dev, &code);
	if (code.fatbins)
		say_code(d, basename(path), path, &dev, &code);
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
			say_code(d, p->name, p->path, &dev, &code);
	}
	if (d->subject == ON_PROCESS)
		process_each(d, look_at_mapped);
}

/* ---- all of it ---- */

void probe_program(struct doctor *d)
{
	struct program p;

	if (!*d->program)
		return; /* a process whose program is gone */
	find_subject(d, &p);
	if (cannot_start(d, &p)) {
		d->start = false;
		return;
	}
	if (closure_init(&d->closure, &d->sysroot, p.path, d->ours)) {
		closure_finish(&d->closure);
		may_not_start(d, &p);
		return;
	}
	if (!d->closure.parts[0]->object.library && may_not_start(d, &p))
		return;
	d->go = is_go(&d->closure.parts[0]->object);
	if (d->closure.parts[0]->object.library && p.kind == PROGRAM_STATIC)
		d->start = false; /* a library: looked at like a program */
	else
		no_libraries(d, &p, &d->closure.parts[0]->object);
	for (size_t i = 0; d->static_finding && i < d->nfindings; i++)
		if (!strcmp(d->findings[i].probe, "process")) /* and that is why */
			doctor_settle(&d->findings[i]);
	say_what(d, &p, &d->closure);
}
