/* strings.h - names of CUDA's libraries that lie in a file as text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define STRINGS_MAX 24

struct strings {
	unsigned n;
	char name[STRINGS_MAX][256]; /* with the path before it, where there is one */
};

/* Takes one out again: what is linked in is no secret. */
void strings_drop(struct strings *s, const char *name);

/* Adds those of a file to the list, each once. */
void strings_find(const char *data, size_t size, struct strings *s);
