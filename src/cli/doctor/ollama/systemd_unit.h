/*
 * unit.h - what a service of systemd is started with: its command, user and environment, drop-ins included.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include "loader/sysroot.h"

#define UNIT_VARIABLES 64

struct unit {
	char file[PATH_MAX];    /* "": there is none */
	char program[PATH_MAX]; /* of ExecStart, without its arguments */
	char user[64];
	bool protect_home, private_network;
	char *environment[UNIT_VARIABLES + 1]; /* NAME=VALUE, ended by NULL */
	unsigned n;
};

/* "ollama.service" */
void unit_read(struct unit *u, const struct sysroot *sys, const char *name);

/* One file's text, which is changed; for unit_read, and for fuzzing. */
void unit_parse(struct unit *u, char *text);
void unit_finish(struct unit *u);
