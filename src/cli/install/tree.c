/* File operations below a root folder that follow no symbolic links. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "cli/install/tree.h"

int tree_open(struct tree *t, const char *root)
{
	*t = (struct tree){.root = root};
	t->fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return t->fd < 0 ? -errno : 0;
}

void tree_close(struct tree *t)
{
	close(t->fd);
}

int tree_lock(struct tree *t)
{
	if (!flock(t->fd, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

/* Open a subfolder and close `at`. */
static int folder_enter(struct tree *t, int at, const char *name, const char *path, size_t n)
{
	struct stat st;
	int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error = errno;

	if (next < 0 && !fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode)) {
		snprintf(t->link, sizeof t->link, "%.*s", (int)n, path);
		error = ELOOP;
	}
	close(at);
	return next < 0 ? -error : next;
}

/* Open the folder that contains the last component of a path, and copy that component to `name`. */
static int parent_open(struct tree *t, const char *path, char name[NAME_MAX + 1])
{
	int at = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
	const char *p = path;

	if (at < 0)
		return -errno;
	for (;;) {
		p += strspn(p, "/");
		size_t n = strcspn(p, "/");

		if (!n || n > NAME_MAX || (p[0] == '.' && (n == 1 || (n == 2 && p[1] == '.')))) {
			close(at);
			return -EINVAL;
		}
		memcpy(name, p, n);
		name[n] = 0;
		p += n;
		if (!*p)
			return at;
		at = folder_enter(t, at, name, path, (size_t)(p - path));
		if (at < 0)
			return at;
	}
}

/* Close the folder and turn -1 into -errno. */
static int parent_close(int at, int result)
{
	int error = errno;

	close(at);
	return result < 0 ? -error : 0;
}

int tree_lstat(struct tree *t, const char *path, struct stat *st)
{
	char name[NAME_MAX + 1];
	int at = parent_open(t, path, name);

	return at < 0 ? at : parent_close(at, fstatat(at, name, st, AT_SYMLINK_NOFOLLOW));
}

static int file_read(int fd, size_t most, char **text, size_t *size)
{
	struct stat st;
	ssize_t n = 1;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((size_t)st.st_size > most)
		return -EFBIG;
	*text = calloc(1, (size_t)st.st_size + 1);
	if (!*text)
		return -ENOMEM;
	for (*size = 0; *size < (size_t)st.st_size && n > 0; *size += n > 0 ? (size_t)n : 0)
		n = read(fd, *text + *size, (size_t)st.st_size - *size);
	if (n >= 0)
		return 0;
	n = -errno;
	free(*text);
	*text = NULL;
	return (int)n;
}

int tree_read(struct tree *t, const char *path, size_t most, char **text, size_t *size)
{
	char name[NAME_MAX + 1];
	int at = parent_open(t, path, name);

	*text = NULL, *size = 0;
	if (at < 0)
		return at;
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		snprintf(t->link, sizeof t->link, "%s", path);
	int r = parent_close(at, fd);
	if (r)
		return r;
	r = file_read(fd, most, text, size);
	close(fd);
	return r;
}

static int file_fill(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n <= 0)
			return n ? -errno : -EIO;
		text += n;
		size -= (size_t)n;
	}
	return fchmod(fd, 0644) || fsync(fd) ? -errno : 0;
}

/* Give the file its final name. linkat fails if the name exists, even if another process creates it meanwhile. */
static int file_publish(int at, const char *temporary, const char *name, bool replace)
{
	struct stat st;

	if (!replace)
		return linkat(at, temporary, at, name, 0) ? -errno : 0;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return -EINVAL;
	return renameat(at, temporary, at, name) ? -errno : 0;
}

int tree_write(struct tree *t, const char *path, const char *text, size_t size, bool replace)
{
	char name[NAME_MAX + 1], temporary[64];
	int at = parent_open(t, path, name);

	if (at < 0)
		return at;
	snprintf(temporary, sizeof temporary, ".gangway.%d", getpid());
	int fd = openat(at, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return parent_close(at, fd);
	int r = file_fill(fd, text, size);
	close(fd);
	if (!r)
		r = file_publish(at, temporary, name, replace);
	unlinkat(at, temporary, 0);
	fsync(at);
	close(at);
	return r;
}

int tree_mkdir(struct tree *t, const char *path)
{
	char name[NAME_MAX + 1];
	int at = parent_open(t, path, name);

	if (at < 0)
		return at;
	int r = mkdirat(at, name, 0755);
	if (!r)
		r = fchmodat(at, name, 0755, 0); /* independent of the umask */
	return parent_close(at, r);
}

int tree_remove(struct tree *t, const char *path)
{
	char name[NAME_MAX + 1];
	int at = parent_open(t, path, name);

	return at < 0 ? at : parent_close(at, unlinkat(at, name, 0));
}

int tree_rmdir(struct tree *t, const char *path)
{
	char name[NAME_MAX + 1];
	int at = parent_open(t, path, name);

	return at < 0 ? at : parent_close(at, unlinkat(at, name, AT_REMOVEDIR));
}

const char *tree_error_text(const struct tree *t, const char *path, int error, char *text, size_t size)
{
	bool itself = !strcmp(path, t->link);

	if (error == -ELOOP)
		snprintf(text, size, "%s%s%s is a symbolic link, and gangway does not write through links",
			itself ? "" : path, itself ? "" : ": ", t->link);
	else
		snprintf(text, size, "%s: %s", path, strerror(-error));
	return text;
}
