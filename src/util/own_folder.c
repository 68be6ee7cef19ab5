/* Finds libraries relative to the own file. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/own_folder.h"

/* Libraries relative to a library, to bin/gangway, and to a program in a subfolder of the build's test folder. */
static const char *const places[] = {"", "../lib/gangway/", "../../lib/gangway/"};

bool own_folder_file(const char *file, char *path, size_t size)
{
	Dl_info self;
	char real[PATH_MAX];

	/* In a program, dladdr returns argv[0], which may be a bare name found in PATH. */
	if (!dladdr((void *)own_folder_file, &self) ||
		!realpath(strchr(self.dli_fname, '/') ? self.dli_fname : "/proc/self/exe", real))
		return false;
	char *slash = strrchr(real, '/');
	*slash = 0;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if (snprintf(path, size, "%s/%s%s", real, places[i], file) >= (int)size)
			return false;
		if (!access(path, R_OK))
			return true;
	}
	snprintf(path, size, "%s/%s", real, file);
	return true;
}
