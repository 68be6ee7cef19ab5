/* symbol.h - look up a symbol in an object that the loader has mapped. The object is trusted. */
#pragma once

#include <link.h>

/* glibc has already converted most offsets in the dynamic section to addresses, but not on every machine. */
static inline const void *dynamic_address(const struct link_map *map, const ElfW(Dyn) *d)
{
	return (const void *)(d->d_un.d_ptr < map->l_addr ? d->d_un.d_ptr + map->l_addr : d->d_un.d_ptr);
}

void *symbol_find(const struct link_map *map, const char *name); /* or NULL */
