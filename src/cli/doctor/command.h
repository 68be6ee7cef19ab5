/*
 * command.h - shell commands for the user to copy: quoted, and with names that the user's shell finds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define COMMAND_MAX 16384

struct doctor;
struct stat;

/* Quote a word for a shell, if needed. */
void command_quote(const char *text, char *out, size_t size);

/* Quote and join words, a list terminated by NULL. A very long command is cut and ends in "...". */
void command_words(char *const *words, char text[COMMAND_MAX]);

/* The command line of the examined process. */
void command_of_process(const struct doctor *d, char text[COMMAND_MAX]);

/* The command that restarts the process behind the words `with`, in its folder and as its user if that matters. */
void command_to_restart(const struct doctor *d, const char *with, char text[COMMAND_MAX]);

/* "sudo " with the user or group that a set-uid or set-gid file switches to, so that starting it gains nothing more. */
void command_sudo_prefix(const struct stat *st, char text[64]);

/* Find the systemd service that the process belongs to. Returns false if there is none. */
bool command_find_service(const struct doctor *d, char name[64]);

/* Replace names that do not work here: gangway by its path if PATH does not lead to it; sudo is omitted for root. */
void command_resolve_names(const char *command, char text[COMMAND_MAX]);
