/*
 * plugin.h - loads the devices cpu and null from a library of their own, libgangway-soft.so beside libcuda.so.1.
 *
 * Every CUDA program loads libcuda.so.1, also one that uses a vendor driver or a server.  So libcuda.so.1 stays small
 * and needs libc alone; the software driver, the image code and the compilers are loaded when such a device is chosen.
 */
#pragma once

#include "backend/backend.h"

/* The symbol gangway_plugin of libgangway-soft.so. */
struct plugin {
	const char *build;                     /* must equal build_note_text: both libraries are of one build */
	const struct backend *const *backends; /* NULL-terminated */
};

/* The backend called `name`, or NULL with the reason in `why`. */
const struct backend *plugin_backend(const char *name, char *why, size_t size);
