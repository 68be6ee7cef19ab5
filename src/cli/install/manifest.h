/*
 * manifest.h - what `gangway install` has written, so that `gangway uninstall` takes away that and no more.
 *
 *	gangway manifest 1
 *	folder /etc/systemd/system/ollama.service.d
 *	file 6b86b273... /etc/ld.so.conf.d/000-gangway.conf
 *	made /etc/ld.so.cache
 *
 * A folder is one that was not there before.  A file is known by its content: a changed one is not ours any
 * more.  `made` is what ldconfig made, where there was none.  It is written before what it tells of is done.
 * Not trusted: only paths that a plan can hold are taken from it.
 */
#pragma once

#include <stdbool.h>
#include "cli/install/tree.h"
#include "util/hash.h"

#define MANIFEST_FOLDER "/var/lib/gangway"
#define MANIFEST_FILE   MANIFEST_FOLDER "/installed"
#define MANIFEST_MOST   64

enum entry_kind { ENTRY_FOLDER, ENTRY_FILE, ENTRY_MADE };

struct entry {
	enum entry_kind kind;
	uint8_t hash[HASH_BYTES]; /* of a file */
	char path[256];
};

struct manifest {
	struct entry entries[MANIFEST_MOST];
	unsigned count;
};

/* 0, -ENOENT: none, -EINVAL: not one of ours; or what reading it met. */
int manifest_read(struct tree *t, struct manifest *m);
int manifest_write(struct tree *t, const struct manifest *m);

/* Text that came from anywhere; false: not a manifest. */
bool manifest_parse(const char *text, struct manifest *m);

/* False: no room.  What is in it already is not added again. */
bool manifest_add(struct manifest *m, enum entry_kind kind, const char *path, const uint8_t *hash);

/* We wrote this content there. */
bool manifest_has(const struct manifest *m, const char *path, const char *text, size_t size);
