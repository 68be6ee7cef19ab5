/* The cache's folder and its files. */
#include "ptx/jit/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ptx/jit/object.h"

enum {
	NAME_DIGITS = 2 * HASH_BYTES,
	MAX_ENTRIES = 1 << 20,
	TOUCH_AFTER = 600,   /* seconds after which a use renews the time of a file */
	ORPHAN_AFTER = 3600, /* seconds after which an incomplete file has no writer any more */
	EVICT_INTERVAL = 32, /* files that a process stores between two looks at the size of the folder */
};

static const char file_magic[8] = "GWKERN1";

/* The head of a file; the code entries and the object follow. */
struct file_head {
	char magic[8];
	uint8_t hash[HASH_BYTES]; /* of all that follows, this head included */
	uint8_t key[HASH_BYTES];
	uint64_t object_size;
	uint32_t nentries, nsites;
};

struct jit_cache {
	int folder;
	uint64_t max;
	atomic_uint stored;
};

void jit_object_free(struct jit_object *o)
{
	free(o->bytes);
	free(o->entries);
	*o = (struct jit_object){0};
}

/* ---- the folder ------------------------------------------------------------------------------------- */

static bool is_private(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Creates the missing folders of a path. */
static void make_folders(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		mkdir(path, 0700);
		*p = '/';
	}
	mkdir(path, 0700);
}

static bool folder_path(char path[PATH_MAX])
{
	const char *given = secure_getenv("CUDA_CACHE_PATH"), *cache = secure_getenv("XDG_CACHE_HOME"),
		   *home = secure_getenv("HOME");
	int n;

	if (given && *given == '/')
		n = snprintf(path, PATH_MAX, "%s/gangway/kernels", given);
	else if (cache && *cache == '/')
		n = snprintf(path, PATH_MAX, "%s/gangway/kernels", cache);
	else if (home && *home == '/')
		n = snprintf(path, PATH_MAX, "%s/.cache/gangway/kernels", home);
	else
		return false;
	return n < PATH_MAX;
}

static uint64_t size_limit(void)
{
	const char *text = secure_getenv("CUDA_CACHE_MAXSIZE");
	char *end;
	unsigned long long n = text ? strtoull(text, &end, 10) : 0;

	return text && end != text && !*end ? n : 1ull << 30;
}

struct jit_cache *jit_cache_open(void)
{
	const char *off = secure_getenv("CUDA_CACHE_DISABLE");
	char path[PATH_MAX];
	struct jit_cache *c;
	struct stat st;
	int fd;

