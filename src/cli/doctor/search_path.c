/* The commands that take a library off the loader's search path: out of LD_LIBRARY_PATH, ld.so.conf or a folder. */
#include <stdio.h>
#include <string.h>
#include "cli/doctor/command.h"
#include "cli/doctor/doctor.h"
#include "loader/ldconf.h"

/* The command that removes an entry from LD_LIBRARY_PATH. */
static void environment_command(const char *list, const char *entry, char *command, size_t size)
{
	char rest[PATH_MAX] = "", quoted[PATH_MAX + 16];
	size_t used = 0;

	while (list && used < sizeof rest) {
		size_t n = strcspn(list, ":;");

		if (n && (n != strlen(entry) || memcmp(list, entry, n)))
			used += (size_t)snprintf(
				rest + used, sizeof rest - used, "%s%.*s", used ? ":" : "", (int)n, list);
		list = list[n] ? list + n + 1 : NULL;
	}
	command_quote(rest, quoted, sizeof quoted);
	if (used)
		snprintf(command, size, "export LD_LIBRARY_PATH=%s", quoted);
	else
		snprintf(command, size, "unset LD_LIBRARY_PATH");
}

/* The command that removes the file's folder from ld.so.conf, or the file itself. */
static void cache_command(const struct doctor *d, const char *path, char *command, size_t size)
{
	char dir[PATH_MAX], file[PATH_MAX], quoted[PATH_MAX + 16];
	const char *slash = strrchr(path, '/');

	snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 0, path);
	if (ldconf_find(&d->sysroot, dir, file)) {
		command_quote(file, quoted, sizeof quoted);
		snprintf(command, size, "sudo sed -i '\\|^%s/*$|d' %s && sudo ldconfig", dir, quoted);
	} else {
		command_quote(path, quoted, sizeof quoted);
		snprintf(command, size, "sudo rm %s && sudo ldconfig", quoted);
	}
}

void search_path_command(const struct doctor *d, const struct found_library *f, char *command, size_t size)
{
	command[0] = 0;
	switch (f->by) {
	case FOUND_BY_ENVIRONMENT:
		environment_command(sysroot_env(&d->sysroot, "LD_LIBRARY_PATH"), f->entry, command, size);
		break;
	case FOUND_BY_CACHE:
	case FOUND_BY_DEFAULT:
		cache_command(d, f->path, command, size);
		break;
	default:
		break;
	}
}
