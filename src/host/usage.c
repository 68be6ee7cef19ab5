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
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC   0x3165676173756767ull /* "ggusage1" */
#define KINDS   4                     /* in a process */
#define ENTRIES 4096                  /* more of a kind are not looked at */
#define TURNS   16                    /* each time so much of the others' is looked at: a sixteenth */
#define SLOT_NS 66666667ull
#define SEALS   (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct usage {
	struct usage_page *page;
	pthread_mutex_t lock; /* of running */
	unsigned running[USAGE_DEVICES][USAGE_WORKS];
};

/* ---- where ---- */

/* Our own folder, and nobody else's: -1 if there is none, or somebody else has made it. */
static int open_folder(bool make)
{
	const char *given = secure_getenv("GANGWAY_USAGE");
	char path[256];
	struct stat st;

	if (given && (!strcmp(given, "0") || strlen(given) >= sizeof path))
		return -1;
	if (given && *given)
		strcpy(path, given);
	else
		snprintf(path, sizeof path, "/dev/shm/gangway-%u", (unsigned)geteuid());
	if (make)
		mkdir(path, 0700);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 077)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Processes are only called by their numbers where these mean the same. */
static unsigned long long namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (unsigned long long)st.st_ino;
}

static void make_name(char *name, size_t size, const char *kind, int pid, unsigned long long space)
{
	snprintf(name, size, "%s-%d-%llu", kind, pid, space);
}

/* The number of the process in a name that is exactly as we make them, and how long its kind is; 0: not for us to judge. */
static int name_pid(const char *name, unsigned long long space, size_t *kind)
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
 * Takes away what a process that is no more has left.  To ask for all of them each time would cost too much; whoever
 * comes leaves one and looks at a sixteenth, so that there are never many.
 */
static void sweep(int folder, const char *name, int pid, unsigned turn)
{
	if ((unsigned)pid % TURNS == turn % TURNS && kill(pid, 0) && errno == ESRCH)
		unlinkat(folder, name, 0);
}

/* Closes `folder`. */
static void sweep_folder(int folder)
{
	unsigned long long space = namespace();
	DIR *dir = fdopendir(folder);
	struct dirent *e;
	size_t kind;

	if (!dir)
		close(folder);
	while (dir && (e = readdir(dir))) {
		int pid = name_pid(e->d_name, space, &kind);
		if (pid)
			sweep(folder, e->d_name, pid, (unsigned)getpid());
	}
	if (dir)
		closedir(dir);
}

/* ---- telling ---- */

static struct usage_page *make_page(const char *kind, int *fd)
{
	struct usage_page *p;

	*fd = memfd_create("gangway-usage", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return NULL;
	p = ftruncate(*fd, sizeof *p) ? MAP_FAILED : mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	/* the second kind of seal is newer than some kernels; without it we trust our own user that far */
	if (p == MAP_FAILED ||
		(fcntl(*fd, F_ADD_SEALS, SEALS | F_SEAL_FUTURE_WRITE) && fcntl(*fd, F_ADD_SEALS, SEALS))) {
		close(*fd);
		return NULL;
	}
	p->size = sizeof *p;
	p->pid = (uint32_t)getpid();
	snprintf(p->kind, sizeof p->kind, "%s", kind);
	p->magic = MAGIC;
	return p;
}

static bool link_page(int folder, const char *kind, int fd)
{
	char name[64], target[64];

	make_name(name, sizeof name, kind, getpid(), namespace());
	snprintf(target, sizeof target, "/proc/%d/fd/%d", getpid(), fd);
	unlinkat(folder, name, 0); /* of one that had our number before us */
	return !symlinkat(target, folder, name);
}

static struct usage *create(const char *kind)
{
	struct usage *u = calloc(1, sizeof *u);
	int folder = u ? open_folder(true) : -1, fd = -1;

