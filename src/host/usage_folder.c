/* Finds the user's folder for usage pages among those that anybody can create. */
#include "host/usage_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARED "/dev/shm"

/* -1: no such folder, or it does not belong to this user alone. */
static int private_folder_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 077)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The folder with the first name in alphabetical order, so that all processes find the same one. */
static int random_folder_find(char *path, size_t size)
{
	char prefix[32], best[64] = "";
	DIR *dir = opendir(SHARED);
	struct dirent *e;
	int fd;

	snprintf(prefix, sizeof prefix, "gangway-%u.", (unsigned)geteuid());
	while (dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) || strlen(e->d_name) >= sizeof best ||
			(*best && strcmp(e->d_name, best) > 0))
			continue;
		snprintf(path, size, SHARED "/%s", e->d_name);
		fd = private_folder_open(path);
		if (fd < 0)
			continue;
		close(fd);
		strcpy(best, e->d_name);
	}
	if (dir)
		closedir(dir);
	snprintf(path, size, SHARED "/%s", best);
	return *best ? private_folder_open(path) : -1;
}

/* If two processes create a folder at the same time, both use the one that random_folder_find() prefers. */
static int random_folder_open(bool make, char *path, size_t size)
{
	char mine[64];
	int fd = random_folder_find(path, size);

	if (fd >= 0 || !make)
		return fd;
	snprintf(mine, sizeof mine, SHARED "/gangway-%u.XXXXXX", (unsigned)geteuid());
	if (!mkdtemp(mine))
		return -1;
	fd = random_folder_find(path, size);
	if (strcmp(mine, path))
		rmdir(mine);
	return fd;
}

int usage_folder_open(bool make, char *path, size_t size)
{
	const char *given = secure_getenv("GANGWAY_USAGE");
	char own[256];
	int fd;

	if (given && (!strcmp(given, "0") || strlen(given) >= sizeof own))
		return -1;
	snprintf(own, sizeof own, SHARED "/gangway-%u", (unsigned)geteuid());
	if (given && *given)
		strcpy(own, given);
	bool made = make && !mkdir(own, 0700), taken = make && !made && errno == EEXIST;
	fd = private_folder_open(own);
	if (fd < 0 && !(given && *given) && (taken || !make))
		fd = random_folder_open(make, own, sizeof own);
	if (path)
		snprintf(path, size, "%s", fd < 0 ? "" : own);
	return fd;
}
