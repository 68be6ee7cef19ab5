/*
 * Keeps images that clients have sent for later clients: one file for each content, named by its hash.
 *
 * The folder belongs to the server's user alone (0700, not a link).  Nevertheless no file is trusted: all workers of this
 * user can write to the folder, and a client may have taken one over.  So a worker copies each file into memory of its own and
 * compares the hash of the copy with the name; a mapping could change after the comparison.  Files appear complete, by rename.
 * Without such a folder no image is kept, and everything still works.
 *
 * The store is bounded as a whole, and each client can fill only a part of it: a client that loads one image after
 * another does not drive out those of all others.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "server/code/code.h"
#include "server/worker/log.h"
#include "util/hash.h"

#define NAME_CHARS (2 * HASH_BYTES)
#define READ_CHUNK (256u << 10) /* is hashed while it is in the processor's cache */

static int folder_open(void)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
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

static int folder_get(struct session *s)
{
	if (s->image_folder == IMAGE_FOLDER_UNOPENED)
		s->image_folder = folder_open();
	return s->image_folder;
}

static void image_file_name(const struct wire_image *image, char name[NAME_CHARS + 1])
{
	for (int i = 0; i < HASH_BYTES; i++)
		snprintf(name + 2 * i, 3, "%02x", image->hash[i]);
}

/* The bytes of the file if their hash is the image's name, with a NUL behind, on the heap; NULL: see errno. */
static uint8_t *file_read_verified(int fd, const struct wire_image *image)
{
	uint8_t *bytes = malloc(image->size + 1), hash[HASH_BYTES];
	struct hash h;
	uint64_t used = 0;

	if (!bytes)
		return NULL;
	hash_init(&h, sizeof hash);
	while (used < image->size) {
		uint64_t left = image->size - used;
		ssize_t n = read(fd, bytes + used, left < READ_CHUNK ? left : READ_CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		hash_add(&h, bytes + used, (size_t)n);
		used += (uint64_t)n;
	}
	hash_finish(&h, hash);
	bytes[image->size] = 0;
	if (used == image->size && !memcmp(hash, image->hash, sizeof hash))
		return bytes;
	free(bytes);
	errno = EBADMSG;
	return NULL;
}

uint8_t *image_store_find(struct session *s, const struct wire_image *image)
{
	char name[NAME_CHARS + 1];
	struct stat st;
	uint8_t *bytes = NULL;
	int folder = s->image_cache ? folder_get(s) : -1;

	if (folder < 0)
		return NULL;
	image_file_name(image, name);
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size == image->size + 1)
		bytes = file_read_verified(fd, image);
	else
		errno = EBADMSG;
	if (bytes)
		futimens(fd, NULL); /* folder_make_room() removes the file used longest ago */
	else
		log_event("image %s of the store is not used: %s", name,
			errno == EBADMSG ? "its content does not match its name" : strerror(errno));
	close(fd);
	return bytes;
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

/* The size of all files, and the name of the one used longest ago. */
static uint64_t folder_size(int folder, char oldest[NAME_MAX + 1])
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

static void folder_make_room(int folder, uint64_t size, uint64_t most)
{
	char oldest[NAME_MAX + 1];

	while (folder_size(folder, oldest) + size > most && *oldest)
		if (unlinkat(folder, oldest, 0))
			return;
}

void image_store_add(struct session *s, const struct wire_image *image, const void *bytes)
{
	char name[NAME_CHARS + 1], draft[32];
	int folder = s->image_cache ? folder_get(s) : -1;

	if (folder < 0 || s->images_stored + image->size > s->image_cache / IMAGE_STORE_SHARE)
		return;
	folder_make_room(folder, image->size, s->image_cache);
	image_file_name(image, name);
	snprintf(draft, sizeof draft, "draft.%d", getpid());
	int fd = openat(folder, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	bool complete = write_all(fd, bytes, image->size) && write_all(fd, (const uint8_t *)"", 1);
	close(fd);
	if (!complete || renameat(folder, draft, folder, name))
		unlinkat(folder, draft, 0);
	else
		s->images_stored += image->size;
}
