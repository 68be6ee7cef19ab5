/*
 * follow.h - gangway run --follow-all: gives Gangway also to programs that are started without libc and with a new
 * environment.
 *
 *	gangway run          waits for the program, passes signals on, exits with its status
 *	 └ supervisor        runs until the last process below it has ended
 *	    └ the program    and its children: a kernel filter (seccomp) stops each execve
 *
 * At an execve, the supervisor attaches to that process (ptrace), lets the kernel start the new program, adds the
 * variables to the environment on its stack before its first instruction, and detaches.
 *
 * This is optional because of its costs: the filter makes every system call about 40 ns longer; without CAP_SYS_ADMIN,
 * set-uid programs below it gain no privileges (PR_SET_NO_NEW_PRIVS); and no program below it can install a listening
 * filter of its own.
 */
#pragma once

/*
 * Start argv in the present environment and wait for it. Returns the exit status for gangway run. If the program was killed
 * by a signal, this process raises the same signal.
 */
int follow_all(char **argv);
