/*
 * The cache of compiled kernels: what it stores is what it returns, to other processes too; files and folders that are
 * not right count as missing; its size has a limit: cache FOLDER
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "ptx/jit/cache.h"

static char home[] = "/tmp/gangway-cache-XXXXXX", folder[128];

static void key_of(unsigned n, uint8_t key[HASH_BYTES])
{
	hash_of(&n, sizeof n, key);
}

static void path_of(unsigned n, char path[256])
{
	uint8_t key[HASH_BYTES];
	int at = snprintf(path, 256, "%s/", folder);

	key_of(n, key);
	for (int i = 0; i < HASH_BYTES; i++)
		at += snprintf(path + at, 256 - (size_t)at, "%02x", key[i]);
}

/* An object whose content follows from n. */
static struct jit_object object_of(unsigned n, size_t size)
{
	struct jit_object o = {.size = size, .nentries = n % 5, .nsites = n};

	o.bytes = malloc(size + 1);
	o.entries = calloc(5, sizeof *o.entries);
	if (!o.bytes || !o.entries)
		abort();
	for (size_t i = 0; i < size; i++)
		((uint8_t *)o.bytes)[i] = (uint8_t)(i * 31 + n);
	for (unsigned i = 0; i < o.nentries; i++)
		o.entries[i] = i * n;
	return o;
}

static void store(struct jit_cache *c, unsigned n, size_t size)
{
	struct jit_object o = object_of(n, size);
	uint8_t key[HASH_BYTES];

	key_of(n, key);
	jit_cache_store(c, key, &o);
	jit_object_free(&o);
}

/* True if the cache returns the object of n; a wrong object is a failure. */
static bool loads(struct jit_cache *c, unsigned n, size_t size)
{
	struct jit_object want = object_of(n, size), o;
	uint8_t key[HASH_BYTES];
	bool found;

	key_of(n, key);
	found = jit_cache_load(c, key, &o);
	if (found) {
		CHECK_EQ(o.size, want.size);
		CHECK_EQ(o.nentries, want.nentries);
		CHECK_EQ(o.nsites, want.nsites);
		CHECK(o.size == want.size && !memcmp(o.bytes, want.bytes, want.size));
		CHECK(o.nentries == want.nentries && !memcmp(o.entries, want.entries, want.nentries * 4));
	}
	jit_object_free(&o);
	jit_object_free(&want);
	return found;
}

static void test_damage(struct jit_cache *c)
{
	enum { SIZE = 500 };
	char path[256], other[256];
	struct stat st;

	path_of(1, path);
	store(c, 1, SIZE);
	CHECK(loads(c, 1, SIZE));
	OK(stat(path, &st));
	CHECK_EQ(st.st_mode & 0777, 0600);
	for (off_t at = 0; at < st.st_size; at += 7) { /* one bit, anywhere */
		int fd = open(path, O_RDWR | O_CLOEXEC);
		uint8_t b = 0;

		CHECK_EQ(pread(fd, &b, 1, at), 1);
		b ^= 1 << at % 8;
		CHECK_EQ(pwrite(fd, &b, 1, at), 1);
		close(fd);
		CHECK(!loads(c, 1, SIZE));
		store(c, 1, SIZE);
	}
	for (off_t n = 0; n < st.st_size; n += 11) { /* an incomplete file */
		OK(truncate(path, n));
		CHECK(!loads(c, 1, SIZE));
		store(c, 1, SIZE);
	}
	CHECK(loads(c, 1, SIZE));
	path_of(2, other); /* the file of another kernel */
	OK(rename(path, other));
	CHECK(!loads(c, 2, SIZE));
	OK(unlink(other));
	OK(mkfifo(other, 0600)); /* reading it would block */
	CHECK(!loads(c, 2, SIZE));
	OK(unlink(other));
}

static void test_rights(struct jit_cache *c)
{
	char path[256], away[256];

	store(c, 3, 100);
	path_of(3, path);
	OK(chmod(path, 0660));
	CHECK(!loads(c, 3, 100));
	OK(chmod(path, 0602));
	CHECK(!loads(c, 3, 100));
	OK(chmod(path, 0644)); /* others may read it */
	CHECK(loads(c, 3, 100));
	snprintf(away, sizeof away, "%s/elsewhere", home);
	OK(rename(path, away));
	OK(symlink(away, path));
	CHECK(!loads(c, 3, 100));
	OK(unlink(path));
	OK(rename(away, path));
	if (!geteuid()) {
		OK(chown(path, 12345, 12345));
		CHECK(!loads(c, 3, 100));
	}
	OK(unlink(path));
	OK(chmod(folder, 0777));
	CHECK(!jit_cache_open());
	OK(chmod(folder, 0770));
	CHECK(!jit_cache_open());
	OK(chmod(folder, 0700));
	if (!geteuid()) {
		OK(chown(folder, 12345, 12345));
		CHECK(!jit_cache_open());
		OK(chown(folder, 0, 0));
	}
	snprintf(away, sizeof away, "%s/folder", home);
	OK(rename(folder, away));
	OK(symlink(away, folder));
	CHECK(!jit_cache_open());
	OK(unlink(folder));
	OK(rename(away, folder));
}

