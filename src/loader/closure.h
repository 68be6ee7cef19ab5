/*
 * closure.h - a program and all libraries that it needs, found in the way the dynamic loader finds them. Nothing is
 * executed.
 *
 * A library that Gangway provides has two answers: the file that the loader takes now, and the file that it takes
 * under gangway run.
 */
#pragma once

#include "loader/library.h"

#define CLOSURE_MAX 512

struct closure_part {
	char name[256];             /* the name that was requested */
	char path[PATH_MAX];        /* "" if the loader does not find it */
	struct found_library found; /* how it was found */
	bool is_open;               /* `object` is valid */
	struct elf_object object;
	struct requester requester; /* this part, as the requester of others */
	int needed_by;              /* index of the part that needs it first; -1 for the program */
	bool cuda;                  /* is_cuda_library(name) */
	char ours[PATH_MAX];        /* the file that gangway run provides instead; "" if none */
};

struct closure {
	const struct sysroot *sysroot;
	struct closure_part **parts; /* parts[0] is the program */
	unsigned n;
	bool cut; /* parts beyond CLOSURE_MAX are missing */
};

/* `dir` is the folder of Gangway's libraries, or "". Returns 0, or -errno if the program cannot be read. */
int closure_init(struct closure *c, const struct sysroot *sys, const char *program, const char *dir);
void closure_finish(struct closure *c);

/* Is this the file name of CUDA's driver, its runtime, or a library on top of them? */
bool is_cuda_library(const char *name);
