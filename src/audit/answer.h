/* answer.h - decides whether a requested library is redirected, and to which file; see names.h. */
#pragma once

#include <stdbool.h>
#include "audit/base.h"

#define ANSWER_PATH (AUDIT_PATH + 64)

extern char answer_dir[AUDIT_PATH]; /* the folder of our libraries */

/* Read the environment. Returns false if LD_AUDIT does not name our folder. */
bool answer_start(void);

enum answer {
	ANSWER_OTHER,  /* not a library that we provide */
	ANSWER_KEPT,   /* excluded by GANGWAY_KEEP */
	ANSWER_ABSENT, /* not contained in this installation */
	ANSWER_OURS,   /* redirected to `file` */
};
enum answer answer_to(const char *name, char file[ANSWER_PATH]);

/*
 * True if the path is in the last of the loader's folders, so after everything else, and names a library that the machine
 * has in none of those folders and for which we have a replacement; `file` is the replacement.
 */
bool answer_fallback(const char *path, char file[ANSWER_PATH]);
