/*
 * got.h - addresses of functions that an object keeps without a PLT (-fno-plt, as Rust's library is made, and
 * pointers in data).
 *
 * ld.so tells la_symbind of relocations for calls only.  So where an object that it has mapped and not yet
 * relocated asks for the address of a function of ours, that relocation is made one for a call: ld.so then finds
 * the same function in the same way, stores it in the same place, and tells.  What is written is the kind of that
 * relocation in this process's copy of the table; its page is as it was protected before, then.
 *
 * The object may be anything that ld.so maps: nothing outside of its segments is read.  One whose program headers
 * are not where they are usual, or whose page may not be written, is left as it is.
 */
#pragma once

#include <link.h>
#include <stdbool.h>

void got_look_at(const struct link_map *map, bool (*is_replaced)(const char *name));
