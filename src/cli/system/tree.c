#include "cli/system/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST (1u << 20)

int tree_open(const char *root)
{
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int step(int at, const char *name, bool make)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && make && !mkdirat(at, name, 0755))
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? (errno == ENOTDIR ? -ELOOP : -errno) : fd;
}

/* The folder that holds the last part of path, which *name then is. */
static int folder(int root, const char *path, bool make, char name[256])
{
	int at = dup(root), next;

	while (at >= 0) {
		size_t n;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (!n || n >= 256 || (n == 2 && !memcmp(path, "..", 2))) {
			close(at);
			return -EINVAL;
		}
		snprintf(name, 256, "%.*s", (int)n, path);
		if (!path[n + strspn(path + n, "/")])
			return at;
		next = step(at, name, make);
		close(at);
		at = next;
		path += n;
	}
	return at;
}

int tree_exists(int root, const char *path)
{
	struct stat st;
	char name[256];
	int at = folder(root, path, false, name), r;

	if (at < 0)
		return at == -ENOENT ? 0 : at;
	r = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) ? -errno : S_ISLNK(st.st_mode) ? -ELOOP : 1;
	close(at);
	return r == -ENOENT ? 0 : r;
}

static int open_regular(int root, const char *path, size_t *size)
{
	struct stat st;
	char name[256];
	int at = folder(root, path, false, name), fd;

	if (at < 0)
		return at;
	fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(at);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > MOST) {
		close(fd);
		return st.st_size > MOST ? -EFBIG : -EINVAL;
	}
	*size = (size_t)st.st_size;
	return fd;
}

int tree_read(int root, const char *path, char **text, size_t *size)
{
	int fd = open_regular(root, path, size);
	size_t used = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	*text = malloc(*size + 1);
	while (*text && used < *size && (n = read(fd, *text + used, *size - used)) > 0)
		used += (size_t)n;
	close(fd);
	if (!*text)
		return -ENOMEM;
	(*text)[used] = 0;
	*size = used;
	return 0;
}

int tree_write(int root, const char *path, const char *text, size_t size)
{
	char name[256];
	int at = folder(root, path, true, name), fd, err = 0;
	ssize_t n;

	if (at < 0)
		return at;
	fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		err = -errno;
	while (!err && size) {
		n = write(fd, text, size);
		if (n <= 0)
			err = -errno;
		else
			text += n, size -= (size_t)n;
	}
	if (fd >= 0 && (fchmod(fd, 0644) || close(fd)))
		err = err ? err : -errno;
	if (err && fd >= 0)
		unlinkat(at, name, 0);
	close(at);
	return err;
}

static int remove_one(int root, const char *path, int flags)
{
	char name[256];
	int at = folder(root, path, false, name), err;

	if (at < 0)
		return at;
	err = unlinkat(at, name, flags) ? -errno : 0;
	close(at);
	return err;
}

int tree_remove(int root, const char *path)
{
	return remove_one(root, path, 0);
}

int tree_remove_folder(int root, const char *path)
{
	return remove_one(root, path, AT_REMOVEDIR);
}
