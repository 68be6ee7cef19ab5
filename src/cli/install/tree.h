/*
 * tree.h - files below a root folder, "/" or that of a system being put together.
 *
 * Paths start with a slash and are taken from the root.  No component may be a symbolic link, nor anything but a
 * folder: a link may lead to another's file, or out of the root.  What is written is there whole or not at
 * all, and takes the place of a file only where that is asked for.  Functions return 0 or a negative errno;
 * -ELOOP is a link in the way, and tree_link says which.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct tree {
	int fd;
	const char *root;
	char link[PATH_MAX]; /* the last one that was in the way */
};

int tree_open(struct tree *t, const char *root);
void tree_close(struct tree *t);

/* One at a time: -EBUSY while another process has it. */
int tree_lock(struct tree *t);

/* As lstat. */
int tree_look(struct tree *t, const char *path, struct stat *st);

/* A plain file of up to `most` bytes, as text that is to be freed. */
int tree_read(struct tree *t, const char *path, size_t most, char **text, size_t *size);

/* Mode 0644; -EEXIST if something is there, unless it is to be replaced. */
int tree_write(struct tree *t, const char *path, const char *text, size_t size, bool replace);

int tree_mkdir(struct tree *t, const char *path); /* 0755; -EEXIST: it is there */
int tree_remove(struct tree *t, const char *path);
int tree_rmdir(struct tree *t, const char *path);

/* "/etc/x: Permission denied", "/etc/x: /etc is a symbolic link". */
const char *tree_why(const struct tree *t, const char *path, int error, char *text, size_t size);
