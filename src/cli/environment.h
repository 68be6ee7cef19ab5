/*
 * surround.h - the environment in which a program finds our libraries.
 *
 *	LD_LIBRARY_PATH	our folder first, for everything that looks for a library by its name
 *	LD_AUDIT	libgangway-audit.so, for those that know better, and libgangway-follow.so, for children
 *			that get an environment of their program's making (glibc 2.35 or later)
 *	GLIBC_TUNABLES	optional_static_tls: with audit libraries, ld.so lays out the block of thread-local storage
 *			before it knows what the program's libraries want of it, and they must fit into what it
 *			leaves free.  It is told what they want, and some more, for programs that this one starts
 */
#pragma once

#include "loader/program.h"

/*
 * Which device a program has that nobody chose one for: "cpu" where there is neither a server nor a GPU, which ld.so's
 * helper must know before there is a driver (audit/names.h); else NULL, and the driver sees.
 */
const char *surround_device(void);

/* Sets it for ourselves, to be inherited; 0, or it has been said why not. */
int surround(const char *dir, const struct program *program);

/*
 * Static thread-local storage, in bytes, of which ld.so has only so much when there are audit libraries: what a
 * program's libraries want, and what those that `program` starts find.
 */
size_t surround_tls_wanted(const struct program *program);
size_t surround_tls_room(const struct program *program);
