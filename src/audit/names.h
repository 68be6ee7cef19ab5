/*
 * names.h - the libraries that we redirect to our own files.
 *
 * The driver libraries are those that we build (gen/libraries.def); runtime libraries are listed here. A row is used only
 * if our folder contains the file. `soname` is set for driver libraries: a process has a single one, whatever name it
 * requests (libcuda.so, libcuda.so.1, libcuda.so.535.54.03). Without it, the major version must match:
 * libcudart.so.12.8.90 is redirected to our libcudart.so.12 only.
 *
 * `device` is set for libraries that we provide on one device only: the file is in a folder of that name. GANGWAY_DEVICE
 * must name the device, or the address of a server while GANGWAY_SERVED, set by gangway run, names its device. GPUs use
 * NVIDIA's cuBLAS. `compiles` is set for compilers, which GANGWAY_KEEP_PTX must enable, too (cli/compilers.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

static const struct redirected_library {
	const char *stem, *soname, *device;
	bool compiles;
} redirected_libraries[] = {
#define LIBRARY(name, soname, link) {"lib" link ".so", soname, NULL, false},
#include "gen/libraries.def"
#undef LIBRARY
	{"libcudart.so", NULL, NULL, false},
	{"libcublas.so", NULL, "cpu", false},
	{"libcublasLt.so", NULL, "cpu", false},
	{"libnvJitLink.so", NULL, "cpu", true},
};

/*
 * Libraries for programs that find none of this name anywhere: neither in their own folders, nor in the loader's cache,
 * nor in its built-in folders, which the loader searches last and which are listed below. The file is in `folder`.
 */
static const struct fallback_library {
	const char *stem, *folder;
} fallback_libraries[] = {
	{"libcudart.so", "cudart"},
};

static const char *const default_folders[] = {
	"/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/", "/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"};

#define REDIRECTED_LIBRARIES (sizeof redirected_libraries / sizeof *redirected_libraries)
#define FALLBACK_LIBRARIES   (sizeof fallback_libraries / sizeof *fallback_libraries)
#define DEFAULT_FOLDERS      (sizeof default_folders / sizeof *default_folders)
