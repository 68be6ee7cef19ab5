/*
 * listen.h - where clients come in.
 *
 * A unix socket is its owner's alone, or a group's as well; its file goes away with the server, if it is
 * still the one that the server has made.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define LISTENERS 8

struct listener {
	int fd;
	char name[256]; /* as clients write it */
	dev_t device;   /* of the socket's file; inode 0: there is none */
	ino_t inode;
};

/* For clients, or for text (http.h).  0 or -errno, having said why. */
int listener_init(struct listener *l, const char *address, gid_t group, bool text);
void listener_finish(struct listener *l);
