/* Publish and read the usage pages of the processes of a user. */
#include "host/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/usage_folder.h"

#define PAGE_MAGIC  0x3165676173756767ull /* "ggusage1" */
#define KINDS_MAX   4                     /* kinds of one process */
#define ENTRIES_MAX 4096                  /* pages of a kind that are read */
#define SWEEP_TURNS 16                    /* each sweep checks one sixteenth of the pages */
#define SLOT_NS     66666667ull

struct usage {
	struct usage_page *page;
	pthread_mutex_t lock; /* protects `running` */
	unsigned running[USAGE_DEVICES][USAGE_WORKS];
};

/* ---- the folder ---- */

/* The pid namespace: process numbers are compared only within one. */
static unsigned long long pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (unsigned long long)st.st_ino;
}

static void page_format_name(char *name, size_t size, const char *kind, int pid, unsigned long long space)
{
	snprintf(name, size, "%s-%d-%llu", kind, pid, space);
}

/* Parse the name of a page: returns the pid, and the length of the kind. Returns 0 for names of other namespaces or forms. */
static int page_parse_name(const char *name, unsigned long long space, size_t *kind)
{
	const char *at = strchr(name, '-');
	char *end;

	if (!at || at == name || at[1] < '1' || at[1] > '9')
		return 0;
	*kind = (size_t)(at - name);
	long pid = strtol(at + 1, &end, 10);
	if (pid > INT_MAX || *end != '-' || end[1] < '1' || end[1] > '9' || strtoull(end + 1, &end, 10) != space ||
		*end)
		return 0;
	return (int)pid;
}

/*
 * Remove the page of a dead process. Checking all pages each time would cost too much: each new process adds one page and
 * checks a sixteenth of them, so that their number stays small.
 */
static void page_sweep(int folder, const char *name, int pid, unsigned turn)
{
	if ((unsigned)pid % SWEEP_TURNS == turn % SWEEP_TURNS && kill(pid, 0) && errno == ESRCH)
		unlinkat(folder, name, 0);
}

/* Sweep all pages and close the folder. */
static void folder_sweep(int folder)
{
	unsigned long long space = pid_namespace();
	DIR *dir = fdopendir(folder);
	struct dirent *e;
	size_t kind;

	if (!dir)
		close(folder);
	while (dir && (e = readdir(dir))) {
		int pid = page_parse_name(e->d_name, space, &kind);
		if (pid)
			page_sweep(folder, e->d_name, pid, (unsigned)getpid());
	}
	if (dir)
		closedir(dir);
}

/* ---- publishing ---- */

/* Fills a new file, whose lock says that the process is alive. */
static struct usage_page *page_fill(int fd, const char *kind)
{
	struct usage_page *p;

	/* Not ftruncate(): a sandboxed worker may not truncate files of this folder. */
	if (flock(fd, LOCK_EX | LOCK_NB) || posix_fallocate(fd, 0, sizeof *p))
		return NULL;
	p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	p->size = sizeof *p;
	p->pid = (uint32_t)getpid();
	snprintf(p->kind, sizeof p->kind, "%s", kind);
	p->magic = PAGE_MAGIC;
	return p;
}

/* The page appears complete, by rename; readers ignore names that begin with a dash. */
static struct usage_page *page_create(int folder, const char *kind, int *fd)
{
	char draft[66] = "-", *name = draft + 1;
	struct usage_page *p = NULL;

	page_format_name(name, sizeof draft - 1, kind, getpid(), pid_namespace());
	unlinkat(folder, draft, 0); /* left by an earlier process with our pid */
	*fd = openat(folder, draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (*fd >= 0)
		p = page_fill(*fd, kind);
	if (p && !renameat(folder, draft, folder, name))
		return p;
	if (p)
		munmap(p, sizeof *p);
	if (*fd >= 0)
		unlinkat(folder, draft, 0);
	return NULL;
}

static struct usage *usage_create(const char *kind)
{
	struct usage *u = calloc(1, sizeof *u);
	int folder = u ? usage_folder_open(true, NULL, 0) : -1, fd = -1;

	if (folder >= 0)
		u->page = page_create(folder, kind, &fd);
	if (u && u->page) {
		folder_sweep(folder);
		pthread_mutex_init(&u->lock, NULL);
		return u; /* keep the descriptor open, because it holds the lock */
	}
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	free(u);
	return NULL;
}

struct usage *usage_open(const char *kind)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct usage *all[KINDS_MAX];
	struct usage *u = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < KINDS_MAX && !u; i++) {
		if (!all[i])
			u = all[i] = usage_create(kind);
		else if (!strcmp(all[i]->page->kind, kind) && all[i]->page->pid == (uint32_t)getpid())
			u = all[i];
		if (!all[i])
			break;
	}
	pthread_mutex_unlock(&lock);
	return u;
}

static bool has_device(const struct usage *u, int device)
{
	return u && device >= 0 && device < USAGE_DEVICES;
}

void usage_memory(struct usage *u, int device, int64_t more)
{
	if (has_device(u, device))
		atomic_fetch_add_explicit(&u->page->device[device].memory, (uint64_t)more, memory_order_relaxed);
}

void usage_contexts(struct usage *u, int device, int more)
{
	if (has_device(u, device))
		atomic_fetch_add_explicit(&u->page->device[device].contexts, (uint64_t)more, memory_order_relaxed);
}

