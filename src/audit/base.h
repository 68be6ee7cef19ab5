/*
 * base.h - what our audit libraries have in place of a libc.
 *
 * An audit library (LD_AUDIT, rtld-audit(7)) lives in a namespace of its own.  Needing libc there means a
 * second libc in every process, which costs five times what the rest does; so they need no library at all.
 *
 *	ld.so ─ la_version, la_objsearch ─ libgangway-audit.so    which file answers for a name
 *	      └ la_version, la_symbind   ─ libgangway-follow.so   children with an environment of their own,
 *	                                                          and dlmopen by a path
 *
 * They run in whatever the user starts, before its first instruction: no thread, no descriptor left open, no
 * memory but their own few pages.  The environment is the user's and may hold anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "audit/files.h"

#define AUDIT_PATH 4096

/* As the kernel answers: a negative error number, or the result. */
long sys_access(const char *path);
long sys_open_append(const char *path);
long sys_write(int fd, const void *data, size_t size);
long sys_close(int fd);
long sys_getpid(void);
/* Whether the eight bytes there can be read: asked of the kernel, which does not fault. */
bool sys_readable(const void *at);
long sys_protect(void *page, size_t size, int protection);
/* Which file a descriptor is: false if it is none. */
bool sys_identity(int fd, uint64_t identity[2]);

size_t text_length(const char *s);
bool text_equal(const char *a, const char *b);
bool text_starts(const char *s, const char *with);
const char *text_last_part(const char *path); /* behind the last slash */
bool text_has_slash(const char *path);
/* Appends to at[0..room), always ended by 0; false: it did not fit. */
bool text_append(char *at, size_t room, const char *s, size_t n);

/* One entry of a list with colons between: its length; *next is where the following one starts, or NULL. */
size_t text_entry(const char *list, const char **next);

/* The environment that the process was started with, as the kernel laid it down; it may be changed later. */
extern char **start_environment;
const char *start_variable(const char *name);      /* or NULL */
const char *start_program(void);                   /* the path it was started by, or "" */
unsigned long start_auxiliary(unsigned long type); /* what the kernel told of the program (getauxval(3)), or 0 */
/* True if the program itself is one of ours: it carries our build note. */
bool start_is_ours(void);

/* The folder of the audit library called `name`, from LD_AUDIT; false: not there, or not an absolute path. */
bool start_folder(const char *name, char *dir, size_t size);
