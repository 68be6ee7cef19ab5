/*
 * tree.h - files below a root folder, written and removed with care.
 *
 * Paths are absolute and mean what lies below the root.  No symbolic link is followed on the way or at the end,
 * nothing that exists is replaced, and only regular files are read or removed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A descriptor of the root folder, or -errno. */
int tree_open(const char *root);

/* 1: it is there; 0: it is not; -ELOOP: a link is in the way; -errno. */
int tree_exists(int root, const char *path);

/* All of a regular file, terminated; the caller's to free.  0 or -errno; -EFBIG beyond 1 MiB. */
int tree_read(int root, const char *path, char **text, size_t *size);

/* Mode 0644.  Missing folders are made. */
int tree_write(int root, const char *path, const char *text, size_t size);
int tree_remove(int root, const char *path);
int tree_remove_folder(int root, const char *path); /* if it is empty */
