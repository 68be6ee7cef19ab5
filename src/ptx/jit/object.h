/*
 * object.h - loads one relocatable ELF object for x86-64 into memory of its own.
 *
 * The loader knows what LLVM emits for one function without references to the outside: code, constants, and relocations
 * between them.  It refuses everything else.
 *
 * Trust: the bytes may be anything, also a file that somebody damaged.  Reading them is safe; running the result is as
 * safe as its author.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { OBJECT_MAX_SIZE = 64 << 20 };

struct object_image {
	uint8_t *memory; /* a mapping of its own: code, which may be executed, then constants, which may be read */
	size_t size, text;
	void *entry; /* the function that was asked for */
};

/* As jit_code_create. */
int object_load(const void *bytes, size_t size, const char *function, struct object_image *out, char *why, size_t room);
void object_unload(struct object_image *image);
