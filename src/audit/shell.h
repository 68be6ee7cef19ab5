/*
 * shell.h - system and popen in a program that has emptied its own environment.
 *
 * libc starts the shell by itself, where nobody can add to what it is given.  So what is missing is said in front of
 * the command: export LD_AUDIT='...' GANGWAY_DEVICE='cpu'; command.  The shell runs without us, what it starts does not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool shell_is_replaced(const char *name);
/* The function to call in place of `name` at `address`: ours, or that one. */
uintptr_t shell_replace(const char *name, uintptr_t address);
