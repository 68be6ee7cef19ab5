/*
 * plan.h - the files that make Gangway this machine's CUDA driver, and what has to be done to have them there.
 */
#pragma once

#include "cli/install/manifest.h"

#define LD_CACHE     "/etc/ld.so.cache"
#define LD_AUX_CACHE "/var/cache/ldconfig/aux-cache"
#define UNIT_WANTS   "/etc/systemd/system/multi-user.target.wants/gangway.service"

enum action {
	ACTION_NONE, /* it is there, as we wrote it */
	ACTION_CREATE,
	ACTION_REPLACE, /* it is ours, of another version */
	ACTION_SKIP,    /* not needed here: `why` */
	ACTION_REFUSE,  /* in the way: `why` */
};

struct item {
	const char *path, *what;
	enum action action;
	char *text; /* NULL where it is skipped */
	char why[PATH_MAX + 128];
};

enum { ITEM_CONF, ITEM_UNIT, ITEM_USERS, ITEM_OLLAMA, ITEMS };

struct plan {
	struct item items[ITEMS];
};

/* `prefix` is the installation, as seen from the root ("/usr/local"); false: out of memory. */
bool plan_make(struct plan *p, struct tree *t, const char *prefix, const struct manifest *m);
void plan_free(struct plan *p);

/* Such a thing may stand in a manifest: a file of a plan, a folder on the way to one, a cache. */
bool plan_may_hold(enum entry_kind kind, const char *path);
