/* Access to the files and the environment of a system, which may not be this one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "loader/sysroot.h"

#define LINKS_MAX       40
#define ENVIRONMENT_MAX (8 << 20) /* more than a kernel allows by default */

extern char **environ;

int sysroot_init(struct sysroot *sys, const char *root)
{
	*sys = (struct sysroot){.environment = environ};
	if (!root)
		return 0;
	if (!realpath(root, sys->root))
		return -errno;
	if (!strcmp(sys->root, "/"))
		sys->root[0] = 0;
	return sysroot_is_dir(sys, "/") ? 0 : -ENOTDIR;
}

/* Read a file of unknown size, such as those in /proc. Returns malloc'ed text with two NULs at the end, or NULL. */
static char *read_whole_file(const char *path, size_t most, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0, room = 0;
	char *text = NULL;
	ssize_t r = fd < 0 ? -1 : 1;

	while (r > 0 && n < most) {
		if (n + 2 >= room) {
			char *larger = realloc(text, room = room ? 2 * room : 8192);
			if (!larger)
				break;
			text = larger;
		}
		r = read(fd, text + n, room - n - 2);
		n += r > 0 ? (size_t)r : 0;
	}
	int e = errno;
	if (fd >= 0)
		close(fd);
	if (r < 0) {
		free(text);
		errno = e;
		return NULL;
	}
	if (text)
		text[n] = text[n + 1] = 0;
	*size = n;
	return text;
}

/* Read /proc/PID/environ into a list of strings. */
static int read_environment(struct sysroot *sys)
{
	char path[64], *text;
	size_t size, n = 0, i = 0;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)sys->pid);
	text = read_whole_file(path, ENVIRONMENT_MAX, &size);
	if (!text)
		return -errno;
	for (size_t at = 0; at < size; at++)
		n += !text[at];
	char **list = calloc(n + 2, sizeof *list);
	if (!list) {
		free(text);
		return -ENOMEM;
	}
	for (size_t at = 0; at < size && i <= n; at += strlen(text + at) + 1)
		list[i++] = text + at;
	sys->environment = list;
	sys->owned = text;
	return 0;
}

