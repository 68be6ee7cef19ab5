/*
 * supervise.h - the process between gangway run --follow-all and the program: it starts the program under a filter that
 * stops each execve, and looks after those until the last process under the filter has ended.
 *
 * Trust: none in the processes below, except that they are the user's own.  What one of them does can cost it its
 * variables, and nobody else anything.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

/* What it tells the process that waits, over a socket. */
struct supervise_news {
	pid_t program;
	int ended, status;  /* as waitpid says */
	int error, started; /* errno of `what`; started: that of the program itself */
	char what[80];
};

/* In a process of its own; `signals` is what the program starts with. */
__attribute__((noreturn)) void supervise(char **argv, const sigset_t *signals, int news);
