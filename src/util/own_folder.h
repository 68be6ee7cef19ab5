/* own_folder.h - finds the libraries that belong to the file which contains this code. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The path of `file` in the folder of this library, links resolved, or if it is not there in the library folder of the
 * installation or build of which this program is a part.  False: the own folder is unknown; else `path` may not exist.
 */
bool own_folder_file(const char *file, char *path, size_t size);
