/*
 * Images that clients have sent, kept for the next client: one file a content, named by its hash.
 *
 * The folder is ours alone (0700, our own, no link), so what lies there under a name has been hashed by
 * a worker of ours before it was put there; files appear whole, by rename.  Without such a folder nothing
 * is kept, and everything still works.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "server/code/code.h"

#define STORE_MAX  (8ull << 30)
#define NAME_CHARS (2 * HASH_BYTES)

static int open_folder(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[4096];
	struct stat st;
	int n, fd;

	if (cache && *cache == '/')
		n = snprintf(path, sizeof path, "%s", cache);
	else if (home && *home == '/')
		n = snprintf(path, sizeof path, "%s/.cache", home);
	else
		return -1;
	if (n < 0 || n > (int)sizeof path - 32)
		return -1;
	mkdir(path, 0700);
	strcat(path, "/gangway");
	mkdir(path, 0700);
	strcat(path, "/images");
	mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 077)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Only the dispatcher comes here. */
static int folder(void)
{
	static int fd = -2;

	if (fd == -2)
		fd = open_folder();
	return fd;
}

static void name_of(const struct wire_image *image, char name[NAME_CHARS + 1])
{
	for (int i = 0; i < HASH_BYTES; i++)
		snprintf(name + 2 * i, 3, "%02x", image->hash[i]);
}

/* The file has one NUL more than the image, for text. */
void *store_find(const struct wire_image *image)
{
	char name[NAME_CHARS + 1];
	struct stat st;
	void *p = MAP_FAILED;

	if (folder() < 0)
		return NULL;
	name_of(image, name);
	int fd = openat(folder(), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size == image->size + 1)
		p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED)
		futimens(fd, NULL); /* the oldest goes first */
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		size -= n;
	}
	return true;
}

/* The file that was used longest ago, and how much all of them take. */
static uint64_t total(char oldest[NAME_MAX + 1])
{
	int fd = openat(folder(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct timespec least = {0};
	uint64_t sum = 0;
	struct dirent *e;

	*oldest = 0;
	while (d && (e = readdir(d))) {
		struct stat st;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		sum += st.st_size;
		if (*oldest && (st.st_mtim.tv_sec > least.tv_sec ||
				       (st.st_mtim.tv_sec == least.tv_sec && st.st_mtim.tv_nsec >= least.tv_nsec)))
			continue;
		least = st.st_mtim;
		snprintf(oldest, NAME_MAX + 1, "%s", e->d_name);
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return sum;
}

static void make_room(uint64_t size)
{
	char oldest[NAME_MAX + 1];

	while (total(oldest) + size > STORE_MAX && *oldest)
		if (unlinkat(folder(), oldest, 0))
			return;
}

void store_add(const struct wire_image *image, const void *bytes)
{
	char name[NAME_CHARS + 1], draft[32];

	if (folder() < 0)
		return;
	make_room(image->size);
	name_of(image, name);
	snprintf(draft, sizeof draft, "draft.%d", getpid());
	int fd = openat(folder(), draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	bool whole = write_all(fd, bytes, image->size) && write_all(fd, (const uint8_t *)"", 1);
	close(fd);
	if (!whole || renameat(folder(), draft, folder(), name))
		unlinkat(folder(), draft, 0);
}
