/*
 * fork.h - for test programs that fork while they have threads: a fork that AddressSanitizer survives.
 *
 * Its allocator does not keep its locks whole over a fork (gcc 12).  A thread that begins holds one for a moment; a child
 * that was forked in it waits for ever, in its first malloc or at its exit.  So under that sanitizer the other threads are
 * to be asleep first, as idle ones are.  Without it a fork is a fork.
 */
#pragma once

#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline bool thread_sleeps(const char *number)
{
	char path[64], text[256] = "";
	int fd;

	snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* it has ended */
	bool got = read(fd, text, sizeof text - 1) > 0;
	const char *state = got ? strrchr(text, ')') : NULL; /* behind the name */
	close(fd);
	return !state || state[2] == 'S';
}

static inline bool others_sleep(void)
{
	DIR *all = opendir("/proc/self/task");
	struct dirent *e;
	bool sleep = true;

	while (all && (e = readdir(all)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != gettid() && !thread_sleeps(e->d_name))
			sleep = false;
	if (all)
		closedir(all);
	return sleep;
}

static inline pid_t calm_fork(void)
{
	for (int looks = 0, calm = 0; looks < 5000 && calm < 3; looks++) {
		usleep(1000);
		calm = others_sleep() ? calm + 1 : 0;
	}
	return fork();
}
#else
static inline pid_t calm_fork(void)
{
	return fork();
}
#endif
