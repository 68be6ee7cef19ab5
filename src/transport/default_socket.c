#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "transport/default_socket.h"

void place_socket(char *address, size_t size)
{
	const char *given = getenv("GANGWAY_SOCKET"), *run = getenv("XDG_RUNTIME_DIR");

	if (given && *given)
		snprintf(address, size, "unix:%s", given);
	else if (geteuid() == 0)
		snprintf(address, size, "unix:" PLACE_SYSTEM);
	else if (run && *run)
		snprintf(address, size, "unix:%s/gangway.sock", run);
	else
		snprintf(address, size, "unix:/run/user/%u/gangway.sock", (unsigned)geteuid());
}

/* The name counts, which may be a link: who made it decides who listens. */
static bool trusted(const char *address)
{
	struct stat name, there;

	return !lstat(address + 5, &name) && (name.st_uid == 0 || name.st_uid == geteuid()) &&
	       !stat(address + 5, &there) && S_ISSOCK(there.st_mode);
}

bool place_find(char *address, size_t size)
{
	place_socket(address, size);
	if (trusted(address))
		return true;
	if (getenv("GANGWAY_SOCKET"))
		return false;
	snprintf(address, size, "unix:" PLACE_SYSTEM);
	return trusted(address);
}
