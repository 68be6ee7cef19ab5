/* Sends state changes to systemd. */
#include "server/daemon/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void systemd_notify(const char *format, ...)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char state[256];
	va_list ap;
	int fd;

	if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof to.sun_path)
		return;
	strcpy(to.sun_path, path);
	if (path[0] == '@')
		to.sun_path[0] = 0;
	va_start(ap, format);
	vsnprintf(state, sizeof state, format, ap);
	va_end(ap);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
		offsetof(struct sockaddr_un, sun_path) + strlen(path));
	close(fd);
}
