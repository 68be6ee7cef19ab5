/*
 * jitlink.h - nvJitLink for the CPU device: a library with NVIDIA's interface that links PTX by keeping it.
 *
 * NVIDIA's nvJitLink makes machine code of PTX. This one checks the PTX with our parser and answers with a fatbin that
 * holds it, or with a link set (image/image.h) of several inputs, which our driver links when it loads the set. NVIDIA's own
 * library compiles LTO-IR to PTX first (vendor.h).
 *
 * The application calls it in its own process; its inputs are untrusted and are checked by image and ptx. A handle is a
 * pointer, as with NVIDIA's library: the caller passes only handles that it got. One handle, one thread at a time.
 *
 * libnvJitLink.so.12 and .so.13 lie in lib/gangway/cpu; audit/names.h leads programs on a CPU device to them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "image/image.h"

typedef enum {
	NVJITLINK_SUCCESS = 0,
	NVJITLINK_ERROR_MISSING_ARCH = 2,
	NVJITLINK_ERROR_INVALID_INPUT = 3,
	NVJITLINK_ERROR_PTX_COMPILE = 4,
	NVJITLINK_ERROR_INTERNAL = 6,
	NVJITLINK_ERROR_UNRECOGNIZED_INPUT = 8,
	NVJITLINK_ERROR_NULL_INPUT = 10,
	NVJITLINK_ERROR_LTO_NOT_ENABLED = 18,
} nvJitLinkResult;

typedef enum {
	NVJITLINK_INPUT_CUBIN = 1,
	NVJITLINK_INPUT_PTX = 2,
	NVJITLINK_INPUT_LTOIR = 3,
	NVJITLINK_INPUT_FATBIN = 4,
	NVJITLINK_INPUT_OBJECT = 5,
	NVJITLINK_INPUT_LIBRARY = 6,
	NVJITLINK_INPUT_ANY = 10,
} nvJitLinkInputType;

struct jitlink {
	char **options;
	uint32_t noptions;
	struct vendor_link *vendor; /* for LTO-IR; NULL: none was added */
	struct image_span *parts;   /* copies of the inputs, NUL-terminated */
	unsigned nparts;
	char log[4096]; /* errors */
	void *image;    /* the result of nvJitLinkComplete */
	size_t size;
};

typedef struct jitlink *nvJitLinkHandle;

/* input.c: add one input; add the PTX of all LTO-IR. */
nvJitLinkResult jitlink_compile_lto(struct jitlink *l);
nvJitLinkResult jitlink_add(
	struct jitlink *l, nvJitLinkInputType type, const void *data, size_t size, const char *name);
void jitlink_log(struct jitlink *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
