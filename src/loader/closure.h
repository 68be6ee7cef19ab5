/*
 * closure.h - a program and all libraries it needs, found as the loader would find them, without starting
 * anything.
 *
 * Two answers for a library that is ours to answer for: what the loader takes as things are, and the file of
 * ours that gangway run would give.
 */
#pragma once

#include "loader/library.h"

#define CLOSURE_MAX 512

struct part {
	char name[256];      /* as it was asked for */
	char path[PATH_MAX]; /* "": not found */
	struct found found;
	bool is_open;
	struct object object;
	struct asker asker;  /* itself, as one that asks */
	int by;              /* who asked for it; -1: it is the program */
	bool cuda;           /* one of the libraries that this is about */
	char ours[PATH_MAX]; /* the file that gangway run gives in its place; "": none */
};

struct closure {
	const struct world *world;
	struct part **parts; /* the program is the first */
	unsigned n;
	bool cut; /* there was more */
};

/* `dir`: where our libraries are, or "".  0 or -errno: the program cannot be read. */
int closure_init(struct closure *c, const struct world *w, const char *program, const char *dir);
void closure_finish(struct closure *c);

/* Is it one of the libraries around CUDA, by its name? */
bool is_cuda_library(const char *name);
