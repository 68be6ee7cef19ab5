/* Build the closure of a program: breadth first, in the order in which the loader loads libraries. */
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

static bool closure_has(const struct closure *c, const char *name)
{
	for (unsigned i = 0; i < c->n; i++)
		if (!strcmp(c->parts[i]->name, name) || (c->parts[i]->is_open && c->parts[i]->object.soname &&
								!strcmp(c->parts[i]->object.soname, name)))
			return true;
	return false;
}

static int part_open(const struct sysroot *sys, struct closure_part *p)
{
	int fd = sysroot_open(sys, p->path), err;

	if (fd < 0)
		return fd;
	err = elf_object_open(&p->object, fd);
	close(fd);
	p->is_open = !err;
	p->requester.object = p->is_open ? &p->object : NULL;
	p->requester.path = p->path;
	return err;
}

static struct closure_part *closure_add(struct closure *c, const char *name, int needed_by)
{
	struct closure_part *p = c->n < CLOSURE_MAX ? calloc(1, sizeof *p) : NULL;

	if (!p) {
		c->cut = true;
		return NULL;
	}
	snprintf(p->name, sizeof p->name, "%s", name);
	p->needed_by = needed_by;
	p->requester.by = needed_by >= 0 ? &c->parts[needed_by]->requester : NULL;
	c->parts[c->n++] = p;
	return p;
}

static void part_locate(struct closure *c, struct closure_part *p, const char *dir)
{
	static const struct sysroot this_machine;
	struct library_search s = library_search_from(c->sysroot);

	p->cuda = is_cuda_library(p->name);
	library_replacement(&this_machine, dir, &s, p->name, p->ours);
	if (!library_find(&s, p->name, p->requester.by, &p->found))
		return;
	snprintf(p->path, sizeof p->path, "%s", p->found.path);
	part_open(c->sysroot, p);
}

int closure_init(struct closure *c, const struct sysroot *sys, const char *program, const char *dir)
{
	struct closure_part *p;
	int err;

	*c = (struct closure){.sysroot = sys, .parts = calloc(CLOSURE_MAX, sizeof *c->parts)};
	p = c->parts ? closure_add(c, basename(program), -1) : NULL;
	if (!p)
		return -ENOMEM;
	err = sysroot_real(sys, program, p->path);
	err = err ? err : part_open(sys, p);
	if (err)
		return err;
	for (unsigned i = 0; i < c->n; i++)
		for (unsigned j = 0; c->parts[i]->is_open && j < c->parts[i]->object.nneeded; j++) {
			const char *name = c->parts[i]->object.needed[j];
			if (closure_has(c, name))
				continue;
			p = closure_add(c, name, (int)i);
			if (p)
				part_locate(c, p, dir);
		}
	return 0;
}

void closure_finish(struct closure *c)
{
	for (unsigned i = 0; c->parts && i < c->n; i++) {
		elf_object_close(&c->parts[i]->object);
		free(c->parts[i]);
	}
	free(c->parts);
	*c = (struct closure){0};
}
