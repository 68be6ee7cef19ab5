/*
 * supervise.h - the supervisor process of gangway run --follow-all: starts the program under a filter that stops each
 * execve, and handles these stops until the last process under the filter has ended.
 *
 * The processes below belong to the user, but are otherwise untrusted: a misbehaving process can only lose its own
 * variables.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

/* A message to the waiting process, over a socket. */
struct supervise_news {
	pid_t program;
	int ended, status;  /* status of waitpid */
	int error, started; /* errno of `what`; started: the program itself failed to start */
	char what[80];
};

/* Run as the supervisor, in a process of its own. `signals` is the signal mask of the program. */
__attribute__((noreturn)) void supervise(char **argv, const sigset_t *signals, int news);
