/*
 * environment.h - the environment in which a program finds our libraries.
 *
 *	LD_LIBRARY_PATH	our folder first, for programs that look up libraries by name
 *	LD_AUDIT	libgangway-audit.so, for programs that use other ways, and libgangway-follow.so, for children that
 *			get a new environment (glibc 2.35 or later)
 *	GLIBC_TUNABLES	optional_static_tls. With audit libraries, ld.so lays out the static TLS block before it knows how
 *			much of it the program's libraries need, and they must fit into the spare room. The tunable
 *			makes that room large enough for them, and somewhat larger for the program's children
 */
#pragma once

#include "loader/program.h"

/*
 * The device for a program if the user chose none: "cpu" on a machine with neither a server nor a GPU, because the audit
 * library must know this before the driver is loaded (audit/names.h); otherwise NULL, and the driver chooses.
 */
const char *environment_default_device(void);

/* Change our own environment, for a program to inherit. Returns 0, or an exit status after printing an error. */
int environment_set(const char *dir, const struct program *program);

/*
 * Bytes of static thread-local storage that the libraries of a program need, and that the children of a program find
 * free under environment_set.
 */
size_t environment_tls_needed(const struct program *program);
size_t environment_tls_room(const struct program *program);
