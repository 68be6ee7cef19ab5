/*
 * tree.h - files below a root folder: "/", or the root of a system that is being built.
 *
 * Paths start with a slash and are relative to the root. No component may be a symbolic link, because a link may lead
 * to somebody else's file or out of the root. Files are written atomically, and replace an existing file only on
 * request. Functions return 0 or -errno; for -ELOOP, the field `link` names the symbolic link.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct tree {
	int fd;
	const char *root;
	char link[PATH_MAX]; /* the symbolic link of the last -ELOOP */
};

int tree_open(struct tree *t, const char *root);
void tree_close(struct tree *t);

/* Lock against other processes. Returns -EBUSY if another process has the lock. */
int tree_lock(struct tree *t);

int tree_lstat(struct tree *t, const char *path, struct stat *st);

/* Read a regular file of up to `most` bytes. The caller frees *text. */
int tree_read(struct tree *t, const char *path, size_t most, char **text, size_t *size);

/* Write a file with mode 0644. Returns -EEXIST if the name exists and `replace` is false. */
int tree_write(struct tree *t, const char *path, const char *text, size_t size, bool replace);

int tree_mkdir(struct tree *t, const char *path); /* mode 0755 */
int tree_remove(struct tree *t, const char *path);
int tree_rmdir(struct tree *t, const char *path);

/* Format an error: "/etc/x: Permission denied", "/etc/x: /etc is a symbolic link". Returns `text`. */
const char *tree_error_text(const struct tree *t, const char *path, int error, char *text, size_t size);
