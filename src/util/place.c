#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "util/place.h"

void place_socket(char *address, size_t size)
{
	const char *given = getenv("GANGWAY_SOCKET"), *run = getenv("XDG_RUNTIME_DIR");

	if (given && *given)
		snprintf(address, size, "unix:%s", given);
	else if (geteuid() == 0)
		snprintf(address, size, "unix:/run/gangway.sock");
	else if (run && *run)
		snprintf(address, size, "unix:%s/gangway.sock", run);
	else
		snprintf(address, size, "unix:/run/user/%u/gangway.sock", (unsigned)geteuid());
}
