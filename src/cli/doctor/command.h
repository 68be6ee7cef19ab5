/*
 * command.h - commands for people to type: quoted for a shell, and with names that are found where they stand.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define COMMAND_MAX 16384

struct doctor;
struct stat;

/* Quoted for a shell where it has to be. */
void command_quote(const char *text, char *out, size_t size);

/* All of them, ended by NULL; what is longer than anybody types ends in "...". */
void command_words(char *const *words, char text[COMMAND_MAX]);

/* The words of the process in question, as it shows them. */
void command_shown(const struct doctor *d, char text[COMMAND_MAX]);

/* What starts it again behind the words `with`: in its folder and as its user, where that matters. */
void command_again(const struct doctor *d, const char *with, char text[COMMAND_MAX]);

/* "sudo " and whatever it takes to be, before, what a set-uid or set-gid program becomes: then it gains nothing by it. */
void command_gains(const struct stat *st, char text[64]);

/* It belongs to this service of systemd's. */
bool command_service(const struct doctor *d, char name[64]);

/* By the names that work here: this program by its path where no PATH leads to it, sudo only where it is needed. */
void command_spell(const char *command, char text[COMMAND_MAX]);
