#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "transport/default_socket.h"

void default_socket_address(char *address, size_t size)
{
	const char *given = secure_getenv("GANGWAY_SOCKET"), *run = secure_getenv("XDG_RUNTIME_DIR");

	if (given && *given)
		snprintf(address, size, "unix:%s", given);
	else if (geteuid() == 0)
		snprintf(address, size, "unix:" SYSTEM_SOCKET);
	else if (run && *run)
		snprintf(address, size, "unix:%s/gangway.sock", run);
	else
		snprintf(address, size, "unix:/run/user/%u/gangway.sock", (unsigned)geteuid());
}

static bool user_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/*
 * A socket of root or of this user is trusted. So is one that a link of theirs leads to, if nobody but its owner can
 * replace it: then whoever made the link has chosen that owner. The packaged service works this way.
 */
static bool socket_place_trusted(const char *path)
{
	char real[PATH_MAX], *slash;
	struct stat name, socket, folder;

	if (lstat(path, &name) || !user_trusted(name.st_uid) || !realpath(path, real) || lstat(real, &socket) ||
		!S_ISSOCK(socket.st_mode))
		return false;
	if (user_trusted(socket.st_uid))
		return true;
	slash = strrchr(real, '/');
	*slash = 0;
	return !stat(*real ? real : "/", &folder) && !(folder.st_mode & (S_IWGRP | S_IWOTH)) &&
	       (user_trusted(folder.st_uid) || folder.st_uid == socket.st_uid);
}

bool default_socket_find(char *address, size_t size)
{
	default_socket_address(address, size);
	if (socket_place_trusted(address + 5))
		return true;
	if (secure_getenv("GANGWAY_SOCKET"))
		return false;
	snprintf(address, size, "unix:" SYSTEM_SOCKET);
	return socket_place_trusted(address + 5);
}
