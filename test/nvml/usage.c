/*
 * Usage pages of processes (host/usage.h): other processes see them, they end with their process however it ends, no
 * other process can write them, and neither garbage in the folder nor leftovers of dead processes do any harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "test/check.h"
#include "host/usage.h"

static char folder[] = "/tmp/gangway-usage-XXXXXX";

struct page_counts {
	int count, mine, other;
	uint64_t memory;
};

static bool page_count(const struct usage_page *p, void *arg)
{
	struct page_counts *s = arg;

	s->count++;
	s->mine += p->pid == (uint32_t)getpid();
	s->other += p->pid != (uint32_t)getpid();
	s->memory += p->device[3].memory;
	return true;
}

static struct page_counts pages_of_kind(const char *kind)
{
	struct page_counts s = {0};

	usage_each(kind, page_count, &s);
	return s;
}

static int folder_entries(void)
{
	char command[128];
	int n = -1;

	snprintf(command, sizeof command, "ls %s | wc -l", folder);
	FILE *f = popen(command, "r");
	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

/* Starts a process that uses device 3 until it is killed. */
static pid_t start_other(uint64_t memory)
{
	int pair[2];
	char c;

	if (pipe(pair))
		return -1;
	pid_t pid = fork();
	if (!pid) {
		struct usage *u = usage_open("cpu");
		usage_memory(u, 3, (int64_t)memory);
		usage_contexts(u, 3, 1);
		if (write(pair[1], u ? "y" : "n", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(pair[1]);
	CHECK(read(pair[0], &c, 1) == 1 && c == 'y');
	close(pair[0]);
	return pid;
}

static void check_seen(struct usage *u)
{
	usage_memory(u, 3, 1000);
	pid_t other = start_other(500);
	struct page_counts s = pages_of_kind("cpu");

	CHECK_EQ(s.count, 2);
	CHECK_EQ(s.mine, 1);
	CHECK_EQ(s.memory, 1500);
	CHECK_EQ(usage_total("cpu", 3, 0), 1500);
	CHECK_EQ(usage_total("cpu", 3, getpid()), 500);
	CHECK_EQ(usage_total("cpu", 2, 0), 0);
	CHECK_EQ(usage_total("cpu", -1, 0), 0);
	CHECK_EQ(usage_total("cpu", USAGE_DEVICES, 0), 0);
	CHECK_EQ(pages_of_kind("null").count, 0);
	CHECK_EQ(folder_entries(), 2);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	CHECK_EQ(pages_of_kind("cpu").count, 1);
	CHECK_EQ(folder_entries(), 1); /* the reader removes dead links */
	usage_memory(u, 3, -1000);
	CHECK_EQ(usage_total("cpu", 3, 0), 0);
	CHECK(usage_open("cpu") == u);
	CHECK(usage_open("served") && usage_open("served") != u);
	usage_memory(u, -1, 5);
	usage_memory(u, USAGE_DEVICES, 5);
	usage_memory(NULL, 0, 5);
}

/* ---- Garbage ---- */

static void make_link(const char *name, const char *target)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	unlink(path);
	CHECK(!symlink(target, path));
}

static unsigned long long pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (unsigned long long)st.st_ino;
}

/* A page with arbitrary contents under any process id, locked as by a live process or not.  Returns its descriptor. */
static int page_forge(pid_t pid, bool locked, size_t size, const char *kind, uint64_t magic)
{
	struct usage_page *p = calloc(1, sizeof *p + 8192);
	char path[256];

	snprintf(path, sizeof path, "%s/cpu-%d-%llu", folder, pid, pid_namespace());
	unlink(path);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	p->magic = magic;
	p->size = sizeof *p;
	p->pid = (uint32_t)pid;
	memset(p->kind, 'x', sizeof p->kind);
	memcpy(p->kind, kind, strlen(kind) + 1);
	memset(p->client.from, 'x', sizeof p->client.from);
	p->device[3].memory = ~0ull;
	CHECK(write(fd, p, size) == (ssize_t)size);
	CHECK(!locked || !flock(fd, LOCK_EX | LOCK_NB));
	free(p);
	return fd;
}

static void check_garbage(struct usage *u)
{
	char path[256], name[64];
	enum { magic = 0x3165676173756767ull };

	usage_memory(u, 3, 7);
	snprintf(path, sizeof path, "%s/cpu-77777777-%llu", folder, pid_namespace());
	CHECK(!mkfifo(path, 0600));
	snprintf(path, sizeof path, "%s/a folder", folder);
	CHECK(!mkdir(path, 0700));
	make_link("cpu-", "/etc/passwd");
	make_link("cpu-0-0", "/etc/passwd");
	make_link("cpu--5-1", "/proc/1/fd/0");
	make_link("cpu-99999999999999999999-1", "nowhere");
	snprintf(name, sizeof name, "cpu-1-%llu", pid_namespace());
	make_link(name, "/etc/passwd"); /* links are not followed */
	snprintf(name, sizeof name, "cpu-2-%llu", pid_namespace());
	make_link(name, "/proc/2/fd/../../../etc/passwd");
	snprintf(name, sizeof name, "cpu-0000%d-%llu", getpid(), pid_namespace());
	make_link(name, "/proc/self/fd/0");
	snprintf(name, sizeof name, "cpu-3-%llu", pid_namespace());
	make_link(name, "/proc/3/fd/99999999999999999999");
	snprintf(name, sizeof name, "cpu-%d-1", getpid());
	make_link(name, "/proc/self/fd/0");                                   /* of another pid namespace: ignored */
	close(page_forge(1, false, sizeof(struct usage_page), "cpu", magic)); /* not locked: its process is dead */
	struct page_counts s = pages_of_kind("cpu");
	CHECK_EQ(s.count, 1);
	CHECK_EQ(s.memory, 7);
	pid_t other = start_other(500); /* its page is replaced by forged ones */
	static const struct {
		size_t size;
		uint64_t magic;
		const char *kind;
	} wrong[] = {{64, magic, "cpu"}, {sizeof(struct usage_page) + 4096, magic, "cpu"},
		{sizeof(struct usage_page), 0, "cpu"}, {sizeof(struct usage_page), magic, "null"}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		int fd = page_forge(other, true, wrong[i].size, wrong[i].kind, wrong[i].magic);
		CHECK_EQ(pages_of_kind("cpu").count, 1);
		close(fd);
	}
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	CHECK_EQ(usage_total("cpu", 3, 0), 7);
	usage_memory(u, 3, -7);
}

/* Leftovers of dead processes hide no live process, and are removed even if nobody reads pages of their kind. */
static void check_leftovers(void)
{
	const int many = 5000, born = 300;
	char name[64];
	int before = folder_entries();

	for (int i = 0; i < many; i++) {
		snprintf(name, sizeof name, "served-%d-%llu", 1000000000 + i, pid_namespace()); /* no such processes */
		make_link(name, "/proc/1/fd/0");
	}
	CHECK_EQ(pages_of_kind("cpu").mine, 1);
	CHECK(folder_entries() < before + many);
	for (int i = 0; i < 16; i++)
		pages_of_kind("cpu");
	CHECK(folder_entries() <= before);
	for (int i = 0; i < born; i++) {
		pid_t pid = fork();
		if (!pid)
			_exit(!usage_open("null"));
		waitpid(pid, NULL, 0);
	}
	CHECK(folder_entries() < before + born / 2);
	pages_of_kind("null");
	CHECK(folder_entries() <= before);
}

/* A process can forge its own page, so readers take its contents as plain numbers. */
static void check_lies(void)
{
	pid_t pid = fork();

	if (!pid) {
		page_forge(getpid(), true, sizeof(struct usage_page), "cpu", 0x3165676173756767ull);
		struct page_counts s = pages_of_kind("cpu");
		CHECK_EQ(s.count, 2);
		CHECK_EQ(usage_total("cpu", 3, 0), ~0ull);
		_exit(RESULT());
	}
	int status;
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

/* A page is complete from the moment that it has its name, it is read-only, and it does not survive its process. */
static void check_page_file(void)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof path, "%s/cpu-%d-%llu", folder, getpid(), pid_namespace());
	CHECK(!stat(path, &st));
	CHECK_EQ(st.st_mode & 07777, 0400);
	CHECK_EQ(st.st_size, (off_t)sizeof(struct usage_page));
}

