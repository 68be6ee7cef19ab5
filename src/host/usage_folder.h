/*
 * usage_folder.h - the folder in which the processes of a user publish their usage (usage.h).
 *
 *	GANGWAY_USAGE				if set
 *	/dev/shm/gangway-UID			usually
 *	/dev/shm/gangway-UID.RANDOM		if another user has created that one
 *
 * Every user can create files in /dev/shm.  Only a folder that belongs to this user, with mode 0700, is used; names that
 * others have taken are passed over, so no user can keep another one from publishing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Finds the folder, or creates it.  A descriptor; -1: there is none.  path, if not NULL, gets the name. */
int usage_folder_open(bool make, char *path, size_t size);
