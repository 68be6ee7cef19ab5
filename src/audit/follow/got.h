/*
 * got.h - function addresses that an object stores without a PLT (-fno-plt, as in Rust's library, and pointers in data).
 *
 * ld.so calls la_symbind only for relocations of calls. So if an object that is mapped but not yet relocated needs the
 * address of a function that we replace, its relocation is changed into one for a call: ld.so then resolves the same
 * function in the same way, stores it in the same place, and calls la_symbind. Only the type of that relocation in this
 * process's copy of the table is written; the protection of its page is restored.
 *
 * The object is untrusted: nothing outside of its segments is read. An object with program headers in an unusual place, or
 * with a page that cannot be made writable, is left alone.
 */
#pragma once

#include <link.h>
#include <stdbool.h>

void got_redirect(const struct link_map *map, bool (*is_replaced)(const char *name));
