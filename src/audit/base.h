/*
 * base.h - system calls and string functions for our audit libraries, which use no libc.
 *
 * An audit library (LD_AUDIT, rtld-audit(7)) is loaded into a namespace of its own. With libc, every process would load a
 * second libc, at five times the cost of everything else; so the audit libraries need no library at all.
 *
 *	ld.so ─ la_version, la_objsearch ─ libgangway-audit.so    redirects library names
 *	      └ la_version, la_symbind   ─ libgangway-follow.so   children with a new environment, and
 *	                                                          dlmopen by path
 *
 * They run in every program that the user starts, before its first instruction. They create no threads, leave no
 * descriptors open, and use no memory besides their own pages. The environment is untrusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "audit/files.h"

#define AUDIT_PATH 4096

/* System calls; they return the result or -errno. */
long sys_access(const char *path);
long sys_open_append(const char *path);
long sys_write(int fd, const void *data, size_t size);
long sys_close(int fd);
long sys_getpid(void);
/* Can the eight bytes at this address be read? The kernel checks this without a fault. */
bool sys_readable(const void *at);
long sys_protect(void *page, size_t size, int protection);
/* Device and inode of a descriptor. Returns false if it is not open. */
bool sys_identity(int fd, uint64_t identity[2]);

size_t text_length(const char *s);
bool text_equal(const char *a, const char *b);
bool text_starts(const char *s, const char *with);
const char *text_last_part(const char *path); /* the part behind the last slash */
bool text_has_slash(const char *path);
/* Append to the string `at` of size `room`. Returns false if it does not fit. */
bool text_append(char *at, size_t room, const char *s, size_t n);

/* Returns the length of the first entry of a colon-separated list; *next is the following entry or NULL. */
size_t text_entry(const char *list, const char **next);

/* The environment with which the process was started, in the memory where the kernel put it. */
extern char **start_environment;
const char *start_variable(const char *name);      /* or NULL */
const char *start_program(void);                   /* the path of the program, or "" */
unsigned long start_auxiliary(unsigned long type); /* as getauxval(3), or 0 */
/* Does the program itself have our build note? */
bool start_is_ours(void);

/* Find the folder of an audit library in LD_AUDIT. Returns false if it is missing or not an absolute path. */
bool start_folder(const char *name, char *dir, size_t size);
