/* site.h - the system that `gangway install` and `gangway uninstall` change: its files, the manifest, the options. */
#pragma once

#include "cli/install/manifest.h"

struct site {
	struct tree tree;
	char root[PATH_MAX]; /* of the system; "/" for this machine */
	struct manifest manifest;
	bool system, yes; /* options */
};

/* Read the options and open the system. Returns -1 to continue, otherwise the exit status. */
int site_open(struct site *s, int argc, char **argv, const char *usage, bool takes_system);
void site_close(struct site *s);
bool site_is_this_machine(const struct site *s);

/* Read what was installed before. Returns 0, -ENOENT if nothing was, or 1 after printing an error. */
int site_read_manifest(struct site *s);

/* Print the line of the plan that shows the commands to run: ldconfig, and `more`. */
void site_show_run(const struct site *s, const char *more);

/* With --yes, call `apply` under a lock against other processes; otherwise print that nothing was changed. */
int site_apply(struct site *s, int (*apply)(struct site *s));

/* Print the error for a path of the system. Returns 1. */
int site_fail(const struct site *s, const char *path, int error);
