/* ldconf.h - /etc/ld.so.conf: the folders that ldconfig adds to the loader's cache. */
#pragma once

#include "loader/sysroot.h"

/* Call `each` for every folder named by /etc/ld.so.conf or by a file that it includes. */
typedef void ldconf_fn(void *arg, const char *file, const char *dir);
void ldconf_each(const struct sysroot *sys, ldconf_fn *each, void *arg);

/* Find the configuration file that names a folder. Returns false if there is none. */
bool ldconf_find(const struct sysroot *sys, const char *dir, char file[PATH_MAX]);
