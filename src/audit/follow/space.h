/*
 * space.h - dlmopen by path.
 *
 * glibc determines the caller of dlmopen only if its search needs it (for a name without a slash or with a $), and calls
 * no audit library without a caller. So a path to a library that we provide is replaced by its name, and
 * libgangway-audit.so is called.
 */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

bool space_is_replaced(const char *name);
/* Returns our replacement of the function, or `address`. */
uintptr_t space_replace(const char *name, uintptr_t address);
