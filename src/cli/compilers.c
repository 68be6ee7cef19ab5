/* Lead programs on a CPU device to compilers that keep PTX, and their caches to folders of their own. */
#include "cli/compilers.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN_FOLDER "/gangway-cpu" /* the end of the name of every cache folder that compilers_set sets */

static bool list_has_word(const char *list, const char *word)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");

		if (n == strlen(word) && !memcmp(list, word, n))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

bool compilers_kept(void)
{
	return list_has_word(getenv("GANGWAY_KEEP"), "ptxas");
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* Set a cache folder: our own one in the user's, which is `preset` in HOME by default. */
static int cache_set(const char *variable, const char *preset)
{
	const char *old = getenv(variable), *home = getenv("HOME");
	char *folder;

	if (old && ends_with(old, OWN_FOLDER)) /* gangway run inside of gangway run */
		return 0;
	if (!old && !home)
		return 0;
	if (asprintf(&folder, old ? "%s%s%s" : "%s/%s%s", old ? old : home, old ? "" : preset, OWN_FOLDER) < 0)
		return -1;
	int r = setenv(variable, folder, 1);
	free(folder);
	return r;
}

static int path_prepend(const char *folder)
{
	const char *old = getenv("PATH");
	char *list;

	if (list_has_word(old, folder))
		return 0;
	if (asprintf(&list, old && *old ? "%s:%s" : "%s", folder, old) < 0)
		return -1;
	int r = setenv("PATH", list, 1);
	free(list);
	return r;
}

int compilers_set(const char *dir)
{
	char folder[PATH_MAX + 16], tool[PATH_MAX + 64];

	snprintf(folder, sizeof folder, "%s/cpu/bin", dir);
	snprintf(tool, sizeof tool, "%s/ptxas", folder);
	if (access(tool, X_OK)) /* an incomplete installation */
		return 0;
	if (path_prepend(folder) || setenv("TRITON_PTXAS_PATH", tool, 1) ||
		setenv("TRITON_PTXAS_BLACKWELL_PATH", tool, 1) || setenv("GANGWAY_KEEP_PTX", "1", 1))
		return -1;
	if (cache_set("CUPY_CACHE_DIR", ".cupy/kernel_cache") || cache_set("NUMBA_CACHE_DIR", ".cache/numba"))
		return -1;
	return 0;
}
