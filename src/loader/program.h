/*
 * program.h - what a program is to the loader that starts it: whether libraries can be given to it at all.
 *
 * Scripts are followed to what interprets them (#! lines, and env's first word).  Files are not trusted:
 * nothing in one does more than name another, and those are followed a few times only.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum program_kind {
	PROGRAM_DYNAMIC,   /* glibc's loader starts it */
	PROGRAM_STATIC,    /* no loader: no libraries */
	PROGRAM_MUSL,      /* musl's loader */
	PROGRAM_FOREIGN,   /* another machine's, or 32 bits */
	PROGRAM_UNKNOWN,   /* nothing we can read: the kernel, or a shell, may know better */
	PROGRAM_MISSING,   /* no such file, or not to be executed */
	PROGRAM_NO_LOADER, /* the interpreter that it names is not there */
};

struct program {
	enum program_kind kind;
	char path[PATH_MAX];   /* the file that all this is said of; for a script its interpreter */
	char script[PATH_MAX]; /* the script that was asked for, or "" */
	char loader[PATH_MAX]; /* PT_INTERP, or the interpreter that is missing */
	bool secure;           /* set-id or with capabilities for this user: the loader heeds no environment */
	int bits;
	unsigned machine; /* ELF's number */
	int error;        /* MISSING: why */
};

/* What execvp(name) would start. */
void program_look(const char *name, struct program *p);

/* One open ELF file: kind, loader, bits, machine.  False: no ELF file. */
bool program_read_elf(int fd, struct program *p);

/* A #! line: the interpreter and the rest of the line, without blanks around; false: none. */
bool program_read_script(int fd, char interpreter[PATH_MAX], char rest[256]);
