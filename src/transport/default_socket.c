#include <stdio.h>
#include <stdlib.h>
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

/* The owner of the name, which may be a link, decides who listens. */
static bool socket_owner_trusted(const char *address)
{
	struct stat name, there;

	return !lstat(address + 5, &name) && (name.st_uid == 0 || name.st_uid == geteuid()) &&
	       !stat(address + 5, &there) && S_ISSOCK(there.st_mode);
}

bool default_socket_find(char *address, size_t size)
{
	default_socket_address(address, size);
	if (socket_owner_trusted(address))
		return true;
	if (secure_getenv("GANGWAY_SOCKET"))
		return false;
	snprintf(address, size, "unix:" SYSTEM_SOCKET);
	return socket_owner_trusted(address);
}
