/*
 * worker_exec.h - starts workers: each executes the server's own program anew, as "gangway worker".
 *
 * A forked worker would have the addresses and the stack canary of its parent, and so of every other worker: what one
 * client finds out about its worker would hold for all.  After exec they are a worker's own.
 *
 * The program is opened once.  If an upgrade replaces the file, workers still execute the build of the parent.
 */
#pragma once

#include <limits.h>
#include <sys/types.h>

/* The descriptor of a worker's socket to its parent (fd_handoff.h); 0, 1 and 2 are those of the parent. */
#define WORKER_CHANNEL 3

struct worker_program {
	int fd;
	char path[PATH_MAX]; /* when it was opened: the worker finds its libraries from there */
};

/* 0, or -errno after logging why. */
int worker_program_open(struct worker_program *p);
void worker_program_close(struct worker_program *p);

/* Executes the program in a new process, with 0, 1, 2 and `channel` as its descriptors.  -1 and errno on failure. */
pid_t worker_program_start(const struct worker_program *p, int channel);