static unsigned count_files(uint64_t *bytes)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	struct stat st;
	unsigned n = 0;

	*bytes = 0;
	while (d && (e = readdir(d))) {
		if (*e->d_name == '.' || fstatat(dirfd(d), e->d_name, &st, 0))
			continue;
		n++;
		*bytes += (uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
	return n;
}

/* The files that were used last remain. */
static void test_eviction(void)
{
	enum { N = 64, SIZE = 4000, LIMIT = 100000 };
	struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	struct jit_cache *c;
	uint64_t bytes;
	char path[256];

	setenv("CUDA_CACHE_MAXSIZE", "100000", 1);
	c = jit_cache_open();
	CHECK(c);
	store(c, 200, 2 * LIMIT); /* larger than the cache */
	CHECK(!loads(c, 200, 2 * LIMIT));
	for (unsigned i = 0; i < N; i++) {
		store(c, 300 + i, SIZE);
		path_of(300 + i, path);
		old[0].tv_sec = old[1].tv_sec = 1000000000 + i;
		utimensat(AT_FDCWD, path, old, 0); /* fails if the file has been evicted */
	}
	path_of(300 + N - 1, path);
	CHECK(loads(c, 300 + N - 1, SIZE)); /* the use renews its time */
	snprintf(path, sizeof path, "%s/%064d.0123456789abcdef", folder, 0);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); /* its writer is long gone */
	utimensat(AT_FDCWD, path, old, 0);
	for (unsigned i = 0; i < 40; i++)
		store(c, 400 + i, 10);
	count_files(&bytes);
	CHECK(bytes <= LIMIT);
	CHECK(access(path, F_OK));
	CHECK(!loads(c, 300, SIZE));
	CHECK(loads(c, 300 + N - 1, SIZE));
	jit_cache_close(c);
	unsetenv("CUDA_CACHE_MAXSIZE");
}

/* Processes that store and load the same kernels at once never see a wrong one. */
static void test_processes(void)
{
	enum { PROCESSES = 4, ROUNDS = 300, KERNELS = 7 };
	int status;

	for (int p = 0; p < PROCESSES; p++) {
		if (fork())
			continue;
		struct jit_cache *c = jit_cache_open();

		for (unsigned i = 0; c && i < ROUNDS; i++) {
			store(c, 1000 + (i + (unsigned)p) % KERNELS, 3000);
			CHECK(loads(c, 1000 + i % KERNELS, 3000) || i < KERNELS);
		}
		CHECK(c);
		_exit(RESULT());
	}
	for (int p = 0; p < PROCESSES; p++) {
		wait(&status);
		CHECK_EQ(status, 0);
	}
}

static void test_variables(void)
{
	char path[256];

	setenv("CUDA_CACHE_DISABLE", "1", 1);
	CHECK(!jit_cache_open());
	setenv("CUDA_CACHE_DISABLE", "0", 1);
	snprintf(path, sizeof path, "%s/vendor", home);
	setenv("CUDA_CACHE_PATH", path, 1);
	struct jit_cache *c = jit_cache_open();
	CHECK(c);
	snprintf(path, sizeof path, "%s/vendor/gangway/kernels", home);
	OK(access(path, F_OK));
	jit_cache_close(c);
	unsetenv("CUDA_CACHE_PATH");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", home, 1);
	c = jit_cache_open();
	CHECK(c);
	snprintf(path, sizeof path, "%s/.cache/gangway/kernels", home);
	OK(access(path, F_OK));
	jit_cache_close(c);
	setenv("HOME", "/proc/nowhere", 1);
	CHECK(!jit_cache_open());
}

int main(void)
{
	char command[128];
	struct jit_cache *c;

	if (!mkdtemp(home))
		return perror(home), 1;
	setenv("XDG_CACHE_HOME", home, 1);
	snprintf(folder, sizeof folder, "%s/gangway/kernels", home);
	c = jit_cache_open();
	CHECK(c);
	if (c) {
		CHECK(!loads(c, 1, 500));
		test_damage(c);
		test_rights(c);
		jit_cache_close(c);
		test_eviction();
		test_processes();
		test_variables();
	}
	snprintf(command, sizeof command, "rm -rf %s", home);
	return system(command) ? 1 : RESULT();
}
