/*
 * cli.h - the gangway command: one file or folder for each subcommand, and one row in the table of main.c.
 *
 * A subcommand gets its own name as argv[0] and returns the exit status: 0; 1 for a failure, explained on standard
 * error; 2 for invalid arguments.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

int cmd_cdi(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_coverage(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_install(int argc, char **argv);
int cmd_ptxas(int argc, char **argv); /* started as ptxas, not as gangway ptxas */
int cmd_run(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_smi(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_uninstall(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_worker(int argc, char **argv); /* started by gangway serve, not by users: not in the table */

/* Print "gangway: " and the message on standard error. Returns 1. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print the message and a hint at the command's --help. Returns 2. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct option;

/*
 * Report an option that getopt_long rejected by returning c, '?' or ':', and suggest a similar one. getopt_long must have
 * no short options. Returns 2.
 */
int cli_bad_option(const char *command, int c, char **argv, const struct option *options);

/* Report this option, which does not exist, and suggest a similar one. Returns 2. */
int cli_unknown_option(const char *command, const char *word, const struct option *options);

/* Is this the name of a device? An address only needs the right form. */
bool cli_device_known(const char *device);

/* Report the name of a device that does not exist, with a list of the devices. Returns 0 if it exists, or 2. */
int cli_check_device(const char *command, const char *device);

/* Report an argument that a command without arguments got. Returns 2. */
int cli_unexpected(const char *command, const char *word);

/* Do the n bytes of `a` look like a misspelt `b`? */
bool cli_words_similar(const char *a, size_t n, const char *b);

/* Find the folder of our libraries: ../lib/gangway, seen from this program. Returns false if it does not exist. */
bool cli_library_dir(char *dir, size_t size);

/* The same, for commands that cannot do without: returns 0, or 1 after printing an error. */
int cli_require_libraries(char *dir, size_t size);
