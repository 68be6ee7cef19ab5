/* default_socket.h - the socket that a local server listens on, and that clients look for, by default. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SYSTEM_SOCKET "/run/gangway.sock" /* root's */

/* "unix:/run/user/1000/gangway.sock", or "unix:/run/gangway.sock" for root; GANGWAY_SOCKET overrides the path. */
void default_socket_address(char *address, size_t size);

/*
 * For clients: the first default socket that exists: GANGWAY_SOCKET, the user's own, or the system's. Its server may be
 * gone. Sockets that another user could have placed there are skipped.
 */
bool default_socket_find(char *address, size_t size);
