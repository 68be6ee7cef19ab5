/*
 * private.h - what the files of this folder share and nobody else sees.
 */
#pragma once

#include "image/image.h"

/* The most that we unpack, or read as one piece of code. */
#define IMAGE_MAX ((size_t)1 << 30)

/* elf.c: the bytes a cubin occupies by its own headers, 0 if it makes no sense. Reads only what it then
 * counts. */
size_t image_elf_extent(const void *data, size_t limit); /* 0: malformed, or it goes beyond the limit */

/* elf.c: the architecture a cubin is for, without reading more than its header; -EINVAL if it is no cubin. */
int image_cubin_target(const void *data, size_t size, unsigned *sm);

/* ptx_target.c: version and architecture of a PTX text. -EINVAL: the text does not begin with them. */
int image_ptx_target(const char *text, size_t size, struct image_entry *entry);

/* code.c: a NUL-terminated copy of the text in the memory of the code; NULL as image_code_alloc. */
char *image_code_text(struct image_code *code, const char *text, size_t size);

/* set.c: if the image is a set, its parts become those of the image. */
int image_set_open(struct image *image);

/* Put a sentence into err, if there is one, and return code. */
int image_fail(struct image_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
