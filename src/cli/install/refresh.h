/* refresh.h - update the loader's cache and systemd after files were written or removed. */
#pragma once

#include "cli/install/tree.h"

/* Run ldconfig for the tree. Returns 0, or 1 after printing an error. */
int refresh_loader(struct tree *t);

/* Let systemd reload its units, if the tree is this machine and systemd runs it. */
void refresh_systemd(struct tree *t);
bool refresh_has_systemd(struct tree *t);

/* Look up a library name in the loader's cache of the tree; "" if there is no entry. */
void loader_cache_lookup(struct tree *t, const char *name, char *path, size_t size);
