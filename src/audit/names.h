/*
 * names.h - the libraries that are ours to answer for.
 *
 * The drivers' are those that we build (gen/libraries.def), the runtimes' stand here.  A row counts only where
 * our folder has the file: what this build does not ship is left to the application.  `soname` is for a
 * driver's library, of which a process has one whatever it is asked by (libcuda.so, libcuda.so.1,
 * libcuda.so.535.54.03).  Without it the major version asked for is the one given: libcudart.so.12.8.90 is
 * answered by our libcudart.so.12 and by no other.
 *
 * `device` is for a library that is ours on one device only: it lies in a folder of that name, and GANGWAY_DEVICE
 * must say so.  A GPU has its vendor's cuBLAS.
 */
#pragma once

static const struct ours {
	const char *stem, *soname, *device;
} ours[] = {
#define LIBRARY(name, soname, link) {"lib" link ".so", soname, NULL},
#include "gen/libraries.def"
#undef LIBRARY
	{"libcudart.so", NULL, NULL},
	{"libcublas.so", NULL, "cpu"},
	{"libcublasLt.so", NULL, "cpu"},
};

#define OURS (sizeof ours / sizeof *ours)
