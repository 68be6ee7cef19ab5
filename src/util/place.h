/* place.h - where a local server listens when nobody says otherwise. */
#pragma once

#include <stddef.h>

/* "unix:/run/user/1000/gangway.sock", or "unix:/run/gangway.sock" for root; GANGWAY_SOCKET overrides the path. */
void place_socket(char *address, size_t size);
