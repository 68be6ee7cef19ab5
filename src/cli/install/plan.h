/*
 * plan.h - the files that make Gangway this machine's CUDA driver, and the action for each of them.
 */
#pragma once

#include "cli/install/manifest.h"

#define LD_CACHE     "/etc/ld.so.cache"
#define LD_AUX_CACHE "/var/cache/ldconfig/aux-cache"
#define UNIT_WANTS   "/etc/systemd/system/multi-user.target.wants/gangway.service"

enum action {
	ACTION_NONE, /* exists with the right content */
	ACTION_CREATE,
	ACTION_REPLACE, /* exists, written by another version of ours */
	ACTION_SKIP,    /* not needed; `why` tells the reason */
	ACTION_REFUSE,  /* something is in the way; `why` tells what */
};

struct plan_item {
	const char *path, *what;
	enum action action;
	char *text; /* NULL if skipped */
	char why[PATH_MAX + 128];
};

enum { ITEM_CONF, ITEM_UNIT, ITEM_USERS, ITEM_OLLAMA, ITEMS };

struct plan {
	struct plan_item items[ITEMS];
};

/* `prefix` is the installation as a path inside the system ("/usr/local"). Returns false if out of memory. */
bool plan_init(struct plan *p, struct tree *t, const char *prefix, const struct manifest *m);
void plan_finish(struct plan *p);

/* May a manifest contain this entry? It must be a file of a plan, a folder on the way to one, or a loader cache. */
bool plan_allows_entry(enum entry_kind kind, const char *path);
