/* symbol.h - where an object that the loader has mapped defines a symbol, from its own tables.  The object is trusted. */
#pragma once

#include <link.h>

void *symbol_find(const struct link_map *map, const char *name); /* or NULL */
