/* refresh.h - what has to be told after files were written or removed: the loader's cache, and systemd. */
#pragma once

#include "cli/install/tree.h"

/* ldconfig over the whole tree: 0, or 1 and it has been said why. */
int refresh_loader(struct tree *t);

/* systemd reads its units again, if it runs this very system; that it does not is no failure. */
void refresh_systemd(struct tree *t);
bool refresh_has_systemd(struct tree *t);

/* The file that the cache of the tree has first for a name; "": none. */
void refresh_cached(struct tree *t, const char *name, char *path, size_t size);
