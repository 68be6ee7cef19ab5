/*
 * manifest.h - what gangway install has written, so that gangway uninstall takes away that and nothing else.
 *
 *	/var/lib/gangway/installed:	gangway-installed 1
 *					folder PATH		made by us, removed when it is empty
 *					file HASH PATH		removed while it has the content we gave it
 *					output PATH		a cache that ldconfig made because of us
 *
 * It is written before the files it names.  It is root's file; still, a line that makes no sense is an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "util/hash.h"

#define MANIFEST       "/var/lib/gangway/installed"
#define MANIFEST_ITEMS 32
#define MANIFEST_PATH  512

struct item {
	char path[MANIFEST_PATH];
	enum item_kind { ITEM_FOLDER, ITEM_FILE, ITEM_OUTPUT } kind;
	char *text; /* what a file will hold; NULL when read from a manifest */
	size_t size;
	uint8_t hash[HASH_BYTES];
};

struct manifest {
	unsigned count;
	struct item items[MANIFEST_ITEMS]; /* a folder before what is in it */
};

/* A file to be, and the folders that it needs and that are not there; text becomes the manifest's.  0 or -errno. */
int manifest_add(struct manifest *m, int root, const char *path, char *text);
int manifest_add_output(struct manifest *m, int root, const char *path); /* unless it is there already */
int manifest_add_folders(struct manifest *m, int root, const char *path); /* those above it */
int manifest_write(const struct manifest *m, int root);
int manifest_read(struct manifest *m, int root); /* -ENOENT: nothing is installed; -EPROTO */
void manifest_free(struct manifest *m);
