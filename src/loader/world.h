/*
 * world.h - whose files and environment are looked at: this machine's, those under a folder (a chroot, an
 * image, a set-up that a test made), or a process's.
 *
 * Paths are the world's own: absolute links lead to its own root, and .. stops there.  Only regular files are
 * opened for reading, so that a pipe or a device lying in the way is nothing to wait for.
 */
#pragma once

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct world {
	char root[PATH_MAX]; /* "" for this machine's own */
	char **environment;  /* NAME=VALUE, ended by NULL */
	void *owned;         /* its memory, where it is not ours */
	pid_t pid;           /* the process in question; 0: none */
};

/* 0 or -errno.  `root` may be NULL; the environment is ours. */
int world_init(struct world *w, const char *root);

/* As process `pid` sees it. */
int world_init_process(struct world *w, pid_t pid);
/* A path that /proc has for the process becomes one of its own. */
void world_from_proc(const struct world *w, char *path);
void world_finish(struct world *w);

const char *world_env(const struct world *w, const char *name); /* NULL if unset */

/* `path` without links, as the world names it.  -errno: -ENOENT, -ELOOP, ... */
int world_real(const struct world *w, const char *path, char real[PATH_MAX]);

/* `path` as we name it: to be given to open and its like. */
int world_outside(const struct world *w, const char *path, char outside[PATH_MAX]);

int world_stat(const struct world *w, const char *path, struct stat *st); /* 0 or -errno */
bool world_is_file(const struct world *w, const char *path);
bool world_is_dir(const struct world *w, const char *path);
int world_open(const struct world *w, const char *path);  /* a regular file's descriptor, or -errno */
DIR *world_list(const struct world *w, const char *path); /* NULL: none */

/* A whole small file, terminated; cut at size - 1.  Its length, or -errno. */
ssize_t world_read(const struct world *w, const char *path, char *text, size_t size);
