/*
 * nvrtc.h - NVRTC on a CPU device: where a program asks it for a cubin, it gets PTX instead.
 *
 * NVRTC keeps the PTX of every program that it compiles, also of those for a real architecture (sm_80). ld.so reports when
 * nvrtcGetCUBIN is bound, by a call or by dlsym, and the caller gets a function of ours, which writes that PTX as the only
 * entry of a fatbin. Every CUDA driver loads it. The compiler itself stays the vendor's.
 *
 * Active only if GANGWAY_KEEP_PTX is 1, which gangway run sets for programs on a CPU device (cli/compilers.h).
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

void nvrtc_start(void); /* reads the environment */
/* Is this object an NVRTC, so that bindings to it are of interest? */
bool nvrtc_is_library(const char *name);
bool nvrtc_is_replaced(const char *name);
/* Returns our replacement of a replaced function in the object `map`, or `address`. */
uintptr_t nvrtc_replace(const char *name, const struct link_map *map, uintptr_t address);
