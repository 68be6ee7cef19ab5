/*
 * A compiler for tests, in the place of libgangway-jit.so: whatever the kernel, the result is the object in the file
 * TOY_OBJECT.  A kernel called "refused" is refused.  TOY_LOG receives a line for each compilation; TOY_GATE is a file
 * that a compilation waits for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ptx/jit/jit.h"
#include "ptx/ptx.h"
#include "util/build_note.h"

static void log_compilation(const char *name)
{
	const char *path = getenv("TOY_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%s\n", name);
	fclose(f);
}

static int read_object(struct jit_object *out, char *why, size_t size)
{
	const char *path = getenv("TOY_OBJECT");
	FILE *f = path ? fopen(path, "r") : NULL;
	const size_t room = 1 << 16;

	if (!f) {
		snprintf(why, size, "the toy has no object");
		return -EINVAL;
	}
	out->bytes = malloc(room);
	out->size = out->bytes ? fread(out->bytes, 1, room, f) : 0;
	fclose(f);
	out->entries = calloc(2, sizeof *out->entries);
	out->nentries = 1;
	out->nsites = 3;
	return out->size && out->entries ? 0 : -ENOMEM;
}

static int toy_compile(const struct jit_request *r, struct jit_object *out, char *why, size_t size)
{
	const char *gate = getenv("TOY_GATE");
	struct timespec t = {.tv_nsec = 1000000};

	*out = (struct jit_object){0};
	log_compilation(r->f->name);
	while (gate && access(gate, F_OK))
		nanosleep(&t, NULL);
	if (!strcmp(r->f->name, "refused")) {
		snprintf(why, size, "the toy compiler refuses this kernel");
		return -ENOTSUP;
	}
	return read_object(out, why, size);
}

extern const struct jit_compiler gangway_jit;
__attribute__((visibility("default"))) const struct jit_compiler gangway_jit = {build_note_text, "toy", toy_compile};
