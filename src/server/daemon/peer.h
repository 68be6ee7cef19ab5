/*
 * peer.h - who asks for the server's status, and what the peer may see and do.
 *
 * An owner is root or the server's user, in the pid namespace and the user namespace of the server: a process that could
 * as well look at all workers in /proc, and kill them.  Root in a container is no owner.  Mount namespaces are not compared:
 * the server's own is private if systemd runs it (packaging/gangway.service.in).
 *
 * Other users see their own clients.  From another pid namespace, a user sees only the clients in that namespace: root of
 * one container is not root of another.
 *
 * Trust: the kernel vouches for the peer of a unix socket.  What cannot be shown is denied.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include "server/daemon/identity.h"

struct peer {
	bool known;  /* false: over TCP, or the process is not visible from here */
	bool inside; /* in the server's namespaces */
	uid_t uid;
	ino_t pid_namespace; /* 0: not known */
};

struct peer peer_of(int fd);

/* May see all clients and end them. */
bool peer_is_owner(const struct peer *p);

/* May see the process `client` of the identity `who`. */
bool peer_sees(const struct peer *p, const struct identity *who, pid_t client);
