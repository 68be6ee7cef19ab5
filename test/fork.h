/*
 * fork.h - for test programs that fork while they have threads: a fork that AddressSanitizer survives.
 *
 * The allocator of AddressSanitizer does not protect its locks across a fork (gcc 12). A starting thread holds one
 * briefly; a child forked at that moment deadlocks in its first malloc or at its exit. So under that sanitizer this
 * function waits until the other threads sleep. Without the sanitizer it only forks.
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
		return true; /* the thread has ended */
	bool got = read(fd, text, sizeof text - 1) > 0;
	const char *state = got ? strrchr(text, ')') : NULL; /* after the name */
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
