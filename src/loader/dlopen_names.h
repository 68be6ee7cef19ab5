/* dlopen_names.h - names of CUDA libraries that a file contains as text, and may therefore pass to dlopen(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define DLOPEN_NAMES_MAX 24

struct dlopen_names {
	unsigned n;
	char name[DLOPEN_NAMES_MAX][256]; /* with the path in front of it, if the file has one */
};

/* Add the names found in the bytes of a file, each once. */
void dlopen_names_scan(const char *data, size_t size, struct dlopen_names *names);

/* Remove a name, for example one that the file also lists as DT_NEEDED. */
void dlopen_names_remove(struct dlopen_names *names, const char *name);
