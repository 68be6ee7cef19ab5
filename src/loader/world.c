#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "loader/world.h"

#define LINKS       40
#define ENVIRONMENT (8 << 20) /* more than a kernel allows by default */

extern char **environ;

int world_init(struct world *w, const char *root)
{
	*w = (struct world){.environment = environ};
	if (!root)
		return 0;
	if (!realpath(root, w->root))
		return -errno;
	if (!strcmp(w->root, "/"))
		w->root[0] = 0;
	return world_is_dir(w, "/") ? 0 : -ENOTDIR;
}

/* The whole of a file that does not say its size: malloc'ed, ended by two zeroes. */
static char *read_all(const char *path, size_t most, size_t *size)
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

/* The block's lines, and behind them the list of pointers to them. */
static int take_environment(struct world *w)
{
	char path[64], *text;
	size_t size, n = 0, i = 0;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)w->pid);
	text = read_all(path, ENVIRONMENT, &size);
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
	w->environment = list;
	w->owned = text;
	return 0;
}

/* Both in the same place, so that one name means one file to both. */
static bool same_root(pid_t pid)
{
	char path[64], theirs[64], ours[64];
	struct stat a, b;

	snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
	ssize_t n = readlink(path, theirs, sizeof theirs), m = readlink("/proc/self/ns/mnt", ours, sizeof ours);
	snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
	return n > 0 && n == m && !memcmp(theirs, ours, (size_t)n) && !stat(path, &a) && !stat("/", &b) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int world_init_process(struct world *w, pid_t pid)
{
	*w = (struct world){.pid = pid, .environment = environ};
	if (!same_root(pid))
		snprintf(w->root, sizeof w->root, "/proc/%d/root", (int)pid);
	return take_environment(w);
}

/* After chroot, /proc names files as we see them, and not as the process does. */
void world_from_proc(const struct world *w, char *path)
{
	char link[64], root[PATH_MAX];

	snprintf(link, sizeof link, "/proc/%d/root", (int)w->pid);
	ssize_t n = w->root[0] ? readlink(link, root, sizeof root) : 0;
	if (n > 1 && n < (ssize_t)sizeof root && !strncmp(path, root, (size_t)n) && path[n] == '/')
		memmove(path, path + n, strlen(path + n) + 1);
}

void world_finish(struct world *w)
{
	if (w->owned) {
		free(w->environment);
		free(w->owned);
	}
	*w = (struct world){0};
}

const char *world_env(const struct world *w, const char *name)
{
	size_t n = strlen(name);

	for (char **e = w->environment; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

static int join(char *out, size_t size, const char *a, const char *b)
{
	return snprintf(out, size, "%s%s", a, b) < (int)size ? 0 : -ENAMETOOLONG;
}

/* One component onto `real`; what a link says goes before what is left. */
static int step(const struct world *w, char *real, const char *part, char *left, int *links)
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
	if (join(outside, sizeof outside, w->root, real))
		return -ENAMETOOLONG;
	ssize_t n = readlink(outside, target, sizeof target - 1);
	if (n < 0)
		return errno == EINVAL ? 0 : -errno;
	if (++*links > LINKS)
		return -ELOOP;
	target[n] = 0;
	if (join(rest, sizeof rest, target, left))
		return -ENAMETOOLONG;
	strcpy(left, rest);
	real[target[0] == '/' ? 0 : used] = 0;
	return 0;
}

int world_real(const struct world *w, const char *path, char real[PATH_MAX])
{
	char left[PATH_MAX], part[PATH_MAX];
	int links = 0, err = 0;

	real[0] = 0;
	if (*path != '/' && !w->root[0] && !getcwd(real, PATH_MAX)) /* another world is entered at its root */
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
		memmove(left, at + n, strlen(at + n) + 1); /* begins with a slash, or is empty */
		err = step(w, real, part, left, &links);
	}
	if (!err && !real[0])
		strcpy(real, "/");
	return err;
}

int world_outside(const struct world *w, const char *path, char outside[PATH_MAX])
{
	char real[PATH_MAX];
	int err = world_real(w, path, real);

	return err ? err : join(outside, PATH_MAX, w->root, real);
}

int world_stat(const struct world *w, const char *path, struct stat *st)
{
	char outside[PATH_MAX];
	int err = world_outside(w, path, outside);

	return err ? err : stat(outside, st) ? -errno : 0;
}

bool world_is_file(const struct world *w, const char *path)
{
	struct stat st;

	return !world_stat(w, path, &st) && S_ISREG(st.st_mode);
}

bool world_is_dir(const struct world *w, const char *path)
{
	struct stat st;

	return !world_stat(w, path, &st) && S_ISDIR(st.st_mode);
}

int world_open(const struct world *w, const char *path)
{
	char outside[PATH_MAX];
	struct stat st;
	int err = world_outside(w, path, outside);

	if (err)
		return err;
	if (stat(outside, &st))
		return -errno;
	if (!S_ISREG(st.st_mode)) /* opening a device may do something */
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	int fd = open(outside, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

DIR *world_list(const struct world *w, const char *path)
{
	char outside[PATH_MAX];

	return world_outside(w, path, outside) ? NULL : opendir(outside);
}

ssize_t world_read(const struct world *w, const char *path, char *text, size_t size)
{
	int fd = world_open(w, path);
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
