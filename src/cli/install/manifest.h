/*
 * manifest.h - the list of what `gangway install` wrote, so that `gangway uninstall` removes exactly that.
 *
 *	gangway manifest 1
 *	folder /etc/systemd/system/ollama.service.d
 *	file 6b86b273... /etc/ld.so.conf.d/000-gangway.conf
 *	made /etc/ld.so.cache
 *
 * `folder` is a folder that did not exist before. `file` is identified by the hash of its content: a changed file is no
 * longer ours. `made` is a cache that ldconfig created and that did not exist before. The list is written before the
 * changes that it describes. Its content is untrusted: only paths that a plan can contain are accepted.
 */
#pragma once

#include <stdbool.h>
#include "cli/install/tree.h"
#include "util/hash.h"

#define MANIFEST_FOLDER      "/var/lib/gangway"
#define MANIFEST_FILE        MANIFEST_FOLDER "/installed"
#define MANIFEST_ENTRIES_MAX 64

enum entry_kind { ENTRY_FOLDER, ENTRY_FILE, ENTRY_MADE };

struct manifest_entry {
	enum entry_kind kind;
	uint8_t hash[HASH_BYTES]; /* for ENTRY_FILE */
	char path[256];
};

struct manifest {
	struct manifest_entry entries[MANIFEST_ENTRIES_MAX];
	unsigned count;
};

/* Returns 0, -ENOENT if there is no list, -EINVAL if it is not a valid list, or another -errno. */
int manifest_read(struct tree *t, struct manifest *m);
int manifest_write(struct tree *t, const struct manifest *m);

/* Parse untrusted text. Returns false if it is not a valid list. */
bool manifest_parse(const char *text, struct manifest *m);

/* Add an entry unless it is already in the list. Returns false if there is no room. */
bool manifest_add(struct manifest *m, enum entry_kind kind, const char *path, const uint8_t *hash);

/* Did we write this content to this file? */
bool manifest_has(const struct manifest *m, const char *path, const char *text, size_t size);
