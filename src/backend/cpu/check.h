/*
 * check.h - gangway run --check: the options of the checked mode, its messages, and the summary at the end.
 *
 * GANGWAY_CHECK is a list of words separated by commas: memory (always on), init, race, leaks, all; 1 means
 * memory,init,race.  Each faulty instruction gets one message on standard error, at once; further errors of its kind
 * are counted for the summary, which is printed when the process exits.  If there were errors and the process would
 * exit with 0, it exits with CHECK_EXIT.
 */
#pragma once

#include <stddef.h>

#include "ptx/interp/checked.h"

enum { CHECK_EXIT = 86 };

/* Reads GANGWAY_CHECK. False: it is invalid, and `why` says so. */
bool check_begin(char *why, size_t size);
const struct interp_checks *check_callbacks(void); /* NULL: the mode is off */
