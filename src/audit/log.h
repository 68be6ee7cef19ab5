/*
 * log.h - a log of requested and loaded libraries (GANGWAY_AUDIT_LOG), for gangway doctor and for users.
 *
 * The variable is the number of a descriptor, or a file to append to. The log has one line per event, with fields
 * separated by tabs; backslashes and control characters are written as \xNN. The second field is the process.
 *
 *	start	PID	PROGRAM
 *	asked	PID	NAME	BY	HOW	ANSWER
 *	loaded	PID	PATH	FOUND	NAMESPACE
 *
 * BY is the requesting object, or "-" for the program. HOW is "other" (not a library that we provide), "redirected" (to
 * ANSWER), "ours" (already our file), "kept" (GANGWAY_KEEP), "own" (requested by path by our own libraries) or "absent"
 * (not contained in this installation). ANSWER is the name that the loader uses. FOUND is the search that found PATH:
 * "path" (the name was a path), "environment", "runpath" (or RPATH), "cache", "default" or "-". NAMESPACE is "base" or
 * "other" (dlmopen). A requested name without a "loaded" line was already loaded, or was not found.
 */
#pragma once

#include <stdbool.h>

/* Read the environment. Returns false if no log is wanted; log_line must not be called then. */
bool log_start(void);

/* Write a line. The fields are strings, terminated by NULL. */
void log_line(const char *event, ...);
