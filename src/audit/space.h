/*
 * space.h - dlmopen by a path.
 *
 * glibc looks for the caller of dlmopen only where it needs it for its search (a name without a slash, or one
 * with a $), and without a caller it asks no audit library.  So a path that ends in a name of ours is handed on
 * as that name, and libgangway-audit.so is asked.
 */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

bool space_is_replaced(const char *name);
/* The function to call in place of `name` at `address`: ours, or that one. */
uintptr_t space_replace(const char *name, uintptr_t address);
