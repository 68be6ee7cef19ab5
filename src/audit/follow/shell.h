/*
 * shell.h - system and popen in a program that has cleared its own environment.
 *
 * libc starts the shell itself, so its environment cannot be changed. The missing variables are exported in front of the
 * command instead: export LD_AUDIT='...' GANGWAY_DEVICE='cpu'; command. The shell runs without us, its children with us.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool shell_is_replaced(const char *name);
/* Returns our replacement of the function, or `address`. */
uintptr_t shell_replace(const char *name, uintptr_t address);
