#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "loader/library.h"
#include "util/build_note.h"

/* Nobody's driver is smaller, and nobody's stub is larger. */
#define STUB_BYTES (256 << 10)

/* .../stubs/libcuda.so.1 */
static bool in_stubs(const char *path)
{
	return strstr(path, "/stubs/");
}

static bool is_driver(const char *name)
{
	return !strncmp(name, "libcuda.so", 10) || !strncmp(name, "libnvidia-ml.so", 15);
}

/* libcuda.so.580.65.06, but not libcuda.so.1 */
static void version_of(const char *real, char version[64])
{
	const char *so = strstr(basename(real), ".so.");

	version[0] = 0;
	if (so && strchr(so + 4, '.'))
		snprintf(version, 64, "%s", so + 4);
}

static enum maker maker_of(const struct library *l)
{
	const char *name = l->soname[0] ? l->soname : basename(l->real);

	if (strstr(l->build, "stub") ||
		(!l->build[0] && is_driver(name) && (in_stubs(l->real) || l->size < STUB_BYTES)))
		return MADE_FOR_LINKING;
	if (!l->build[0])
		return MADE_BY_VENDOR;
	return strcmp(l->build, note_build) ? MADE_BY_OTHER_BUILD : MADE_BY_US;
}

static void read_object(struct library *l, const struct object *o)
{
	size_t used = 0;

	snprintf(l->soname, sizeof l->soname, "%s", o->soname ? o->soname : "");
	snprintf(l->build_id, sizeof l->build_id, "%s", o->build_id);
	for (unsigned i = 0; i < o->nnodes && used < sizeof l->nodes; i++)
		used += (size_t)snprintf(l->nodes + used, sizeof l->nodes - used, "%s%s", i ? " " : "", o->nodes[i]);
	l->size = o->size;
}

int library_look(const struct world *w, const char *path, struct library *l)
{
	char outside[PATH_MAX];
	struct object o;
	int err = world_real(w, path, l->real), fd;

	*l = (struct library){0};
	err = world_real(w, path, l->real);
	if (err)
		return err;
	fd = world_open(w, path);
	if (fd < 0)
		return fd;
	err = object_open(&o, fd);
	close(fd);
	if (err)
		return err;
	if (o.native && o.dynamic)
		read_object(l, &o);
	else
		err = o.native ? -EINVAL : -ENOEXEC;
	object_close(&o);
	if (err)
		return err;
	if (world_outside(w, path, outside) || !note_read(outside, l->build, sizeof l->build))
		l->build[0] = 0;
	version_of(l->real, l->version);
	l->maker = maker_of(l);
	return 0;
}

char *library_describe(const struct library *l, char *text, size_t size)
{
	switch (l->maker) {
	case MADE_BY_US:
		snprintf(text, size, "ours, this build");
		break;
	case MADE_BY_OTHER_BUILD:
		snprintf(text, size, "ours, another build: %s", l->build);
		break;
	case MADE_FOR_LINKING:
		snprintf(text, size, "a stub, for linking only");
		break;
	case MADE_BY_VENDOR:
		snprintf(text, size, "not ours%s%s", l->version[0] ? ": " : "", l->version);
		break;
	}
	return text;
}
