/* system.h - what gangway install and gangway uninstall share. */
#pragma once

#include <stdbool.h>

struct system_request {
	const char *root; /* "/" unless told */
	bool system, yes, help;
};

/* --system, --root DIR, --yes, --help; 0 or the exit status. */
int system_options(const char *command, int argc, char **argv, struct system_request *q);

/* The loader's cache anew; 0, or having said why not. */
int system_ldconfig(const char *root);

/* systemd reads its units again, where it runs. */
void system_reload(const char *root);

/* A sentence about an error of tree.h's. */
int system_fail(int err, const char *root, const char *path);
