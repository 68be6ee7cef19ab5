/*
 * said.h - the sanitizer reports of programs whose server sent false replies, and the code at fault.
 *
 * A program may crash in its own code because it trusted a false reply (doc/remote.md): the innermost stack frame that
 * belongs to the program or to us is then in a test. Every other crash is a bug in our library.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID_STATUS 66 /* exit status of a sanitizer */

static void said_path(char *path, size_t size, const char *folder, pid_t pid)
{
	snprintf(path, size, "%s/said.%d", folder, (int)pid);
}

/* Redirects stderr to a file before the program starts. LOUD in the environment: stderr stays visible. */
static void said_to(const char *folder)
{
	char options[64], path[512];
	int fd;

	snprintf(options, sizeof options, "detect_leaks=0:exitcode=%d", SAID_STATUS);
	setenv("ASAN_OPTIONS", options, 1);
	setenv("UBSAN_OPTIONS", options, 1);
	if (folder)
		setenv("CHECK_STOPS", "1", 1); /* stop at the first failed call: test/remote/check.h */
	if (!folder || getenv("LOUD"))
		return;
	said_path(path, sizeof path, folder, getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0)
		dup2(fd, 2);
}

/* A stack line that belongs to us or to the program. */
static bool said_where(const char *line)
{
	if (strstr(line, ": runtime error: "))
		return true;
	return strstr(line, " #") && strstr(line, " in ") && !strstr(line, "/libsanitizer/") &&
	       !strstr(line, "sysdeps/");
}

/* Whether the program crashed in our code. Prints and keeps the report of any crash; deletes it otherwise. */
static bool said_ours(const char *folder, const char *program, unsigned long long seed, pid_t pid, int status)
{
	bool crashed = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == SAID_STATUS), found = false,
	     ours;
	char path[512], line[1024];
	FILE *f;

	said_path(path, sizeof path, folder, pid);
	if (!crashed)
		return unlink(path), false;
	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof line, f))
		found = said_where(line);
	if (f)
		fclose(f);
	/* without a sanitizer the place of the crash is unknown */
	ours = found && !strstr(line, "/test/");
	printf("seed %llu: %s: %s, %s: %s", seed, program, path, ours ? "ours" : "not ours",
		found ? line : "no word of it\n");
	return ours;
}
