/*
 * private.h - declarations that only the files of this folder share.
 */
#pragma once

#include "image/image.h"

/* Largest payload that is unpacked, and largest cubin that is read, in bytes. */
#define IMAGE_MAX ((size_t)1 << 30)

/*
 * elf.c: size of a cubin according to its own headers. Reads no byte outside of that size. 0: malformed, or larger
 * than the limit.
 */
size_t image_elf_extent(const void *data, size_t limit);

/* elf.c: the architecture of a cubin, from its ELF header. -EINVAL or -ENOTSUP: not a cubin. */
int image_cubin_target(const void *data, size_t size, unsigned *sm);

/* ptx_target.c: version and architecture of a PTX text. -EINVAL: the text does not begin with them. */
int image_ptx_target(const char *text, size_t size, struct image_entry *entry);

/* code.c: a NUL-terminated copy of the text in the memory of the code; NULL as image_code_alloc. */
char *image_code_text(struct image_code *code, const char *text, size_t size);

/* link_set.c: if the image is a link set, its members become parts 1, 2, ... of the image. */
int image_set_open(struct image *image);

/* Formats the message into err, unless err is NULL, and returns code. */
int image_fail(struct image_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
