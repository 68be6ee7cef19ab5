/* Creates and removes listening sockets. */
#include "server/daemon/listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "server/worker/log.h"
#include "transport/transport.h"

static const char *unix_path(const char *address)
{
	return strncmp(address, "unix:", 5) ? NULL : address + 5;
}

/* The socket is created for its owner alone; group permission is added only after the group is set. */
static int socket_share(const char *path, gid_t group)
{
	if (!chown(path, -1, group) && !chmod(path, 0660))
		return 0;
	int err = -errno;
	log_event("cannot give %s to its group: %s", path, strerror(-err));
	return err;
}

int listener_init(struct listener *l, const char *address, gid_t group, bool text)
{
	char error[LINK_ERROR_TEXT];
	const char *path = unix_path(address);
	struct stat st;
	int err;

	*l = (struct listener){.fd = text ? text_listen(address, 0600, error) : link_listen(address, 0600, error)};
	if (l->fd < 0) {
		log_event("cannot listen on %s: %s%s", address, error,
			l->fd == -EADDRINUSE ? " (is another server running?)" : "");
		return l->fd;
	}
	if (path && !lstat(path, &st))
		l->device = st.st_dev, l->inode = st.st_ino;
	if (link_address(l->fd, l->name, sizeof l->name))
		snprintf(l->name, sizeof l->name, "%s", address);
	err = path && group != (gid_t)-1 ? socket_share(path, group) : 0;
	if (err)
		listener_finish(l);
	return err;
}

void listener_finish(struct listener *l)
{
	const char *path = unix_path(l->name);
	struct stat st;

	if (l->inode && path && !lstat(path, &st) && st.st_dev == l->device && st.st_ino == l->inode)
		unlink(path);
	close(l->fd);
	l->fd = -1;
}
