/* place.h - where a local server listens when nobody says otherwise. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PLACE_SYSTEM "/run/gangway.sock" /* root's */

/* "unix:/run/user/1000/gangway.sock", or "unix:/run/gangway.sock" for root; GANGWAY_SOCKET overrides the path. */
void place_socket(char *address, size_t size);

/*
 * For clients: the first such socket that is there, our own user's or the system's.  Somebody may have
 * listened on it once and not any more.  A socket that another user could have put there is not taken.
 */
bool place_find(char *address, size_t size);
