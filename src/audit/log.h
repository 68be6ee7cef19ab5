/*
 * log.h - what was asked of the loader, for `gangway doctor` and for people: GANGWAY_AUDIT_LOG.
 *
 * The value is a descriptor's number, or a file to append to.  One line an event, fields with tabs between;
 * in a field, backslash and control characters stand as \xNN.  The second field is the process.
 *
 *	start	PID	PROGRAM
 *	asked	PID	NAME	BY	HOW	ANSWER
 *	loaded	PID	PATH	FOUND	NAMESPACE
 *
 * BY is the object that asks, "-" the program itself.  HOW: "other" is no library of ours, "redirected" went
 * to ANSWER, "ours" was our file already, "kept" the user wants kept (GANGWAY_KEEP), "own" was asked for by
 * ourselves and by its path, "absent" is one we do not ship here.  ANSWER is the name as the loader goes on with it.
 * FOUND says which search met PATH: "path" (the name was one), "environment", "runpath" (RPATH too),
 * "cache", "default", or "-".  NAMESPACE is "base" or "other" (dlmopen).  A name asked for without a line
 * "loaded" behind it was in the process already, or was not found.
 */
#pragma once

#include <stdbool.h>

/* Looks at the environment once; false: nobody wants a log, and log_line must not be called. */
bool log_start(void);

/* Fields, ended by NULL. */
void log_line(const char *event, ...);