	if ((off && !strcmp(off, "1")) || !folder_path(path))
		return NULL;
	make_folders(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	c = fstat(fd, &st) || !is_private(&st) ? NULL : calloc(1, sizeof *c);
	if (!c) {
		close(fd);
		return NULL;
	}
	c->folder = fd;
	c->max = size_limit();
	return c;
}

void jit_cache_close(struct jit_cache *c)
{
	if (!c)
		return;
	close(c->folder);
	free(c);
}

static void key_name(const uint8_t key[HASH_BYTES], char name[NAME_DIGITS + 1])
{
	for (int i = 0; i < HASH_BYTES; i++)
		snprintf(name + 2 * i, 3, "%02x", key[i]);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static void file_hash(const struct file_head *head, const void *entries, const void *object, uint8_t out[HASH_BYTES])
{
	struct file_head h = *head;
	struct hash s;

	memset(h.hash, 0, sizeof h.hash);
	hash_init(&s, HASH_BYTES);
	hash_add(&s, &h, sizeof h);
	hash_add(&s, entries, h.nentries * sizeof(uint32_t));
	hash_add(&s, object, h.object_size);
	hash_finish(&s, out);
}

static bool read_all(int fd, void *to, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = read(fd, (char *)to + done, n - done);

		if (r <= 0 && !(r < 0 && errno == EINTR))
			return false;
		done += r > 0 ? (size_t)r : 0;
	}
	return true;
}

static bool file_read(int fd, uint64_t size, const uint8_t key[HASH_BYTES], struct jit_object *o)
{
	struct file_head h;
	uint8_t hash[HASH_BYTES];

	if (size < sizeof h || !read_all(fd, &h, sizeof h) || memcmp(h.magic, file_magic, sizeof h.magic) ||
		memcmp(h.key, key, HASH_BYTES) || h.nentries > MAX_ENTRIES || h.object_size > OBJECT_MAX_SIZE ||
		size != sizeof h + h.nentries * sizeof(uint32_t) + h.object_size)
		return false;
	*o = (struct jit_object){.bytes = malloc(h.object_size + 1),
		.size = h.object_size,
		.entries = malloc((h.nentries + 1) * sizeof(uint32_t)),
		.nentries = h.nentries,
		.nsites = h.nsites};
	if (!o->bytes || !o->entries || !read_all(fd, o->entries, h.nentries * sizeof(uint32_t)) ||
		!read_all(fd, o->bytes, h.object_size))
		return false;
	file_hash(&h, o->entries, o->bytes, hash);
	return !memcmp(hash, h.hash, sizeof hash);
}

bool jit_cache_load(struct jit_cache *c, const uint8_t key[HASH_BYTES], struct jit_object *o)
{
	char name[NAME_DIGITS + 1];
	struct stat st;
	bool ok;
	int fd;

	*o = (struct jit_object){0};
	key_name(key, name);
	fd = openat(c->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = !fstat(fd, &st) && S_ISREG(st.st_mode) && is_private(&st) && file_read(fd, (uint64_t)st.st_size, key, o);
	if (!ok)
		jit_object_free(o);
	else if (time(NULL) - st.st_mtime > TOUCH_AFTER)
		futimens(fd, NULL);
	close(fd);
	return ok;
}

/* ---- eviction --------------------------------------------------------------------------------------- */

struct cached_file {
	char name[NAME_DIGITS + 1];
	uint64_t size;
	struct timespec used;
};

struct file_list {
	struct cached_file *files;
	size_t n;
	uint64_t total;
};

static int by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct cached_file *)a)->used, *y = &((const struct cached_file *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Adds a complete file to the list, and removes an incomplete one that has no writer any more. */
static bool list_add(struct jit_cache *c, struct file_list *l, const char *name)
{
	size_t digits = strspn(name, "0123456789abcdef");
	struct cached_file *files;
	struct stat st;

	if (digits != NAME_DIGITS || fstatat(c->folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return true;
	if (name[digits]) {
		if (name[digits] == '.' && time(NULL) - st.st_mtime > ORPHAN_AFTER)
			unlinkat(c->folder, name, 0);
		return true;
	}
	files = l->n & (l->n - 1) ? l->files : realloc(l->files, (l->n ? 2 * l->n : 1) * sizeof *files);
	if (!files)
		return false;
	l->files = files;
	l->files[l->n].size = (uint64_t)st.st_size;
	l->files[l->n].used = st.st_mtim;
	memcpy(l->files[l->n++].name, name, NAME_DIGITS + 1);
	l->total += (uint64_t)st.st_size;
	return true;
}

/* Removes the files that were not used for longest, until a quarter of the space is free, if there are too many. */
static void cache_evict(struct jit_cache *c)
{
	int fd = openat(c->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct file_list l = {0};
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)) && list_add(c, &l, e->d_name))
		;
	closedir(d);
	if (l.total > c->max)
		qsort(l.files, l.n, sizeof *l.files, by_use);
	for (size_t i = 0; i < l.n && l.total > c->max - c->max / 4 && (i || l.total > c->max); i++) {
		unlinkat(c->folder, l.files[i].name, 0);
		l.total -= l.files[i].size;
	}
	free(l.files);
}

/* ---- writing ---------------------------------------------------------------------------------------- */

static bool write_all(int fd, const void *data, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = write(fd, (const char *)data + done, n - done);

		if (r < 0 && errno != EINTR)
			return false;
		done += r > 0 ? (size_t)r : 0;
	}
	return true;
}

void jit_cache_store(struct jit_cache *c, const uint8_t key[HASH_BYTES], const struct jit_object *o)
{
	struct file_head h = {.object_size = o->size, .nentries = o->nentries, .nsites = o->nsites};
	unsigned number = atomic_fetch_add(&c->stored, 1);
	uint64_t chance;
	char name[NAME_DIGITS + 1], writing[NAME_DIGITS + 40];
	bool ok;
	int fd;

	if (sizeof h + o->size + o->nentries * sizeof(uint32_t) > c->max)
		return;
	memcpy(h.magic, file_magic, sizeof h.magic);
	memcpy(h.key, key, HASH_BYTES);
	file_hash(&h, o->entries, o->bytes, h.hash);
	key_name(key, name);
	if (getrandom(&chance, sizeof chance, 0) != sizeof chance)
		return;
	snprintf(writing, sizeof writing, "%s.%016llx", name, (unsigned long long)chance);
	fd = openat(c->folder, writing, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	ok = write_all(fd, &h, sizeof h) && write_all(fd, o->entries, o->nentries * sizeof(uint32_t)) &&
	     write_all(fd, o->bytes, o->size);
	if (close(fd) || !ok || renameat(c->folder, writing, c->folder, name))
		unlinkat(c->folder, writing, 0);
	if (number % EVICT_INTERVAL == 0)
		cache_evict(c);
}
