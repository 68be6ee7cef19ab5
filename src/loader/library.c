/* Inspect a library file: who built it, and what it says about itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "loader/library.h"
#include "util/build_note.h"

/* Every known driver is larger than this, and every known stub is smaller. */
#define STUB_BYTES (256 << 10)

static bool is_in_stubs_folder(const char *path)
{
	return strstr(path, "/stubs/");
}

static bool is_driver_name(const char *name)
{
	return !strncmp(name, "libcuda.so", 10) || !strncmp(name, "libnvidia-ml.so", 15);
}

/* The version in libcuda.so.580.65.06; "" for libcuda.so.1. */
static void version_from_name(const char *real, char version[64])
{
	const char *so = strstr(basename(real), ".so.");

	version[0] = 0;
	if (so && strchr(so + 4, '.'))
		snprintf(version, 64, "%s", so + 4);
}

/* Does the file have a driver's name without a function that every driver has? */
static bool is_impostor(const char *path, const struct elf_object *o)
{
	const char *name = basename(path);

	return (!strncmp(name, "libcuda.so", 10) && !elf_object_exports(o, "cuInit")) ||
	       (!strncmp(name, "libnvidia-ml.so", 15) && !elf_object_exports(o, "nvmlInit_v2"));
}

static enum library_maker library_find_maker(const struct library *l)
{
	const char *name = l->soname[0] ? l->soname : basename(l->real);

	if (strstr(l->build, "stub") ||
		(!l->build[0] && is_driver_name(name) && (is_in_stubs_folder(l->real) || l->size < STUB_BYTES)))
		return MAKER_STUB;
	if (!l->build[0])
		return MAKER_VENDOR;
	return strcmp(l->build, build_note_text) ? MAKER_OTHER_BUILD : MAKER_THIS_BUILD;
}

static void library_copy_facts(struct library *l, const struct elf_object *o)
{
	size_t used = 0;

	snprintf(l->soname, sizeof l->soname, "%s", o->soname ? o->soname : "");
	snprintf(l->build_id, sizeof l->build_id, "%s", o->build_id);
	for (unsigned i = 0; i < o->nnodes && used < sizeof l->nodes; i++)
		used += (size_t)snprintf(l->nodes + used, sizeof l->nodes - used, "%s%s", i ? " " : "", o->nodes[i]);
	l->size = o->size;
}

int library_inspect(const struct sysroot *sys, const char *path, struct library *l)
{
	char outside[PATH_MAX];
	struct elf_object o;
	int err, fd;

	*l = (struct library){0};
	err = sysroot_real(sys, path, l->real);
	if (err)
		return err;
	fd = sysroot_open(sys, path);
	if (fd < 0)
		return fd;
	err = elf_object_open(&o, fd);
	close(fd);
	if (err)
		return err;
	bool impostor = false;
	if (o.native && o.dynamic)
		library_copy_facts(l, &o), impostor = is_impostor(path, &o);
	else
		err = o.native ? -EINVAL : -ENOEXEC;
	elf_object_close(&o);
	if (err)
		return err;
	if (sysroot_outside(sys, path, outside) || !build_note_read(outside, l->build, sizeof l->build))
		l->build[0] = 0;
	version_from_name(l->real, l->version);
	l->maker = library_find_maker(l);
	if (l->maker == MAKER_VENDOR && impostor)
		l->maker = MAKER_NOT_A_DRIVER;
	return 0;
}

char *library_describe(const struct library *l, char *text, size_t size)
{
	switch (l->maker) {
	case MAKER_THIS_BUILD:
		snprintf(text, size, "Gangway's, from this build");
		break;
	case MAKER_OTHER_BUILD:
		snprintf(text, size, "Gangway's, from another build: %s", l->build);
		break;
	case MAKER_STUB:
		snprintf(text, size, "a stub, for linking only");
		break;
	case MAKER_NOT_A_DRIVER:
		snprintf(text, size, "not a driver");
		break;
	case MAKER_VENDOR:
		snprintf(text, size, "not Gangway's%s%s", l->version[0] ? ", version " : "", l->version);
		break;
	}
	return text;
}
