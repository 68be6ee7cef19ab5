/*
 * plugin.h - the devices that we drive ourselves, in a library of their own: libgangway-soft.so,
 * beside libcuda.so.1.
 *
 * libcuda.so.1 is in every CUDA program, also in those that use a vendor's driver or a remote one;
 * it stays small and depends on libc alone.  The software driver, the code that reads images and
 * the compilers come in only when such a device is chosen.
 */
#pragma once

#include "backend/backend.h"

/* What libgangway-soft.so exports, under the name gangway_plugin. */
struct plugin {
	const char *build; /* note_build: the two libraries are of one build, or do not work together */
	const struct backend *const *backends; /* up to NULL */
};

/* The backend called `name`, or NULL, and `why` says what is wrong. */
const struct backend *plugin_backend(const char *name, char *why, size_t size);
