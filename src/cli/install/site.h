/* site.h - what `gangway install` and `gangway uninstall` have in common: a system, what was installed there, and the word to go on. */
#pragma once

#include "cli/install/manifest.h"

struct site {
	struct tree tree;
	char root[PATH_MAX]; /* of the system, "/" for this one */
	struct manifest manifest;
	bool system, yes; /* options */
};

/* Reads the options (--system only where it is taken) and opens the system; -1: go on, otherwise the exit status. */
int site_open(struct site *s, int argc, char **argv, const char *usage, bool takes_system);
void site_close(struct site *s);
bool site_is_here(const struct site *s);

/* What was installed before: 0, -ENOENT: nothing, or 1 and it has been said why not. */
int site_read_manifest(struct site *s);

/* The line of what will be run; `more` may follow. */
void site_show_run(const struct site *s, const char *more);

/* With --yes: has `apply` done, by one process at a time.  Without: says that nothing was changed. */
int site_go_on(struct site *s, int (*apply)(struct site *s));

/* Says why a path of the system is not to be had; 1. */
int site_fail(const struct site *s, const char *path, int error);
