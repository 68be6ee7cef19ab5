/*
 * cli.h - the gangway command: one subcommand a file, one row each in main.c.
 *
 * A subcommand gets its own name as argv[0].  It returns the exit status: 0, 1 for a failure it
 * has explained on stderr, 2 for words it does not understand.
 */
#pragma once

#include <stddef.h>

int cmd_cdi(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_coverage(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_install(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_smi(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_uninstall(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* "gangway: " and a sentence on stderr; returns 1. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, with the command that shows the right words; returns 2. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Where our libraries are, found from where this program is: "../lib/gangway".  Not found: 0. */
int cli_library_dir(char *dir, size_t size);
