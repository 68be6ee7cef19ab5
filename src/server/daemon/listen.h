/*
 * listen.h - sockets on which clients connect.
 *
 * Only the owner may use a unix socket, or a group as well.  Its file is removed with the server if it is still the
 * file that the server created.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define LISTENERS 8

struct listener {
	int fd;
	char name[256]; /* the address as clients write it */
	dev_t device;   /* of the socket's file; inode 0: no file */
	ino_t inode;
};

/* For clients, or if `text` for HTTP.  0, or -errno after logging why. */
int listener_init(struct listener *l, const char *address, gid_t group, bool text);
void listener_finish(struct listener *l);
