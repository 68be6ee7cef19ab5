/* symbol.h - where an object that the loader has mapped defines a symbol, from its own tables.  The object is trusted. */
#pragma once

#include <link.h>

/* glibc has turned most offsets in the dynamic section into addresses by now, but not on every machine. */
static inline const void *dynamic_address(const struct link_map *map, const ElfW(Dyn) *d)
{
	return (const void *)(d->d_un.d_ptr < map->l_addr ? d->d_un.d_ptr + map->l_addr : d->d_un.d_ptr);
}

void *symbol_find(const struct link_map *map, const char *name); /* or NULL */
