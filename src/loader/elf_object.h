/*
 * object.h - what a program or a shared library says of itself to the loader: names it needs and names it
 * has.
 *
 * 64-bit files of either byte order's own machine are read as the loader reads them, by segments: sections
 * may be gone.  Nothing in the file is believed; what does not lie inside it is not there.  An object borrows
 * nothing: it keeps the file mapped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECT_NAMES 256

/* "this file of mine has this node": libcudart.so.12 wanted from libcudart.so.12. */
struct object_want {
	const char *file, *node;
};

struct object {
	const char *data;
	size_t size;
	bool mapped;
	bool native; /* this machine's: 64 bits, its processor; the rest is only read then */
	bool bits64;
	uint16_t machine, type;
	bool dynamic;
	bool library;                         /* made to be loaded, not to be started */
	const char *soname, *rpath, *runpath; /* NULL: none */
	const char *needed[OBJECT_NAMES];
	unsigned nneeded;
	const char *nodes[OBJECT_NAMES]; /* version nodes it defines, without the one that names the file */
	unsigned nnodes;
	struct object_want wants[OBJECT_NAMES];
	unsigned nwants;
	uint64_t tls;      /* bytes of thread-local storage */
	bool static_tls;   /* which must be in the block that threads start with */
	char build_id[64]; /* in hex; "": none */
	struct {
		uint64_t address, offset, size;
	} loads[16]; /* more than anybody's linker makes */
	unsigned nloads;
	/* For names of functions. */
	uint64_t strings, strings_size, symbols, hash;
};

/* 0, -EINVAL: no ELF file at all, or -errno.  From bytes, which are borrowed, or from a descriptor, which is
 * not kept. */
int object_init(struct object *o, const void *data, size_t size);
int object_open(struct object *o, int fd);
void object_close(struct object *o);

/* Has the library a function or a variable of this name? */
bool object_exports(const struct object *o, const char *name);

/* Names it leaves to others, one after another; *at starts as 0.  NULL: no more. */
const char *object_undefined(const struct object *o, uint32_t *at);

/* Does the file hold these bytes, a NUL included? */
bool object_contains(const struct object *o, const char *text);

/* Is there a section of this name? */
bool object_has_section(const struct object *o, const char *name);
