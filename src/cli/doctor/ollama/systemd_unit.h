/*
 * systemd_unit.h - command, user and environment of a systemd service, including its drop-ins.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include "loader/sysroot.h"

#define UNIT_VARIABLES 64

struct systemd_unit {
	char file[PATH_MAX];    /* "" if there is no such unit */
	char program[PATH_MAX]; /* of ExecStart, without its arguments */
	char user[64];
	bool protect_home, private_network;
	char *environment[UNIT_VARIABLES + 1]; /* NAME=VALUE strings, terminated by NULL */
	unsigned n;
};

/* Read a unit by name, such as "ollama.service". */
void systemd_unit_read(struct systemd_unit *u, const struct sysroot *sys, const char *name);

/* Parse the text of one file, which is modified. Used by systemd_unit_read and by the fuzzer. */
void systemd_unit_parse(struct systemd_unit *u, char *text);
void systemd_unit_finish(struct systemd_unit *u);
