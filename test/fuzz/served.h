/* served.h - a separate gangway serve for a fuzzer, and the check of its log at the end. */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct served_by {
	pid_t pid;
	char address[2][256]; /* unix, tcp */
	char folder[128], log[160];
} served;

/* Reads both addresses from the log as soon as they are there. */
static bool served_addresses(void)
{
	char line[1024];

	for (int i = 0; i < 600; i++, usleep(100000)) {
		FILE *f = fopen(served.log, "r");
		int n = 0;
		while (f && n < 2 && fgets(line, sizeof line, f)) {
			char *at = strstr(line, "listening on ");
			if (at)
				sscanf(at + 13, "%255s", served.address[n++]);
		}
		if (f)
			fclose(f);
		if (n == 2)
			return true;
	}
	return false;
}

static bool served_start(const char *gangway, const char *device)
{
	const char *tmp = getenv("TMPDIR");
	char listen[200];

	snprintf(served.folder, sizeof served.folder, "%s/gangway-XXXXXX", tmp ? tmp : P_tmpdir);
	if (!mkdtemp(served.folder))
		return false;
	snprintf(listen, sizeof listen, "unix:%s/socket", served.folder);
	snprintf(served.log, sizeof served.log, "%s/log", served.folder);
	served.pid = fork();
	if (!served.pid) {
		int fd = open(served.log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		dup2(fd, 2);
		setenv("GANGWAY_DEVICE_MEMORY", "256M", 1);
		execl(gangway, "gangway", "serve", "--on", device, "--listen", listen, "--listen", "tcp://:0",
			(char *)NULL);
		_exit(127);
	}
	return served.pid > 0 && served_addresses();
}

/* Finds and prints lines that must not be in the log. */
static int served_complaints(void)
{
	static const char *const bad[] = {
		"ended by signal", "exit status", "Sanitizer", "runtime error", "cannot start"};
	char line[1024];
	int n = 0;
	FILE *f = fopen(served.log, "r");

	while (f && fgets(line, sizeof line, f))
		for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
			if (strstr(line, bad[i]) && ++n < 20)
				fputs(line, stdout);
	if (f)
		fclose(f);
	return n;
}

/*
 * Stops the server, which exits after its last worker; each worker exits with its client. False: the server reported an
 * error or died; its log is kept.
 */
static bool served_end(void)
{
	int status = 0;
	pid_t gone = waitpid(served.pid, &status, WNOHANG); /* -1: already reaped */
	bool fine = !gone;

	if (!fine)
		printf("the parent died: status %x\n", (unsigned)status);
	else
		kill(served.pid, SIGTERM);
	for (int i = 0; i < 6000 && !gone; i++, usleep(10000))
		gone = waitpid(served.pid, NULL, WNOHANG);
	if (!gone) {
		printf("a worker does not end\n");
		kill(served.pid, SIGTERM); /* a second SIGTERM ends the server at once */
		waitpid(served.pid, NULL, 0);
		fine = false;
	}
	fine &= !served_complaints();
	if (fine)
		unlink(served.log), rmdir(served.folder);
	return fine;
}
