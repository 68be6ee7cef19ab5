/* Shadows of device memory, quarantine of freed memory, and leaks. */
#include "backend/soft/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/soft/core/soft.h"
#include "backend/soft/memory/range.h"

enum { PAGE = 4096 };

#define QUARANTINE_SHARE 8 /* at most this part of the device's memory */

/* A freed allocation whose memory is not free yet. */
struct quarantined {
	struct range *range;
	struct quarantined *next;
};

static bool is_on(void)
{
	return atomic_load_explicit(&soft.check.on, memory_order_relaxed);
}

void soft_check_begin(void *log)
{
	soft.check.end = &soft.check.first;
	soft.check.log = log;
	atomic_store(&soft.check.on, true);
}

void *soft_check_log(void)
{
	return is_on() ? soft.check.log : NULL;
}

uint64_t check_padding(void)
{
	return is_on() ? PAGE : 0;
}

void check_allocated(struct range *r)
{
	void *p;

	if (!is_on())
		return;
	p = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	r->written = p == MAP_FAILED ? NULL : p;
}

static void memory_give_back(struct range *r)
{
	if (r->written)
		munmap(r->written, r->size);
	device_memory_free(r->device, range_addr(r), r->size + PAGE);
	free(r);
}

/* Takes the oldest entry while more than `keep` bytes are in quarantine; NULL: enough were taken. */
static struct range *quarantine_take(uint64_t keep)
{
	struct range *r = NULL;

	pthread_mutex_lock(&soft.check.lock);
	struct quarantined *q = soft.check.quarantine > keep ? soft.check.first : NULL;
	if (q) {
		r = q->range;
		soft.check.first = q->next;
		if (!q->next)
			soft.check.end = &soft.check.first;
		soft.check.quarantine -= r->size + PAGE;
	}
	pthread_mutex_unlock(&soft.check.lock);
	free(q);
	return r;
}

bool check_quarantine(struct range *r)
{
	struct quarantined *q = is_on() ? calloc(1, sizeof *q) : NULL;
	uint64_t keep = r->device->memory / QUARANTINE_SHARE;

	if (!is_on())
		return false;
	if (!q) {
		memory_give_back(r);
		return true;
	}
	/* The content is not needed: an access to memory in quarantine is reported, and not made. */
	madvise((void *)(uintptr_t)range_addr(r), r->size, MADV_DONTNEED);
	q->range = r;
	pthread_mutex_lock(&soft.check.lock);
	*soft.check.end = q;
	soft.check.end = &q->next;
	soft.check.quarantine += r->size + PAGE;
	pthread_mutex_unlock(&soft.check.lock);
	while ((r = quarantine_take(keep)))
		memory_give_back(r);
	return true;
}

bool check_quarantine_empty(void)
{
	bool any = false;
	struct range *r;

	while (is_on() && (r = quarantine_take(0))) {
		memory_give_back(r);
		any = true;
	}
	return any;
}

void check_forget(uint64_t base, uint64_t size)
{
	if (!is_on())
		return;
	pthread_mutex_lock(&soft.check.lock);
	unsigned i = soft.check.nfreed++ % CHECK_FREED;
	soft.check.freed[i].base = base;
	soft.check.freed[i].size = size;
	pthread_mutex_unlock(&soft.check.lock);
}

bool soft_check_freed(uint64_t addr, uint64_t *base, uint64_t *size)
{
	bool found = false;

	pthread_mutex_lock(&soft.check.lock);
	unsigned n = soft.check.nfreed, oldest = n > CHECK_FREED ? n - CHECK_FREED : 0;
	for (; n > oldest && !found; n--) {
		*base = soft.check.freed[(n - 1) % CHECK_FREED].base;
		*size = soft.check.freed[(n - 1) % CHECK_FREED].size;
		found = addr - *base < *size;
	}
	pthread_mutex_unlock(&soft.check.lock);
	return found;
}

/* ---- what is initialized ---- */

/* Marks the part of the range in [addr, addr + size). */
static void range_mark(const struct range *r, uint64_t addr, uint64_t size)
{
	uint64_t from = addr > range_addr(r) ? addr - range_addr(r) : 0, end = addr + size - range_addr(r);

	if (r->written && from < r->size)
		memset(r->written + from, 1, (end < r->size ? end : r->size) - from);
}

void check_written(uint64_t addr, uint64_t size)
{
	struct range r;

	if (is_on() && size && range_find(addr, 1, &r))
		range_mark(&r, addr, size);
}

static void mark_all(const struct range *r, void *arg)
{
	(void)arg;
	range_mark(r, range_addr(r), r->size);
}

void check_written_somewhere(void)
{
	if (is_on())
		range_each(mark_all, NULL);
}

bool soft_check_find(uint64_t addr, uint64_t *base, uint64_t *size, uint8_t **written)
{
	struct range r;

	*written = NULL;
	if (!soft_accessible(addr, base, size))
		return false;
	if (range_find(addr, 1, &r))
		*written = r.written;
	return true;
}

/* ---- leaks ---- */

struct leak_walk {
	void (*f)(uint64_t addr, uint64_t size, const char *kind, void *arg);
	void *arg;
};

static const char *leak_kind(const struct range *r)
{
	switch (r->kind) {
	case RANGE_DEVICE:
		return "device memory";
	case RANGE_HOST:
		return "pinned host memory";
	case RANGE_MANAGED:
		return r->variable ? NULL : "managed memory";
	case RANGE_POOL:
		return r->freeing ? NULL : "stream-ordered memory";
	case RANGE_MAPPED:
		return "mapped memory";
	default:
		return NULL;
	}
}

static void leak_visit(const struct range *r, void *arg)
{
	const struct leak_walk *w = arg;
	const char *kind = leak_kind(r);

	if (kind)
		w->f(range_addr(r), r->size, kind, w->arg);
}

void soft_check_leaks(void (*f)(uint64_t addr, uint64_t size, const char *kind, void *arg), void *arg)
{
	struct leak_walk w = {f, arg};

	range_each(leak_visit, &w);
}
