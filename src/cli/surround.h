/*
 * surround.h - the environment in which a program finds our libraries.
 *
 *	LD_LIBRARY_PATH	our folder first, for everything that looks for a library by its name
 *	LD_AUDIT	libgangway-audit.so, for those that know better, and libgangway-follow.so, for children
 *			that get an environment of their program's making (glibc 2.35 or later)
 */
#pragma once

/* Sets it for ourselves, to be inherited; 0, or it has been said why not. */
int surround(const char *dir);