/* Do the process and we share the mount namespace and the root folder, so that paths mean the same to both? */
static bool shares_our_root(pid_t pid)
{
	char path[64], theirs[64], ours[64];
	struct stat a, b;

	snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
	ssize_t n = readlink(path, theirs, sizeof theirs), m = readlink("/proc/self/ns/mnt", ours, sizeof ours);
	snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
	return n > 0 && n == m && !memcmp(theirs, ours, (size_t)n) && !stat(path, &a) && !stat("/", &b) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int sysroot_init_process(struct sysroot *sys, pid_t pid)
{
	*sys = (struct sysroot){.pid = pid, .environment = environ};
	if (!shares_our_root(pid))
		snprintf(sys->root, sizeof sys->root, "/proc/%d/root", (int)pid);
	return read_environment(sys);
}

/* For a process after chroot, /proc shows paths as we see them, not as the process does. */
void sysroot_from_proc(const struct sysroot *sys, char *path)
{
	char link[64], root[PATH_MAX];

	snprintf(link, sizeof link, "/proc/%d/root", (int)sys->pid);
	ssize_t n = sys->root[0] ? readlink(link, root, sizeof root) : 0;
	if (n > 1 && n < (ssize_t)sizeof root && !strncmp(path, root, (size_t)n) && path[n] == '/')
		memmove(path, path + n, strlen(path + n) + 1);
}

void sysroot_finish(struct sysroot *sys)
{
	if (sys->owned) {
		free(sys->environment);
		free(sys->owned);
	}
	*sys = (struct sysroot){0};
}

const char *sysroot_env(const struct sysroot *sys, const char *name)
{
	size_t n = strlen(name);

	for (char **e = sys->environment; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

static int path_join(char *out, size_t size, const char *a, const char *b)
{
	return snprintf(out, size, "%s%s", a, b) < (int)size ? 0 : -ENAMETOOLONG;
}

/* Append one path component to `real`. If it is a link, its target is put in front of `left`. */
static int resolve_component(const struct sysroot *sys, char *real, const char *part, char *left, int *links)
{
	char outside[PATH_MAX], target[PATH_MAX], rest[PATH_MAX];
	size_t used = strlen(real);

	if (!strcmp(part, "."))
		return 0;
	if (!strcmp(part, "..")) {
		char *slash = strrchr(real, '/');
		if (slash)
			*slash = 0;
		return 0;
	}
	if (used + strlen(part) + 2 > PATH_MAX)
		return -ENAMETOOLONG;
	sprintf(real + used, "/%s", part);
	if (path_join(outside, sizeof outside, sys->root, real))
		return -ENAMETOOLONG;
	ssize_t n = readlink(outside, target, sizeof target - 1);
	if (n < 0)
		return errno == EINVAL ? 0 : -errno;
	if (++*links > LINKS_MAX)
		return -ELOOP;
	target[n] = 0;
	if (path_join(rest, sizeof rest, target, left))
		return -ENAMETOOLONG;
	strcpy(left, rest);
	real[target[0] == '/' ? 0 : used] = 0;
	return 0;
}

int sysroot_real(const struct sysroot *sys, const char *path, char real[PATH_MAX])
{
	char left[PATH_MAX], part[PATH_MAX];
	int links = 0, err = 0;

	real[0] = 0;
	if (*path != '/' && !sys->root[0] &&
		!getcwd(real, PATH_MAX)) /* relative paths of another system start at its root */
		return -errno;
	if (!strcmp(real, "/"))
		real[0] = 0;
	if (strlen(path) >= sizeof left)
		return -ENAMETOOLONG;
	strcpy(left, path);
	while (!err) {
		char *at = left + strspn(left, "/");
		size_t n = strcspn(at, "/");

		if (!n)
			break;
		memcpy(part, at, n);
		part[n] = 0;
		memmove(left, at + n, strlen(at + n) + 1); /* now starts with a slash, or is empty */
		err = resolve_component(sys, real, part, left, &links);
	}
	if (!err && !real[0])
		strcpy(real, "/");
	return err;
}

int sysroot_outside(const struct sysroot *sys, const char *path, char outside[PATH_MAX])
{
	char real[PATH_MAX];
	int err = sysroot_real(sys, path, real);

	return err ? err : path_join(outside, PATH_MAX, sys->root, real);
}

int sysroot_stat(const struct sysroot *sys, const char *path, struct stat *st)
{
	char outside[PATH_MAX];
	int err = sysroot_outside(sys, path, outside);

	return err ? err : stat(outside, st) ? -errno : 0;
}

bool sysroot_is_file(const struct sysroot *sys, const char *path)
{
	struct stat st;

	return !sysroot_stat(sys, path, &st) && S_ISREG(st.st_mode);
}

bool sysroot_is_dir(const struct sysroot *sys, const char *path)
{
	struct stat st;

	return !sysroot_stat(sys, path, &st) && S_ISDIR(st.st_mode);
}

int sysroot_open(const struct sysroot *sys, const char *path)
{
	char outside[PATH_MAX];
	struct stat st;
	int err = sysroot_outside(sys, path, outside);

	if (err)
		return err;
	if (stat(outside, &st))
		return -errno;
	if (!S_ISREG(st.st_mode)) /* opening a device may have side effects */
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	int fd = open(outside, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

DIR *sysroot_list(const struct sysroot *sys, const char *path)
{
	char outside[PATH_MAX];

	return sysroot_outside(sys, path, outside) ? NULL : opendir(outside);
}

ssize_t sysroot_read(const struct sysroot *sys, const char *path, char *text, size_t size)
{
	int fd = sysroot_open(sys, path);
	size_t n = 0;
	ssize_t r = 1;

	text[0] = 0;
	if (fd < 0)
		return fd;
	while (n + 1 < size && (r = read(fd, text + n, size - 1 - n)) > 0)
		n += (size_t)r;
	int e = errno;
	close(fd);
	text[n] = 0;
	return r < 0 ? -e : (ssize_t)n;
}
