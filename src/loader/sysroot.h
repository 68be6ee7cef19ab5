/*
 * sysroot.h - a view of a system: its files and an environment. The system is this machine, a folder that holds
 * another system (a chroot, a container image, a test fixture), or whatever a given process sees.
 *
 * Paths are paths inside the system: absolute symbolic links resolve below its root, and .. stops there. Files are
 * opened only if they are regular files, because opening a pipe or a device could block.
 */
#pragma once

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct sysroot {
	char root[PATH_MAX]; /* "" for this machine */
	char **environment;  /* NAME=VALUE strings, terminated by NULL */
	void *owned;         /* the text of the environment if sysroot_finish must free it */
	pid_t pid;           /* the process whose view this is, or 0 */
};

/* View the system below `root` (NULL: this machine) with our own environment. Returns 0 or -errno. */
int sysroot_init(struct sysroot *sys, const char *root);

/* View the files and the environment of process `pid`. Returns 0 or -errno. */
int sysroot_init_process(struct sysroot *sys, pid_t pid);
void sysroot_finish(struct sysroot *sys);

/* Convert a path read from /proc/PID to the path that the process itself uses, in place. */
void sysroot_from_proc(const struct sysroot *sys, char *path);

const char *sysroot_env(const struct sysroot *sys, const char *name); /* NULL if unset */

/* Resolve all symbolic links; the result is a path inside the system. Returns 0 or -errno (-ENOENT, -ELOOP, ...). */
int sysroot_real(const struct sysroot *sys, const char *path, char real[PATH_MAX]);

/* Resolve `path` to the path that this process can pass to open(). Returns 0 or -errno. */
int sysroot_outside(const struct sysroot *sys, const char *path, char outside[PATH_MAX]);

int sysroot_stat(const struct sysroot *sys, const char *path, struct stat *st); /* 0 or -errno */
bool sysroot_is_file(const struct sysroot *sys, const char *path);
bool sysroot_is_dir(const struct sysroot *sys, const char *path);
int sysroot_open(const struct sysroot *sys, const char *path);  /* descriptor of a regular file, or -errno */
DIR *sysroot_list(const struct sysroot *sys, const char *path); /* NULL if the folder cannot be read */

/* Read a small file into `text`, NUL-terminated and cut at size - 1 bytes. Returns its length or -errno. */
ssize_t sysroot_read(const struct sysroot *sys, const char *path, char *text, size_t size);
