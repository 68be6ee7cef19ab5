/*
 * said.h - programs that a server has lied to: what a sanitizer said of each, and whose fault it was.
 *
 * A program may crash by itself, because it was told wrong things and believed them (doc/remote.md): then the first
 * line of its own or of ours, as the stack goes up, is one of a test.  Everything else is our library's.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID_STATUS 66 /* a sanitizer's */

/* Before the program starts. */
static void said_to(const char *folder)
{
	char options[512];

	snprintf(options, sizeof options, "detect_leaks=0:exitcode=%d%s%s%s", SAID_STATUS, folder ? ":log_path=" : "",
		folder ? folder : "", folder ? "/said" : "");
	setenv("ASAN_OPTIONS", options, 1);
	setenv("UBSAN_OPTIONS", options, 1);
}

static bool said_frame(const char *line)
{
	return strstr(line, " in ") && strstr(line, " #") && !strstr(line, "/libsanitizer/") && !strstr(line, "libc-start") &&
	       !strstr(line, "/glibc") && !strstr(line, "sysdeps/");
}

/* Did it crash in code of ours?  Prints what is known of it. */
static bool said_ours(const char *folder, const char *program, unsigned long long seed, pid_t pid, int status)
{
	char path[512], line[1024];
	bool crashed = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == SAID_STATUS), ours = true;
	FILE *f;

	if (!crashed)
		return false;
	snprintf(path, sizeof path, "%s/said.%d", folder, (int)pid);
	f = fopen(path, "r");
	if (!f) /* without a sanitizer nobody knows where it was */
		return printf("seed %llu: %s: status %x\n", seed, program, (unsigned)status), false;
	while (fgets(line, sizeof line, f) && !said_frame(line))
		;
	if (!feof(f))
		ours = !strstr(line, "/test/");
	printf("seed %llu: %s: %s: %s, %s", seed, program, path, ours ? "ours" : "its own", feof(f) ? "\n" : line);
	fclose(f);
	return ours;
}
