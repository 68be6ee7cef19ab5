/*
 * said.h - programs that a server has lied to: what a sanitizer said of each, and whose fault it was.
 *
 * A program may crash by itself, because it was told wrong things and believed them (doc/remote.md): then the first
 * line of its own or of ours, as the stack goes up, is one of a test.  Everything else is our library's.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID_STATUS 66 /* a sanitizer's */

static void said_path(char *path, size_t size, const char *folder, pid_t pid)
{
	snprintf(path, size, "%s/said.%d", folder, (int)pid);
}

/* Before the program starts: its stderr is kept.  LOUD in the environment: it is shown. */
static void said_to(const char *folder)
{
	char options[64], path[512];
	int fd;

	snprintf(options, sizeof options, "detect_leaks=0:exitcode=%d", SAID_STATUS);
	setenv("ASAN_OPTIONS", options, 1);
	setenv("UBSAN_OPTIONS", options, 1);
	if (folder)
		setenv("CHECK_STOPS", "1", 1); /* at the first call that fails: test/remote/check.h */
	if (!folder || getenv("LOUD"))
		return;
	said_path(path, sizeof path, folder, getpid());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0)
		dup2(fd, 2);
}

/* A line that says where it was, of ours or of the program's. */
static bool said_where(const char *line)
{
	if (strstr(line, ": runtime error: "))
		return true;
	return strstr(line, " #") && strstr(line, " in ") && !strstr(line, "/libsanitizer/") &&
	       !strstr(line, "sysdeps/");
}

/* Did it crash in code of ours?  Prints what is known of it; else nothing is kept. */
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
	/* without a sanitizer nobody knows where it was */
	ours = found && !strstr(line, "/test/");
	printf("seed %llu: %s: %s, %s: %s", seed, program, path, ours ? "ours" : "not ours",
		found ? line : "no word of it\n");
	return ours;
}
