/*
 * follow.h - what libgangway-follow.so adds to the environment of a program that is about to be started, and
 * the functions that start one.
 *
 * They run in a child between fork or vfork and exec: on the stack alone, with no lock and no allocation, and
 * in a vfork's child on the memory of its parent.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLLOW_KEPT    64
#define FOLLOW_ENTRIES 16384 /* of a longer environment nothing is changed */

/* What the joined environment needs; entries 0: nothing is to be added. */
struct follow_room {
	size_t entries, text;
};
struct follow_room follow_room(char *const *env);

/* joined[room.entries], buffer[room.text]; both must live until the program has started. */
void follow_join(char *const *env, struct follow_room room, const char **joined, char *buffer);

/* An object that was loaded: remembers what exec.c calls in it. */
void exec_look_at(const struct link_map *map);

/* environ as the program has it now, once its object or libc has been looked at. */
bool exec_environment_known(void);
char *const *exec_environment(void);

bool exec_is_replaced(const char *name);
/* The function to call in place of `name` at `address`: ours, or that one. */
uintptr_t exec_replace(const char *name, uintptr_t address);
