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

/* ptxread.c: .version and .target of a PTX text. */
int image_ptx_target(const char *text, size_t size, struct image_entry *entry);

/* Memory for a struct image_code, freed at once. It refuses (NULL) to grow beyond its budget: the names in a
 * hostile file may overlap, and so be much more than the file. */
struct image_arena *image_arena_create(size_t budget);
void image_arena_destroy(struct image_arena *arena);
void *image_arena_alloc(struct image_arena *arena, size_t n, size_t size); /* zeroed; n * size may not wrap */
char *image_arena_text(struct image_arena *arena, const char *text, size_t size);

/* The readers proper. They fill code, whose arena is there; the caller sorts, and destroys on failure. */
int image_cubin_read(struct image_code *code, const void *data, size_t size, struct image_error *err);
int image_ptx_read(struct image_code *code, const char *text, size_t size, struct image_error *err);

/* Kernels and variables in order of their names. */
void image_code_sort(struct image_code *code);

/* set.c: if the image is a set, its parts become those of the image. */
int image_set_open(struct image *image);

/* Put a sentence into err, if there is one, and return code. */
int image_fail(struct image_error *err, int code, unsigned line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
