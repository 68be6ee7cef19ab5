/* answer.h - whether a name that the loader is asked for is ours to answer, and by which file: see names.h. */
#pragma once

#include <stdbool.h>
#include "audit/base.h"

#define ANSWER_PATH (AUDIT_PATH + 64)

extern char answer_dir[AUDIT_PATH]; /* where our libraries are */

/* Looks at the environment; false: LD_AUDIT does not say where our libraries are. */
bool answer_start(void);

enum answer {
	ANSWER_OTHER,  /* no library of ours */
	ANSWER_KEPT,   /* the user wants the application's */
	ANSWER_ABSENT, /* not in this build */
	ANSWER_OURS,   /* `file` is the one */
};
enum answer answer_to(const char *name, char file[ANSWER_PATH]);
