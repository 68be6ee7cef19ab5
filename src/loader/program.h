/*
 * program.h - how a program is started, and therefore whether it can be given libraries through its environment.
 *
 * Scripts are followed to their interpreters (#! lines, and the first word after env). File contents are untrusted:
 * a file can only name another file, and only a few such steps are followed.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include "loader/sysroot.h"

enum program_kind {
	PROGRAM_DYNAMIC,   /* started by glibc's loader */
	PROGRAM_STATIC,    /* started without a loader: loads no libraries */
	PROGRAM_MUSL,      /* started by musl's loader */
	PROGRAM_FOREIGN,   /* for another processor, or 32-bit */
	PROGRAM_UNKNOWN,   /* not an ELF file or a script that we can read; the kernel or a shell may know better */
	PROGRAM_MISSING,   /* no such file, or not executable */
	PROGRAM_NO_LOADER, /* the interpreter that it names does not exist */
};

struct program {
	enum program_kind kind;
	char path[PATH_MAX];   /* the ELF file; for a script, its interpreter */
	char script[PATH_MAX]; /* the script that was named, or "" */
	char loader[PATH_MAX]; /* PT_INTERP, or the interpreter that is missing */
	bool secure;           /* set-id or with capabilities for this user: the loader ignores the environment */
	int bits;
	unsigned machine; /* ELF's number, EM_* */
	int error;        /* errno, for PROGRAM_MISSING */
};

/* Inspect the program that execvp(name) would start on this machine. */
void program_inspect(const char *name, struct program *p);

/* The same for a program of another system: looked up in its PATH, followed through one #! line. */
void program_inspect_in(const struct sysroot *sys, const char *name, struct program *p);

/* Read an open ELF file: kind, loader, bits, machine. Returns false if the file is not ELF. */
bool program_read_elf(int fd, struct program *p);

/* Read a #! line: the interpreter, and the rest of the line without surrounding blanks. Returns false if none. */
bool program_read_script(int fd, char interpreter[PATH_MAX], char rest[256]);
