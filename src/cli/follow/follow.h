/*
 * follow.h - gangway run --follow-all: programs that are started past libc, with an environment made anew, are given
 * what gangway run gives, too.
 *
 *	gangway run          waits for the program, passes signals on, ends as it does
 *	 └ supervisor        until the last of them has ended
 *	    └ the program    and all that it starts: a filter in the kernel (seccomp) stops each execve
 *
 * At an execve the supervisor attaches to that one process (ptrace), lets the kernel start the new program, and before its
 * first instruction puts the variables into the environment on its stack; then it lets go.
 *
 * Costs, which is why it has to be asked for: a filter makes every system call some 40 ns longer; without the right to do
 * otherwise (CAP_SYS_ADMIN), set-uid programs below it gain nothing (PR_SET_NO_NEW_PRIVS); and no program below it may
 * have a listening filter of its own.
 */
#pragma once

/* Starts argv with the environment as it is; the exit status that gangway run ends with.  It may also not return: it dies
 * of the signal that the program died of. */
int follow_all(char **argv);
