/*
 * compilers.h - the environment in which compilers keep PTX, for programs on a CPU device.
 *
 * Programs that compile at run time turn PTX into machine code before they hand it to the driver: with ptxas, NVRTC or
 * nvJitLink. A CPU device runs PTX only. So on such a device, here or behind a server:
 *
 *	PATH			lib/gangway/cpu/bin first, where ptxas is a link to gangway (ptxas.c)
 *	TRITON_PTXAS_PATH	that ptxas, and TRITON_PTXAS_BLACKWELL_PATH: Triton does not search PATH
 *	GANGWAY_KEEP_PTX	1: libgangway-follow.so lets NVRTC return PTX where it is asked for a cubin (audit/follow/nvrtc.c)
 *	CUPY_CACHE_DIR		a folder of its own in the user's, because CuPy's cache key does not name the compiler;
 *	NUMBA_CACHE_DIR		the same for numba. Triton's key has ptxas's version text, XLA's the name of the device
 *
 * On a GPU nothing is set. GANGWAY_KEEP=ptxas leaves everything to NVIDIA's compilers.
 */
#pragma once

#include <stdbool.h>

/* Whether the user wants NVIDIA's compilers, by GANGWAY_KEEP. */
bool compilers_kept(void);

/* Change our own environment, for a program to inherit. Returns 0, or -1: out of memory. */
int compilers_set(const char *dir);
