/*
 * elf_object.h - the properties of a program or shared library that matter to the loader: the names it needs, the
 * names it defines, its search paths.
 *
 * Files are read by segments, as the loader reads them; sections may be missing. File contents are untrusted: every
 * offset is checked against the size of the file, and data outside the file is treated as absent. Strings point into
 * the mapped file and stay valid until elf_object_close.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_NAMES_MAX 256

/* A version node that must exist in a library: node libcudart.so.12 of file libcudart.so.12. */
struct elf_version_want {
	const char *file, *node;
};

struct elf_object {
	const char *data;
	size_t size;
	bool mapped;
	bool native; /* 64-bit and for this processor; otherwise only bits64, machine and type are set */
	bool bits64;
	uint16_t machine, type;
	bool dynamic;
	bool library;                         /* a shared library, not a (position-independent) program */
	const char *soname, *rpath, *runpath; /* NULL if absent */
	const char *needed[ELF_NAMES_MAX];
	unsigned nneeded;
	const char *nodes[ELF_NAMES_MAX]; /* version nodes that it defines, without the base node */
	unsigned nnodes;
	struct elf_version_want wants[ELF_NAMES_MAX];
	unsigned nwants;
	uint64_t tls;      /* bytes of thread-local storage */
	bool static_tls;   /* DF_STATIC_TLS: the storage must be in the static TLS block */
	char build_id[64]; /* in hexadecimal; "" if absent */
	struct {
		uint64_t address, offset, size;
	} loads[16]; /* PT_LOAD segments; no linker produces more */
	unsigned nloads;
	/* Addresses of the dynamic string table, symbol table and GNU hash table. */
	uint64_t strings, strings_size, symbols, hash;
};

/* Read an ELF file from memory, which must outlive the object. Returns 0, or -EINVAL if the bytes are not ELF. */
int elf_object_init(struct elf_object *o, const void *data, size_t size);

/* Map a file; the descriptor may be closed afterwards. Returns 0, -EINVAL if the file is not ELF, or -errno. */
int elf_object_open(struct elf_object *o, int fd);
void elf_object_close(struct elf_object *o);

/* Does the library define a dynamic symbol of this name? */
bool elf_object_exports(const struct elf_object *o, const char *name);

/* Iterate over the undefined dynamic symbols. *at starts as 0. Returns NULL at the end. */
const char *elf_object_undefined(const struct elf_object *o, uint32_t *at);

/* Does the file contain this text, followed by a NUL? */
bool elf_object_contains(const struct elf_object *o, const char *text);

bool elf_object_has_section(const struct elf_object *o, const char *name);
