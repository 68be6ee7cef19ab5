/*
 * Another user cannot keep this user's processes from publishing their usage: neither a folder or link of that user at
 * /dev/shm/gangway-UID nor one with a random name is used, and the processes still find each other.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/check.h"
#include "host/usage.h"
#include "host/usage_folder.h"

static bool page_count(const struct usage_page *p, void *arg)
{
	*(int *)arg += p->pid != (uint32_t)getpid();
	return true;
}

/* Runs f as this user. */
static int as_user(uid_t uid, int (*f)(uid_t uid))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(setgid(uid) || setuid(uid) ? 99 : f(uid));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* Two processes of the user publish, and each finds the other. */
static int publish_and_find(uid_t uid)
{
	char path[256], again[256];
	int fds[2], seen = 0, folder = usage_folder_open(true, path, sizeof path);
	char byte;

	(void)uid;
	CHECK(folder >= 0);
	close(folder);
	folder = usage_folder_open(false, again, sizeof again);
	CHECK(folder >= 0 && !strcmp(path, again));
	close(folder);
	if (pipe(fds))
		return 1;
	pid_t other = fork();
	if (!other) {
		if (!usage_open("cpu") || write(fds[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	close(fds[1]); /* a child that fails ends the read */
	CHECK(read(fds[0], &byte, 1) == 1);
	usage_each("cpu", page_count, &seen);
	CHECK_EQ(seen, 1);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	return RESULT();
}

/* The other user takes the names, before or after. */
static int squat(uid_t uid)
{
	char path[64], target[64];

	snprintf(path, sizeof path, "/dev/shm/gangway-%u", uid - 1);
	CHECK(!mkdir(path, 0777) && !chmod(path, 0777));
	snprintf(path, sizeof path, "/dev/shm/gangway-%u.AAAAAA", uid - 1);
	CHECK(!mkdir(path, 0777));
	snprintf(target, sizeof target, "/dev/shm/gangway-%u", uid);
	CHECK(!mkdir(target, 0700));
	snprintf(path, sizeof path, "/dev/shm/gangway-%u.AAAAAB", uid - 1);
	CHECK(!symlink(target, path));
	return RESULT();
}

static void clean(uid_t uid)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf /dev/shm/gangway-%u /dev/shm/gangway-%u.* /dev/shm/gangway-%u", uid,
		uid, uid + 1);
	if (system(command))
		fprintf(stderr, "cannot clean up\n");
}

int main(void)
{
	uid_t uid = 1000000u + (uid_t)getpid() % 1000000u * 2; /* two users of this test alone */

	if (geteuid() || access("/dev/shm", W_OK)) {
		printf("needs root and /dev/shm\n");
		return SKIP;
	}
	unsetenv("GANGWAY_USAGE");
	CHECK_EQ(as_user(uid, publish_and_find), 0);
	clean(uid);
	CHECK_EQ(as_user(uid + 1, squat), 0);
	CHECK_EQ(as_user(uid, publish_and_find), 0);
	CHECK_EQ(as_user(uid, publish_and_find), 0); /* with the folder of the run before */
	clean(uid);
	return RESULT();
}