void usage_client(struct usage *u, const struct usage_client *client)
{
	if (u)
		u->page->client = *client;
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Add the time from `begin` to `end` to the slots of the past second. */
static void busy_add_time(struct usage_busy *b, uint64_t begin, uint64_t end)
{
	uint64_t last = end / SLOT_NS, first = begin / SLOT_NS;

	if (last - first >= USAGE_SLOTS)
		first = last - USAGE_SLOTS + 1;
	for (uint64_t i = first; i <= last; i++) {
		uint64_t from = i == begin / SLOT_NS ? begin : i * SLOT_NS, to = i == last ? end : (i + 1) * SLOT_NS;
		_Atomic uint64_t *slot = &b->slot[i % USAGE_SLOTS];
		uint64_t old = atomic_load_explicit(slot, memory_order_relaxed);
		uint64_t us = (to - from) / 1000 + ((uint32_t)i == old >> 32 ? (uint32_t)old : 0);

		atomic_store_explicit(slot, (uint64_t)(uint32_t)i << 32 | us, memory_order_relaxed);
	}
}

void usage_begin(struct usage *u, int device, enum usage_work work)
{
	if (!has_device(u, device))
		return;
	pthread_mutex_lock(&u->lock);
	if (!u->running[device][work]++)
		atomic_store(&u->page->device[device].busy[work].since, monotonic_ns());
	pthread_mutex_unlock(&u->lock);
}

void usage_end(struct usage *u, int device, enum usage_work work)
{
	if (!has_device(u, device))
		return;
	struct usage_busy *b = &u->page->device[device].busy[work];
	pthread_mutex_lock(&u->lock);
	if (!--u->running[device][work]) {
		uint64_t since = atomic_exchange(&b->since, 0);
		busy_add_time(b, since, monotonic_ns());
	}
	pthread_mutex_unlock(&u->lock);
}

/* ---- reading ---- */

/*
 * Returns 1 if the page was read, 0 if it is invalid or its process is dead, -1 if it cannot be accessed. A page that can
 * be locked belongs to a dead process, even if another process has the same pid now.
 */
static int page_read(int folder, const char *name, int pid, const char *kind, struct usage_page *page)
{
	struct stat st;
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r = 0;

	if (fd < 0)
		return errno == ELOOP ? 0 : -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == sizeof *page && flock(fd, LOCK_SH | LOCK_NB) &&
		errno == EWOULDBLOCK && pread(fd, page, sizeof *page, 0) == sizeof *page)
		r = page->magic == PAGE_MAGIC && page->size == sizeof *page && page->pid == (uint32_t)pid &&
		    !strncmp(page->kind, kind, sizeof page->kind);
	close(fd);
	if (r) {
		page->client.from[USAGE_TEXT - 1] = 0;
		page->kind[sizeof page->kind - 1] = 0;
	}
	return r;
}

/* The same; the page is removed if the result is 0. */
static int page_read_or_remove(int folder, const char *name, int pid, const char *kind, struct usage_page *page)
{
	int r = kill(pid, 0) && errno == ESRCH ? 0 : page_read(folder, name, pid, kind, page);

	if (!r)
		unlinkat(folder, name, 0);
	return r;
}

void usage_each(const char *kind, bool (*f)(const struct usage_page *page, void *arg), void *arg)
{
	struct usage_page *page = malloc(sizeof *page);
	unsigned long long space = pid_namespace();
	static atomic_uint turns;
	unsigned turn = turns++;
	size_t length = strlen(kind), n;
	int folder = usage_folder_open(false, NULL, 0), looked = 0;
	DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
	struct dirent *e;

	if (!dir && folder >= 0)
		close(folder);
	for (bool more = dir && page; more && looked < ENTRIES_MAX && (e = readdir(dir));) {
		int pid = page_parse_name(e->d_name, space, &n);
		if (pid && (n != length || memcmp(e->d_name, kind, n)))
			page_sweep(folder, e->d_name, pid, turn);
		else if (pid && ++looked && page_read_or_remove(folder, e->d_name, pid, kind, page) > 0)
			more = f(page, arg);
	}
	if (dir)
		closedir(dir);
	free(page);
}

struct memory_sum {
	int device;
	pid_t without;
	uint64_t bytes;
};

static bool sum_memory(const struct usage_page *p, void *arg)
{
	struct memory_sum *s = arg;
	uint64_t more = p->device[s->device].memory;

	if (s->without && p->pid == (uint32_t)s->without)
		return true;
	s->bytes = more > UINT64_MAX - s->bytes ? UINT64_MAX : s->bytes + more;
	return true;
}

uint64_t usage_total(const char *kind, int device, pid_t without)
{
	struct memory_sum s = {.device = device, .without = without};

	if (device >= 0 && device < USAGE_DEVICES)
		usage_each(kind, sum_memory, &s);
	return s.bytes;
}

unsigned usage_percent(const struct usage_device *d, enum usage_work work)
{
	const struct usage_busy *b = &d->busy[work];
	uint64_t t = monotonic_ns(), current = t / SLOT_NS, first = current - USAGE_SLOTS + 2, begin = first * SLOT_NS,
		 us = 0;
	uint64_t since = b->since;

	for (uint64_t i = first; i <= current; i++) {
		uint64_t slot = b->slot[i % USAGE_SLOTS];
		if (slot >> 32 == (uint32_t)i)
			us += (uint32_t)slot;
	}
	if (since && since < t)
		us += (t - (since > begin ? since : begin)) / 1000;
	uint64_t all = t - begin, percent = (us * 100000 + all / 2) / all;
	return percent < 100 ? (unsigned)percent : 100;
}
