#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "loader/closure.h"

bool is_cuda_library(const char *name)
{
	static const char *const stems[] = {"libcuda.so", "libcudart", "libcublas", "libcudnn", "libcufft", "libcurand",
		"libcusolver", "libcusparse", "libnccl", "libnvrtc", "libnvJitLink", "libnvjitlink", "libnvcuvid",
		"libnvidia-", "libcupti", "libggml-cuda"};

	name = basename(name);
	for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
		if (!strncmp(name, stems[i], strlen(stems[i])))
			return true;
	return false;
}

static bool known(const struct closure *c, const char *name)
{
	for (unsigned i = 0; i < c->n; i++)
		if (!strcmp(c->parts[i]->name, name) || (c->parts[i]->is_open && c->parts[i]->object.soname &&
								!strcmp(c->parts[i]->object.soname, name)))
			return true;
	return false;
}

static int open_part(const struct world *w, struct part *p)
{
	int fd = world_open(w, p->path), err;

	if (fd < 0)
		return fd;
	err = object_open(&p->object, fd);
	close(fd);
	p->is_open = !err;
	p->asker.object = p->is_open ? &p->object : NULL;
	p->asker.path = p->path;
	return err;
}

static struct part *add(struct closure *c, const char *name, int by)
{
	struct part *p = c->n < CLOSURE_MAX ? calloc(1, sizeof *p) : NULL;

	if (!p) {
		c->cut = true;
		return NULL;
	}
	snprintf(p->name, sizeof p->name, "%s", name);
	p->by = by;
	p->asker.by = by >= 0 ? &c->parts[by]->asker : NULL;
	c->parts[c->n++] = p;
	return p;
}

static void find_part(struct closure *c, struct part *p, const char *dir)
{
	static const struct world here;
	struct search s = world_search(c->world);

	p->cuda = is_cuda_library(p->name);
	library_of_ours(&here, dir, &s, p->name, p->ours);
	if (!library_find(&s, p->name, p->asker.by, &p->found))
		return;
	snprintf(p->path, sizeof p->path, "%s", p->found.path);
	open_part(c->world, p);
}

int closure_init(struct closure *c, const struct world *w, const char *program, const char *dir)
{
	struct part *p;
	int err;

	*c = (struct closure){.world = w, .parts = calloc(CLOSURE_MAX, sizeof *c->parts)};
	p = c->parts ? add(c, basename(program), -1) : NULL;
	if (!p)
		return -ENOMEM;
	err = world_real(w, program, p->path);
	err = err ? err : open_part(w, p);
	if (err)
		return err;
	/* In the loader's order: first all that the first needs. */
	for (unsigned i = 0; i < c->n; i++)
		for (unsigned j = 0; c->parts[i]->is_open && j < c->parts[i]->object.nneeded; j++) {
			const char *name = c->parts[i]->object.needed[j];
			if (known(c, name))
				continue;
			p = add(c, name, (int)i);
			if (p)
				find_part(c, p, dir);
		}
	return 0;
}

void closure_finish(struct closure *c)
{
	for (unsigned i = 0; c->parts && i < c->n; i++) {
		object_close(&c->parts[i]->object);
		free(c->parts[i]);
	}
	free(c->parts);
	*c = (struct closure){0};
}