	if (folder >= 0)
		u->page = make_page(kind, &fd);
	if (u && u->page && link_page(folder, kind, fd)) {
		sweep_folder(folder);
		pthread_mutex_init(&u->lock, NULL);
		return u; /* the descriptor stays open: the link leads to it */
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
	static struct usage *all[KINDS];
	struct usage *u = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < KINDS && !u; i++) {
		if (!all[i])
			u = all[i] = create(kind);
		else if (!strcmp(all[i]->page->kind, kind) && all[i]->page->pid == (uint32_t)getpid())
			u = all[i];
		if (!all[i])
			break;
	}
	pthread_mutex_unlock(&lock);
	return u;
}

static bool valid(const struct usage *u, int device)
{
	return u && device >= 0 && device < USAGE_DEVICES;
}

void usage_memory(struct usage *u, int device, int64_t more)
{
	if (valid(u, device))
		atomic_fetch_add_explicit(&u->page->device[device].memory, (uint64_t)more, memory_order_relaxed);
}

void usage_contexts(struct usage *u, int device, int more)
{
	if (valid(u, device))
		atomic_fetch_add_explicit(&u->page->device[device].contexts, (uint64_t)more, memory_order_relaxed);
}

void usage_client(struct usage *u, const struct usage_client *client)
{
	if (u)
		u->page->client = *client;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* From `begin` to `end`, in as many slots as it touches of those that count. */
static void add_time(struct usage_busy *b, uint64_t begin, uint64_t end)
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
	if (!valid(u, device))
		return;
	pthread_mutex_lock(&u->lock);
	if (!u->running[device][work]++)
		atomic_store(&u->page->device[device].busy[work].since, now());
	pthread_mutex_unlock(&u->lock);
}

void usage_end(struct usage *u, int device, enum usage_work work)
{
	if (!valid(u, device))
		return;
	struct usage_busy *b = &u->page->device[device].busy[work];
	pthread_mutex_lock(&u->lock);
	if (!--u->running[device][work]) {
		uint64_t since = atomic_exchange(&b->since, 0);
		add_time(b, since, now());
	}
	pthread_mutex_unlock(&u->lock);
}

/* ---- reading ---- */

/* 1: read; 0: not one of ours, or nobody's any more; -1: it may be, but not for us to see. */
static int read_page(const char *target, int pid, const char *kind, struct usage_page *page)
{
	char want[64];
	struct stat st;
	int number, r = 0;

	if (sscanf(target, "/proc/%*d/fd/%d", &number) != 1)
		return 0;
	snprintf(want, sizeof want, "/proc/%d/fd/%d", pid, number);
	if (strcmp(want, target))
		return 0;
	int fd = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == sizeof *page &&
		(fcntl(fd, F_GET_SEALS) & SEALS) == SEALS && pread(fd, page, sizeof *page, 0) == sizeof *page)
		r = page->magic == MAGIC && page->size == sizeof *page && page->pid == (uint32_t)pid &&
		    !strncmp(page->kind, kind, sizeof page->kind);
	close(fd);
	if (r) {
		page->client.from[USAGE_TEXT - 1] = 0;
		page->kind[sizeof page->kind - 1] = 0;
	}
	return r;
}

/* As read_page, and takes away what is nobody's. */
static int read_entry(int folder, const char *name, int pid, const char *kind, struct usage_page *page)
{
	char target[64];
	ssize_t len = readlinkat(folder, name, target, sizeof target - 1);

	if (len <= 0)
		return -1;
	target[len] = 0;
	int r = read_page(target, pid, kind, page);
	if (!r)
		unlinkat(folder, name, 0);
	return r;
}

void usage_each(const char *kind, bool (*f)(const struct usage_page *page, void *arg), void *arg)
{
	struct usage_page *page = malloc(sizeof *page);
	unsigned long long space = namespace();
	static atomic_uint turns;
	unsigned turn = turns++;
	size_t length = strlen(kind), n;
	int folder = open_folder(false), looked = 0;
	DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
	struct dirent *e;

	if (!dir && folder >= 0)
		close(folder);
	for (bool more = dir && page; more && looked < ENTRIES && (e = readdir(dir));) {
		int pid = name_pid(e->d_name, space, &n);
		if (pid && (n != length || memcmp(e->d_name, kind, n)))
			sweep(folder, e->d_name, pid, turn);
		else if (pid && ++looked && read_entry(folder, e->d_name, pid, kind, page) > 0)
			more = f(page, arg);
	}
	if (dir)
		closedir(dir);
	free(page);
}

struct sum {
	int device;
	pid_t without;
	uint64_t bytes;
};

static bool add(const struct usage_page *p, void *arg)
{
	struct sum *s = arg;
	uint64_t more = p->device[s->device].memory;

	if (s->without && p->pid == (uint32_t)s->without)
		return true;
	s->bytes = more > UINT64_MAX - s->bytes ? UINT64_MAX : s->bytes + more;
	return true;
}

uint64_t usage_total(const char *kind, int device, pid_t without)
{
	struct sum s = {.device = device, .without = without};

	if (device >= 0 && device < USAGE_DEVICES)
		usage_each(kind, add, &s);
	return s.bytes;
}

unsigned usage_percent(const struct usage_device *d, enum usage_work work)
{
	const struct usage_busy *b = &d->busy[work];
	uint64_t t = now(), current = t / SLOT_NS, first = current - USAGE_SLOTS + 2, begin = first * SLOT_NS, us = 0;
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