static void check_folders(void)
{
	char other[256], link[300];

	snprintf(other, sizeof other, "%s/open", folder);
	CHECK(!mkdir(other, 0700) && !chmod(other, 0755));
	setenv("GANGWAY_USAGE", other, 1);
	CHECK(!usage_open("null"));
	CHECK(!chmod(other, 0700));
	snprintf(link, sizeof link, "%s/link", folder);
	CHECK(!symlink(other, link));
	setenv("GANGWAY_USAGE", link, 1);
	CHECK(!usage_open("null"));
	setenv("GANGWAY_USAGE", "/no/such/place", 1);
	CHECK(!usage_open("null"));
	CHECK_EQ(usage_total("cpu", 3, 0), 0);
	setenv("GANGWAY_USAGE", "0", 1);
	CHECK(!usage_open("null"));
	setenv("GANGWAY_USAGE", folder, 1);
}

/* ---- Load ---- */

struct load {
	unsigned kernels, memory;
};

static bool page_load(const struct usage_page *p, void *arg)
{
	struct load *l = arg;

	l->kernels = usage_percent(&p->device[0], USAGE_KERNELS);
	l->memory = usage_percent(&p->device[0], USAGE_MEMORY);
	return true;
}

static struct load load(void)
{
	struct load l = {0};

	usage_each("cpu", page_load, &l);
	return l;
}

static void sleep_ms(int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static unsigned now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

/* The load of finished work falls with time, so the bounds allow for a busy machine. */
static void check_time(struct usage *u)
{
	unsigned seen, end;

	CHECK_EQ(load().kernels, 0);
	usage_begin(u, 0, USAGE_KERNELS);
	usage_begin(u, 0, USAGE_KERNELS); /* concurrent work counts once */
	sleep_ms(300);
	unsigned running = load().kernels;
	CHECK(running >= 15); /* 300 ms of the last second, still running */
	usage_end(u, 0, USAGE_KERNELS);
	sleep_ms(100);
	CHECK(load().kernels >= running);
	end = now_ms();
	usage_end(u, 0, USAGE_KERNELS);
	seen = load().kernels;
	CHECK(seen > 0 || now_ms() - end > 400);
	CHECK_EQ(load().memory, 0);
	sleep_ms(1200);
	CHECK_EQ(load().kernels, 0);
	usage_begin(u, 0, USAGE_MEMORY);
	sleep_ms(1300);
	CHECK_EQ(load().memory, 100);
	end = now_ms();
	usage_end(u, 0, USAGE_MEMORY);
	seen = load().memory;
	CHECK(seen + (now_ms() - end) / 8 >= 90);
}

int main(void)
{
	char command[128];

	if (!mkdtemp(folder))
		return 1;
	setenv("GANGWAY_USAGE", folder, 1);
	struct usage *u = usage_open("cpu");
	if (!u) {
		printf("skipped: no sealed memory or no /proc here\n");
		return SKIP;
	}
	check_seen(u);
	check_garbage(u);
	check_leftovers();
	check_lies();
	check_page_file();
	check_folders();
	check_time(u);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) || RESULT();
}
