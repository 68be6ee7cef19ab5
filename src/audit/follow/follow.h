/*
 * follow.h - the variables that libgangway-follow.so adds to the environment of a new program, and the functions of libc
 * that it replaces for this.
 *
 * The functions may run in a child between fork or vfork and exec: they use only the stack, no locks and no allocation;
 * a child of vfork shares the memory of its parent.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLLOW_KEPT    64
#define FOLLOW_ENTRIES 16384 /* longer environments are left alone */

/* The size of the joined environment; entries is 0 if nothing is to be added. */
struct follow_room {
	size_t entries, text;
};
struct follow_room follow_room(char *const *env);

/* Fill joined[room.entries] and buffer[room.text], which must live until the program has started. */
void follow_join(char *const *env, struct follow_room room, const char **joined, char *buffer);

/* Find environ and libc's functions in an object that was loaded. */
void exec_object_loaded(const struct link_map *map);

/* The present environ of the program; known after the program or libc was loaded. */
bool exec_environment_known(void);
char *const *exec_environment(void);

bool exec_is_replaced(const char *name);
/* Returns our replacement of the function, or `address`. */
uintptr_t exec_replace(const char *name, uintptr_t address);
